/**
 * Pure: the names by which a skill is found. A skill that the vocabulary knows is found by its
 * label and by each alias.
 */
import { sha256 } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { foldAccents, foldForms, foldTerm, fromLaterWords, hasTwoLetters } from './fold.ts'

export interface NamedRecord {
  label: string
  aliases: readonly string[]
}

export interface SkillNames {
  /** Returns the terms of a skill with this name. */
  of(name: string): SkillTerms
  /**
   * Returns the labels under which the index has the skills that a folded query, given with its
   * words in each order, finds otherwise.
   */
  otherLabels(orders: readonly string[]): OtherLabels
  /** The same records without accents: this object itself if they have none. */
  bare: SkillNames
  /** Hash of everything that the terms depend on, except the skill itself. */
  sha256: Buffer
}

/** All terms are folded. */
export interface SkillTerms {
  /** The names: a query that equals one is an exact match. */
  whole: readonly string[]
  /**
   * Rests of the names from later words. A prefix of two letters or more matches, as it does of a
   * name.
   */
  parts: readonly string[]
  /**
   * Terms of the index: the labels of the records with this name, and the forms of the name that no
   * record has.
   */
  labels: readonly string[]
  /** Rests of the name from later words that no label has. */
  ownParts: readonly string[]
}

/** Folded labels of records that the query itself does not match. */
export interface OtherLabels {
  /** Labels of records with an alias that equals the query. */
  exactLabels: readonly string[]
  /** Labels of records with an alias, or a later word of the label, that begins with the query. */
  prefixLabels: readonly string[]
}

/**
 * Raise it if the terms of a name change. The jobs process then rebuilds the index when it starts.
 */
const termsVersion = 4

export function skillNames(records: readonly NamedRecord[]): SkillNames {
  const bareRecords = records.map(({ label, aliases }) => ({
    label: foldAccents(label),
    aliases: aliases.map(foldAccents),
  }))
  const written = namesOf(records)
  const bare = namesOf(bareRecords)
  const sources = records.map(({ label, aliases }) => ({ label, aliases: [...aliases] }))
  const hash = sha256(canonicalJson({ termsVersion, records: sources }))
  const isBare = records.every(({ label, aliases }, i) => {
    const record = bareRecords[i] as NamedRecord
    return (
      foldTerm(label) === foldTerm(record.label) &&
      aliases.every((alias, n) => foldTerm(alias) === foldTerm(record.aliases[n] as string))
    )
  })
  const bareNames: SkillNames = {
    ...bare,
    sha256: hash,
    get bare() {
      return bareNames
    },
  }
  return isBare ? bareNames : { ...written, sha256: hash, bare: bareNames }
}

function namesOf(records: readonly NamedRecord[]): Pick<SkillNames, 'of' | 'otherLabels'> {
  const byName = Map.groupBy(
    records.flatMap((record) => {
      const labelForms = foldForms(record.label)
      const names = [...labelForms, ...record.aliases.flatMap(foldForms)]
      const parts = labelForms.flatMap(fromLaterWords)
      const known = { label: foldTerm(record.label), names, parts }
      return names.map((name) => ({ name, known }))
    }),
    ({ name }) => name,
  )
  const termsOf = (forms: readonly string[]): SkillTerms => {
    const known = forms.flatMap((form) => byName.get(form) ?? []).map((named) => named.known)
    return termsFor(forms, [...new Set(known)])
  }
  // A page of 18 hits compares about ninety skills, most of which the vocabulary knows. Measured
  // together with the early return of `foldForms`: 870 µs of processor time a page, now 310.
  const termsByName = new Map([...byName.keys()].map((name) => [name, termsOf([name])]))
  return {
    of(name) {
      const forms = foldForms(name)
      const [only = ''] = forms
      return (forms.length === 1 ? termsByName.get(only) : undefined) ?? termsOf(forms)
    },
    otherLabels: otherLabels(records),
  }
}

interface KnownSkill {
  label: string
  names: readonly string[]
  parts: readonly string[]
}

function termsFor(own: readonly string[], known: readonly KnownSkill[]): SkillTerms {
  const names = new Set(known.flatMap((skill) => skill.names))
  const labelParts = known.flatMap((skill) => skill.parts)
  const whole = new Set([...own, ...names])
  const ownParts = own.flatMap(fromLaterWords).filter((term) => !labelParts.includes(term))
  const parts = new Set([...ownParts, ...labelParts])
  return {
    whole: [...whole],
    parts: [...parts].filter((term) => !whole.has(term)),
    labels: [
      ...new Set([...known.map(({ label }) => label), ...own.filter((form) => !names.has(form))]),
    ],
    ownParts,
  }
}

function otherLabels(records: readonly NamedRecord[]): SkillNames['otherLabels'] {
  const named = records
    .flatMap((record) => {
      const label = foldTerm(record.label)
      const labelForms = foldForms(record.label)
      const names = [...labelForms, ...record.aliases.flatMap(foldForms)]
      const parts = labelForms.flatMap(fromLaterWords)
      return [
        ...names.map((name) => ({ name, label, whole: true })),
        ...parts.map((name) => ({ name, label, whole: false })),
      ]
    })
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  return (orders) => {
    const exact = orders.flatMap((query) =>
      beginningWith(named, query).filter(
        ({ name, label, whole }) => whole && name === query && label !== name,
      ),
    )
    const byPrefix = orders
      .filter(hasTwoLetters)
      .flatMap((query) =>
        beginningWith(named, query).filter(({ label }) => !label.startsWith(query)),
      )
    return { exactLabels: labelsOf(exact), prefixLabels: labelsOf(byPrefix) }
  }
}

function labelsOf(found: readonly { label: string }[]): string[] {
  return [...new Set(found.map(({ label }) => label))]
}

/** Returns the entries that begin with the query. `named` is in order. */
function beginningWith<Named extends { name: string }>(
  named: readonly Named[],
  query: string,
): Named[] {
  let from = 0
  for (let to = named.length; from < to; ) {
    const middle = (from + to) >> 1
    if ((named[middle] as Named).name < query) from = middle + 1
    else to = middle
  }
  for (let end = from; ; end++)
    if (!named[end]?.name.startsWith(query)) return named.slice(from, end)
}

/**
 * Returns whether a folded query matches a skill: by a whole name, or as the beginning of a name or
 * of a later word. The words of the query keep their order.
 */
export function matchesSkill(query: string, { whole, parts }: SkillTerms): boolean {
  return hasTwoLetters(query) ? beginsSkill(query, { whole, parts }) : whole.includes(query)
}

/** Returns whether a name or a later word of the skill begins with the folded query. */
export function beginsSkill(
  query: string,
  { whole, parts }: Omit<SkillTerms, 'labels' | 'ownParts'>,
): boolean {
  const startsWithQuery = (term: string): boolean => term.startsWith(query)
  return whole.some(startsWithQuery) || parts.some(startsWithQuery)
}

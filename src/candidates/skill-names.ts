/** Pure: by which names a skill is found. A skill that the vocabulary knows is found by its label and by each of its aliases. */
import { sha256 } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { RecentMap } from '../platform/recent-map.ts'
import { foldTerm, fromLaterWords, hasTwoLetters } from './fold.ts'

export interface NamedRecord {
  label: string
  aliases: readonly string[]
}

export interface SkillNames {
  /** How a skill of this name is found. */
  of(name: string): SkillTerms
  /** Where else the index has the skills that a folded query finds. */
  otherLabels(query: string): OtherLabels
  /** Of everything the terms depend on but the skill itself. */
  sha256: Buffer
}

/** Folded. */
export interface SkillTerms {
  /** Its names: a query that equals one matches exactly. */
  whole: readonly string[]
  /** A query matches that one of these begins with, from two letters on; the names are not repeated. */
  parts: readonly string[]
  /** What the index has it under: the labels of those records, or its own name where no record knows it. */
  labels: readonly string[]
  /** Later words of its own name that none of these labels has. */
  ownParts: readonly string[]
}

/** Labels of records, folded, which do not begin with the query themselves. */
export interface OtherLabels {
  /** Of those that have the query as an alias. */
  same: readonly string[]
  /** Of those with an alias, or a later word of the label, that the query is the beginning of. */
  akin: readonly string[]
}

/**
 * Raised when the way from a name to its terms changes: the jobs process then builds the index anew
 * when it starts.
 */
const termsVersion = 3

export function skillNames(records: readonly NamedRecord[]): SkillNames {
  const byName = Map.groupBy(
    records.flatMap((record) =>
      [record.label, ...record.aliases].map((name) => ({ name: foldTerm(name), record })),
    ),
    ({ name }) => name,
  )
  const sources = records.map(({ label, aliases }) => ({ label, aliases: [...aliases] }))
  const termsOf = (name: string): SkillTerms => {
    const own = foldTerm(name)
    return termsFor(
      own,
      (byName.get(own) ?? []).map(({ record }) => record),
    )
  }
  return {
    sha256: sha256(canonicalJson({ termsVersion, records: sources })),
    of: remembered(termsOf),
    otherLabels: otherLabels(records),
  }
}

function termsFor(own: string, known: readonly NamedRecord[]): SkillTerms {
  const labels = known.map(({ label }) => foldTerm(label))
  const aliases = known.flatMap((record) => record.aliases.map(foldTerm))
  const whole = new Set([own, ...labels, ...aliases].filter((term) => term !== ''))
  const labelParts = labels.flatMap(fromLaterWords)
  const ownParts = fromLaterWords(own).filter((term) => !labelParts.includes(term))
  const parts = new Set([...ownParts, ...labelParts])
  return {
    whole: [...whole],
    parts: [...parts].filter((term) => !whole.has(term)),
    labels: [...new Set(labels.length === 0 ? [own] : labels)].filter((term) => term !== ''),
    ownParts,
  }
}

/** The same few thousand skills come again and again. */
function remembered(termsOf: (name: string) => SkillTerms): SkillNames['of'] {
  const known = new RecentMap<SkillTerms>(10_000)
  return (name) => {
    let terms = known.get(name)
    if (terms === undefined) {
      terms = termsOf(name)
      known.set(name, terms)
    }
    return terms
  }
}

function otherLabels(records: readonly NamedRecord[]): SkillNames['otherLabels'] {
  const named = records
    .flatMap((record) => {
      const label = foldTerm(record.label)
      const aliases = record.aliases.map(foldTerm).map((name) => ({ name, label, whole: true }))
      const parts = fromLaterWords(label).map((name) => ({ name, label, whole: false }))
      return [...aliases, ...parts]
    })
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  return (query) => {
    const found = beginningWith(named, query)
    const same = found.filter(({ name, label, whole }) => whole && name === query && label !== name)
    const akin = hasTwoLetters(query) ? found.filter(({ label }) => !label.startsWith(query)) : []
    return { same: labelsOf(same), akin: labelsOf(akin) }
  }
}

function labelsOf(found: readonly { label: string }[]): string[] {
  return [...new Set(found.map(({ label }) => label))]
}

/** Of those in order. */
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
  const after = named.findIndex(({ name }, i) => i >= from && !name.startsWith(query))
  return after === -1 ? named.slice(from) : named.slice(from, after)
}

/** Whether a folded query finds a skill: by a whole name, or as the beginning of a name or of a later word. */
export function matchesSkill(query: string, { whole, parts }: SkillTerms): boolean {
  if (!hasTwoLetters(query)) return whole.includes(query)
  const begins = (term: string): boolean => term.startsWith(query)
  return whole.some(begins) || parts.some(begins)
}

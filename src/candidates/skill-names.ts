/**
 * Pure: the names by which a skill is found. A skill that the vocabulary knows is found by its
 * label and by each alias.
 */
import { sha256 } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { foldTerm, fromLaterWords, hasTwoLetters } from './fold.ts'

export interface NamedRecord {
  label: string
  aliases: readonly string[]
}

export interface SkillNames {
  /** Returns the terms of a skill with this name. */
  of(name: string): SkillTerms
  /**
   * Returns the labels under which the index has the skills that a folded query finds otherwise.
   */
  otherLabels(query: string): OtherLabels
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
  /** Terms of the index: the labels of the records with this name, or else the name itself. */
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
    of: termsOf,
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
    const exact = found.filter(
      ({ name, label, whole }) => whole && name === query && label !== name,
    )
    const byPrefix = hasTwoLetters(query)
      ? found.filter(({ label }) => !label.startsWith(query))
      : []
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
  const after = named.findIndex(({ name }, i) => i >= from && !name.startsWith(query))
  return after === -1 ? named.slice(from) : named.slice(from, after)
}

/**
 * Returns whether a folded query matches a skill: by a whole name, or as the beginning of a name or
 * of a later word.
 */
export function matchesSkill(query: string, { whole, parts }: SkillTerms): boolean {
  if (!hasTwoLetters(query)) return whole.includes(query)
  const startsWithQuery = (term: string): boolean => term.startsWith(query)
  return whole.some(startsWithQuery) || parts.some(startsWithQuery)
}

/** Pure: by which names a skill is found. A skill that the vocabulary knows is found by its label and by each of its aliases. */
import { sha256 } from '../platform/bytes.ts'
import { canonicalJson } from '../platform/canonical-json.ts'
import { foldText, fromLaterWords, hasTwoLetters } from './fold.ts'

export interface NamedRecord {
  label: string
  aliases: readonly string[]
}

export interface SkillNames {
  /** How a skill of this name is found. */
  of(name: string): SkillTerms
  /** Of everything the terms depend on but the skill itself. */
  sha256: Buffer
}

/** Folded. */
export interface SkillTerms {
  /** Its names: a query that equals one matches exactly. */
  whole: readonly string[]
  /** A query matches that one of these begins with, from two letters on; the names are not repeated. */
  parts: readonly string[]
}

/** Raised when the way from a name to its terms changes: the index is then built anew. */
const termsVersion = 1

export function skillNames(records: readonly NamedRecord[]): SkillNames {
  const byName = Map.groupBy(
    records.flatMap((record) =>
      [record.label, ...record.aliases].map((name) => ({ name: foldText(name), record })),
    ),
    ({ name }) => name,
  )
  const sources = records.map(({ label, aliases }) => ({ label, aliases: [...aliases] }))
  return {
    sha256: sha256(canonicalJson({ termsVersion, records: sources })),
    of(name) {
      const own = foldText(name)
      const known = (byName.get(own) ?? []).map(({ record }) => record)
      const labels = [own, ...known.map(({ label }) => foldText(label))]
      const aliases = known.flatMap((record) => record.aliases.map(foldText))
      const whole = new Set([...labels, ...aliases].filter((term) => term !== ''))
      const parts = new Set(labels.flatMap(fromLaterWords))
      return { whole: [...whole], parts: [...parts].filter((term) => !whole.has(term)) }
    },
  }
}

/** Whether a folded query finds a skill: by a whole name, or as the beginning of a name or of a later word. */
export function matchesSkill(query: string, { whole, parts }: SkillTerms): boolean {
  if (!hasTwoLetters(query)) return whole.includes(query)
  const begins = (term: string): boolean => term.startsWith(query)
  return whole.some(begins) || parts.some(begins)
}

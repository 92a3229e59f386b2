/**
 * Pure: the terms of a candidate in the search index.
 *
 * The index itself yields the order of decision D35, because a prefix of two
 * letters may match a hundred thousand candidates, too many to sort for one search. So each term
 * carries its rank, in which the number of verified skills that match the query comes first. That
 * number depends on the query, but it changes only where two terms of the candidate differ.
 * Therefore the index also holds the distinct prefixes that several verified skills share, each
 * with its own number. Among the terms of a candidate that begin with the query, the best rank is
 * the right one. migrations/0015_search.sql shows an example.
 */
import { skillsMax } from '../schema.ts'
import { foldAccents, hasTwoLetters, textsFromWords } from './fold.ts'
import type { SkillNames } from './skill-names.ts'

/** The enum `match_kind` of the database. */
type MatchKind = 'handle_and_skills' | 'handle' | WrittenKind | BareKind
type WrittenKind = keyof typeof bareKinds
type BareKind = (typeof bareKinds)[WrittenKind]

const bareKinds = {
  skills: 'bare_skills',
  skill: 'bare_skill',
  name: 'bare_name',
  title: 'bare_title',
} as const

/** Ends a whole handle and the label of a skill. Folded texts contain neither mark. */
export const wholeMark = '\u0001'
/** Ends a whole name of a skill that matches more verified skills than the label of the skill. */
const countedMark = '\u0002'

export interface Searchable {
  username: string
  displayName: string
  title: string | null
  skills: readonly { name: string; verified: boolean }[]
}

export interface Posting {
  kind: MatchKind
  term: string
  rank: number
}

/**
 * Returns each kind and term once. The terms without accents have kinds of their own, and are left
 * out if they are equal to terms with accents.
 */
export function postingsOf(candidate: Searchable, names: SkillNames): Posting[] {
  const written = writtenPostings(candidate, names)
  const bare = bareOf(candidate)
  if (bare === candidate && names.bare === names) return written
  const nameOf = ({ kind, term, rank }: Posting) => `${kind} ${rank} ${term}`
  const known = new Set(written.map(nameOf))
  const others = writtenPostings(bare, names.bare).flatMap((posting) => {
    const kind = posting.kind in bareKinds ? bareKinds[posting.kind as WrittenKind] : null
    return kind === null || known.has(nameOf(posting)) ? [] : { ...posting, kind }
  })
  return [...written, ...others]
}

const ascii = /^[\0-\x7f]*$/

/** Returns the candidate without accents: the same object if all texts are ASCII. */
function bareOf(candidate: Searchable): Searchable {
  const { username, displayName, title, skills } = candidate
  if (
    [displayName, title ?? '', ...skills.map(({ name }) => name)].every((text) => ascii.test(text))
  )
    return candidate
  return {
    username,
    displayName: foldAccents(displayName),
    title: title === null ? null : foldAccents(title),
    skills: skills.map(({ name, verified }) => ({ name: foldAccents(name), verified })),
  }
}

/**
 * Returns each kind and term once. A skill that the vocabulary knows is indexed by its label only;
 * a search for another of its names looks up the label. So the rank of a label counts the skills of
 * that label and no others.
 */
function writtenPostings(candidate: Searchable, names: SkillNames): Posting[] {
  const { username, displayName, title, skills } = candidate
  const verifiedCount = skills.filter((skill) => skill.verified).length
  const posting =
    (kind: MatchKind, matchedCount: number) =>
    (term: string): Posting => ({ kind, term, rank: rankOf({ matchedCount, verifiedCount }) })
  const skillPosting = (matchedCount: number) =>
    posting(matchedCount > 1 ? 'skills' : 'skill', matchedCount)

  const named = skills.map((skill) => ({ ...names.of(skill.name), verified: skill.verified }))
  const verifiedTerms = sortedTerms(named.filter((skill) => skill.verified))
  const countOfLabel = (label: string): number =>
    named.filter((skill) => skill.verified && skill.labels.includes(label)).length
  const labels = new Set(named.flatMap((skill) => skill.labels))
  const countedNames = new Set(
    named.flatMap(({ whole, labels: own }) =>
      whole.filter(
        (term) => countMatching(term, verifiedTerms) > Math.max(...own.map(countOfLabel)),
      ),
    ),
  )
  const parts = new Set(
    [...named.flatMap((skill) => skill.ownParts), ...skillPrefixes(verifiedTerms)].filter(
      (term) => !countedNames.has(term),
    ),
  )
  const titles = title === null ? [] : textsFromWords(title)
  return [
    posting('handle', 0)(username + wholeMark),
    ...handlePrefixes(username, verifiedTerms).map(({ prefix, count }) =>
      posting('handle_and_skills', count)(prefix),
    ),
    ...[...labels].map((label) => skillPosting(countOfLabel(label))(label + wholeMark)),
    ...[...countedNames].map((name) =>
      skillPosting(countMatching(name, verifiedTerms))(name + countedMark),
    ),
    ...[...parts].map((part) => skillPosting(countMatching(part, verifiedTerms))(part)),
    ...textsFromWords(displayName).map(posting('name', 0)),
    ...titles.map(posting('title', 0)),
  ]
}

/** Lower is better: more matched verified skills, then more verified skills. Fits 16 bits. */
export function rankOf(of: { matchedCount: number; verifiedCount: number }): number {
  return (skillsMax - of.matchedCount) * (skillsMax + 1) + (skillsMax - of.verifiedCount)
}

interface SkillTerm {
  term: string
  /** Index of the skill. */
  skill: number
}

/** Returns all terms of the skills in order, so that terms with a common prefix are neighbours. */
function sortedTerms(
  skills: readonly { whole: readonly string[]; parts: readonly string[] }[],
): SkillTerm[] {
  return skills
    .flatMap(({ whole, parts }, skill) => [...whole, ...parts].map((term) => ({ term, skill })))
    .sort((a, b) => (a.term < b.term ? -1 : a.term > b.term ? 1 : 0))
}

/**
 * Counts the skills with a term that begins with the prefix. A single letter matches only a term
 * that equals it.
 */
function countMatching(prefix: string, terms: readonly SkillTerm[]): number {
  const matches = hasTwoLetters(prefix)
    ? ({ term }: SkillTerm) => term.startsWith(prefix)
    : ({ term }: SkillTerm) => term === prefix
  const skills = new Set<number>()
  for (const term of terms) if (matches(term)) skills.add(term.skill)
  return skills.size
}

/** Returns the distinct prefixes that several skills share. */
function skillPrefixes(terms: readonly SkillTerm[]): string[] {
  const shared = terms.flatMap(({ term }, i) => {
    const next = terms[i + 1]
    return next === undefined ? [] : commonPrefix(term, next.term)
  })
  return distinctPrefixes(shared, terms)
}

/**
 * Returns the beginnings of the handle, with the number of verified skills that a query for each
 * matches, after which this number falls.
 */
function handlePrefixes(
  username: string,
  terms: readonly SkillTerm[],
): { prefix: string; count: number }[] {
  const found: { prefix: string; count: number }[] = []
  for (let length = 2; length <= username.length; length++) {
    const prefix = username.slice(0, length)
    // The handle is compared as written; for a skill, its hyphens are spaces.
    const text = prefix.replace(/-+/g, ' ').trim()
    const count = new Set(terms.flatMap(({ term, skill }) => (term.startsWith(text) ? skill : [])))
      .size
    if (count === 0) break
    if (found.at(-1)?.count === count) found.pop()
    found.push({ prefix, count })
  }
  return found
}

/**
 * Returns the prefixes of two letters or more that match several skills, and more than each longer
 * prefix among them.
 */
function distinctPrefixes(prefixes: readonly string[], terms: readonly SkillTerm[]): string[] {
  const kept: { prefix: string; count: number }[] = []
  const longestFirst = [...new Set(prefixes)]
    .filter(hasTwoLetters)
    .sort((a, b) => b.length - a.length)
  for (const prefix of longestFirst) {
    const longer = kept.filter((other) => other.prefix.startsWith(prefix))
    const count = countMatching(prefix, terms)
    if (count > Math.max(1, ...longer.map((other) => other.count))) kept.push({ prefix, count })
  }
  return kept.map(({ prefix }) => prefix)
}

function commonPrefix(a: string, b: string): string {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  const common = a.slice(0, length)
  return common.isWellFormed() ? common : common.slice(0, -1)
}

/**
 * Pure: what stands in the search index for a person. The order of decision D35 has to come out of the index itself: a word of two
 * letters may lead to a hundred thousand people, and nobody sorts those for one search. So each term carries its rank, in which the
 * verified skills that a query matches count first. How many those are depends on the query; but it changes only where two of the
 * person's terms part. So besides the terms themselves the beginnings stand in the index that several verified skills share, each with
 * its own count: among a person's terms that begin with the query, the best rank is the right one.
 */
import { skillsMax } from '../workers/schema.ts'
import { beginnings, hasTwoLetters } from './fold.ts'
import type { SkillNames } from './skill-names.ts'

/**
 * The database's functions name the same numbers, and ask for handles, skills, names, titles in this order. Terms of several verified
 * skills, and beginnings that a handle shares with some, have better ranks than any other of their sort: they are kinds of their own.
 */
const termKinds = { handle: 0, skill: 1, skills: 2, name: 3, title: 4, skilledHandle: 5 }

/** Behind a whole handle, and behind the label of a skill. Folded texts have neither mark. */
const wholeMark = '\u0001'
/** Behind a whole name of a skill under which more verified skills are found than those of its label. */
const countedMark = '\u0002'

export interface Findable {
  username: string
  displayName: string
  title: string | null
  skills: readonly { name: string; verified: boolean }[]
}

export interface Posting {
  kind: number
  term: string
  rank: number
}

/**
 * Each kind and term once. A skill that the vocabulary knows stands there under its label alone, which whoever asks for another of its
 * names looks up; so its rank counts the skills of that label and no others.
 */
export function postingsOf(person: Findable, names: SkillNames): Posting[] {
  const { username, displayName, title, skills } = person
  const verified = skills.filter((skill) => skill.verified).length
  const posting = (kind: number, matched: number) => (term: string) => {
    return { kind, term, rank: rankOf(matched, verified) }
  }
  const found = skills.map((skill) => ({ ...names.of(skill.name), verified: skill.verified }))
  const counted = countedTerms(found.filter((skill) => skill.verified))
  const ofSkill = (matched: number) =>
    posting(matched > 1 ? termKinds.skills : termKinds.skill, matched)
  const ofLabel = (label: string): number =>
    found.filter((skill) => skill.verified && skill.labels.includes(label)).length
  const labels = new Set(found.flatMap((skill) => skill.labels))
  const more = new Set(
    found.flatMap(({ whole, labels: own }) =>
      whole.filter((term) => countUnder(term, counted) > Math.max(...own.map(ofLabel))),
    ),
  )
  const parts = new Set(
    [...found.flatMap((skill) => skill.ownParts), ...sharedBeginnings(counted)].filter(
      (term) => !more.has(term),
    ),
  )
  const titles = title === null ? [] : beginnings(title)
  return [
    posting(termKinds.handle, 0)(username + wholeMark),
    ...handleParts(username, counted).map((part) =>
      posting(termKinds.skilledHandle, countUnder(part, counted))(part),
    ),
    ...[...labels].map((label) => ofSkill(ofLabel(label))(label + wholeMark)),
    ...[...more].map((name) => ofSkill(countUnder(name, counted))(name + countedMark)),
    ...[...parts].map((part) => ofSkill(countUnder(part, counted))(part)),
    ...beginnings(displayName).map(posting(termKinds.name, 0)),
    ...titles.map(posting(termKinds.title, 0)),
  ]
}

/** Lower is better. Fits 16 bits. */
function rankOf(matched: number, verified: number): number {
  return (skillsMax - matched) * (skillsMax + 1) + (skillsMax - verified)
}

interface CountedTerm {
  term: string
  skill: number
}

/** All terms of verified skills, sorted: those with a common beginning stand together. */
function countedTerms(
  skills: readonly { whole: readonly string[]; parts: readonly string[] }[],
): CountedTerm[] {
  return skills
    .flatMap(({ whole, parts }, skill) => [...whole, ...parts].map((term) => ({ term, skill })))
    .sort((a, b) => (a.term < b.term ? -1 : a.term > b.term ? 1 : 0))
}

/** How many skills have a term with this beginning. A single letter is no beginning: it counts where it is the whole name. */
function countUnder(beginning: string, counted: readonly CountedTerm[]): number {
  const isUnder = hasTwoLetters(beginning)
    ? ({ term }: CountedTerm) => term.startsWith(beginning)
    : ({ term }: CountedTerm) => term === beginning
  const skills = new Set<number>()
  for (const one of counted) if (isUnder(one)) skills.add(one.skill)
  return skills.size
}

/** Where neighbours part. */
function sharedBeginnings(counted: readonly CountedTerm[]): string[] {
  const shared = counted.flatMap(({ term }, i) => {
    const next = counted[i + 1]
    return next === undefined ? [] : commonBeginning(term, next.term)
  })
  return telling(shared, counted, 1)
}

/** The beginnings that the handle shares with verified skills: there a search without @ matches both. */
function handleParts(username: string, counted: readonly CountedTerm[]): string[] {
  return telling(
    counted.map(({ term }) => commonBeginning(username, term)),
    counted,
    0,
  )
}

/** Those of two letters that more skills share than any longer one of them, and more than `told`, which other postings tell. */
function telling(
  beginnings: readonly string[],
  counted: readonly CountedTerm[],
  told: number,
): string[] {
  const kept: { beginning: string; count: number }[] = []
  const longestFirst = [...new Set(beginnings)]
    .filter(hasTwoLetters)
    .sort((a, b) => b.length - a.length)
  for (const beginning of longestFirst) {
    const longer = kept.filter((other) => other.beginning.startsWith(beginning))
    const count = countUnder(beginning, counted)
    if (count > Math.max(told, ...longer.map((other) => other.count)))
      kept.push({ beginning, count })
  }
  return kept.map(({ beginning }) => beginning)
}

function commonBeginning(a: string, b: string): string {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  const common = a.slice(0, length)
  return common.isWellFormed() ? common : common.slice(0, -1)
}

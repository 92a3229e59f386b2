/**
 * Pure: searches a short list of candidates by examining each one. The order is that of the search
 * index (decision D35).
 */
import { hasTwoLetters, textsFromWords } from './fold.ts'
import type { Search, SearchHit } from './search-hit.ts'
import { matchesSkill, type SkillNames } from './skill-names.ts'

/** Returns the first `limit` matching candidates, best match first. */
export function scanCandidates<Candidate extends SearchHit>(
  candidates: readonly Candidate[],
  { text, handlesOnly, limit }: Search,
  names: SkillNames,
): Candidate[] {
  return candidates
    .flatMap((candidate) => {
      const verified = candidate.skills.filter((skill) => skill.verified)
      const matched = handlesOnly
        ? []
        : verified.filter(({ name }) => matchesSkill(text, names.of(name)))
      const kind = handlesOnly ? handleMatch(candidate, text) : kindOfMatch(candidate, text, names)
      if (kind === null) return []
      return { candidate, key: [kind, -matched.length, -verified.length] }
    })
    .sort(byRank)
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

interface Ranked {
  candidate: SearchHit
  /** Kind of match, matched verified skills, verified skills; lower is better. */
  key: number[]
}

function byRank(a: Ranked, b: Ranked): number {
  const differing = a.key.findIndex((value, i) => value !== b.key[i])
  if (differing >= 0) return (a.key[differing] as number) - (b.key[differing] as number)
  return a.candidate.username < b.candidate.username ? -1 : 1
}

const kinds = { handle: 0, handlePrefix: 1, skill: 2, skillPrefix: 3, name: 4, title: 5 }

function handleMatch({ username }: SearchHit, text: string): number | null {
  if (username === text) return kinds.handle
  return text !== '' && username.startsWith(text) ? kinds.handlePrefix : null
}

function kindOfMatch(candidate: SearchHit, text: string, names: SkillNames): number | null {
  const isPrefix = hasTwoLetters(text)
  const handle = handleMatch(candidate, text)
  if (handle !== null && (handle === kinds.handle || isPrefix)) return handle
  const skills = candidate.skills.map(({ name }) => names.of(name))
  if (skills.some(({ whole }) => whole.includes(text))) return kinds.skill
  if (!isPrefix) return null
  if (skills.some((terms) => matchesSkill(text, terms))) return kinds.skillPrefix
  const startsWithText = (words: string): boolean => words.startsWith(text)
  if (textsFromWords(candidate.displayName).some(startsWithText)) return kinds.name
  const titles = candidate.title === null ? [] : textsFromWords(candidate.title)
  return titles.some(startsWithText) ? kinds.title : null
}

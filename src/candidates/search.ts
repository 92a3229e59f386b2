/** Searches candidates. Concurrent searches are batched into one statement. */

import { batched } from '../platform/batching.ts'
import type { Queryable } from '../platform/db/db.ts'
import { foldTerm } from './fold.ts'
import { profilePath } from './public-read.ts'
import type { CandidatePreview } from './schema.ts'
import type { Search, SearchHit } from './search-hit.ts'
import { matchesSkill, type SkillNames, type SkillTerms } from './skill-names.ts'
import { findHits, type IndexSearch } from './store.ts'

/** Returns the result as JSON text. */
export type SearchCandidates = (q: string, limit: number) => Promise<string>

export function candidateSearch(db: Queryable, names: SkillNames): SearchCandidates {
  const find = batched<IndexSearch, SearchHit[]>({
    name: 'candidate search',
    batchMax: 32,
    batchesMax: 2,
    run: (searches) => findHits(db, searches),
  })
  return async (q, limit) => {
    const search = indexSearchOf(q, limit, names)
    const candidates = (await find(search)).map((hit) => previewOf(hit, search, names.of))
    return JSON.stringify({ query: q, candidates, resultCount: candidates.length })
  }
}

export function indexSearchOf(q: string, limit: number, names: SkillNames): IndexSearch {
  const search = searchOf(q, limit)
  const labels = search.handlesOnly
    ? { exactLabels: [], prefixLabels: [] }
    : names.otherLabels(search.text)
  return { ...search, ...labels }
}

/** Parses the query: a leading @ searches handles only. */
export function searchOf(q: string, limit: number): Search {
  const folded = foldTerm(q)
  const handlesOnly = folded.startsWith('@')
  return { text: handlesOnly ? folded.slice(1) : folded, handlesOnly, limit }
}

const topSkillsMax = 5

export function previewOf(
  { username, displayName, title, avatarUrl, skills }: SearchHit,
  { text, handlesOnly }: Pick<Search, 'text' | 'handlesOnly'>,
  termsOf: (skill: string) => SkillTerms,
): CandidatePreview {
  const verified = skills.filter((skill) => skill.verified)
  return {
    username,
    displayName,
    title,
    avatarUrl,
    profilePath: profilePath(username),
    topSkills: [...verified, ...skills.filter((skill) => !skill.verified)].slice(0, topSkillsMax),
    matchedSkills: handlesOnly
      ? []
      : skills.filter(({ name }) => matchesSkill(text, termsOf(name))),
    skillCount: skills.length,
    verifiedSkillCount: verified.length,
  }
}

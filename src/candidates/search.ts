/** Searches candidates. Concurrent searches are batched into one statement. */

import { batched } from '../platform/batching.ts'
import type { Queryable } from '../platform/db/db.ts'
import type { Card, Search } from './card.ts'
import { foldTerm } from './fold.ts'
import { profilePath } from './public-read.ts'
import type { CandidatePreview } from './schema.ts'
import { matchesSkill, type SkillNames, type SkillTerms } from './skill-names.ts'
import { findCards, type Lookup } from './store.ts'

/** Returns the result as JSON text. */
export type SearchCandidates = (q: string, limit: number) => Promise<string>

export function candidateSearch(db: Queryable, names: SkillNames): SearchCandidates {
  const find = batched<Lookup, Card[]>({
    name: 'candidate search',
    batchMax: 32,
    batchesMax: 2,
    run: (lookups) => findCards(db, lookups),
  })
  return async (q, limit) => {
    const lookup = lookupOf(q, limit, names)
    const candidates = (await find(lookup)).map((card) => previewOf(card, lookup, names.of))
    return JSON.stringify({ query: q, candidates, resultCount: candidates.length })
  }
}

/** What the index is asked. */
export function lookupOf(q: string, limit: number, names: SkillNames): Lookup {
  const search = searchOf(q, limit)
  const labels = search.handlesAlone ? { same: [], akin: [] } : names.otherLabels(search.text)
  return { ...search, ...labels }
}

/** A leading @ searches handles alone (decision D35). */
export function searchOf(q: string, limit: number): Search {
  const folded = foldTerm(q)
  const handlesAlone = folded.startsWith('@')
  return { text: handlesAlone ? folded.slice(1) : folded, handlesAlone, limit }
}

const topSkillsMax = 5

export function previewOf(
  { username, displayName, title, avatarUrl, skills }: Card,
  { text, handlesAlone }: Pick<Search, 'text' | 'handlesAlone'>,
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
    matchedSkills: handlesAlone
      ? []
      : skills.filter(({ name }) => matchesSkill(text, termsOf(name))),
    skillCount: skills.length,
    verifiedSkillCount: verified.length,
  }
}

/**
 * Searching candidates: searches of one turn of the event loop are one statement. What a search found is kept, as the text that answers it;
 * the next time the same is asked, the database says in that statement whether it still stands, and looks it up only where it does not.
 */

import { batched } from '../platform/batching.ts'
import type { Queryable } from '../platform/db/db.ts'
import { RecentMap } from '../platform/recent-map.ts'
import type { Card, Search } from './card.ts'
import { foldTerm, hasTwoLetters } from './fold.ts'
import { profilePath } from './public-read.ts'
import type { CandidatePreview } from './schema.ts'
import { matchesSkill, type SkillNames, type SkillTerms } from './skill-names.ts'
import { type Asked, type Found, findCards, type Lookup, type Sight } from './store.ts'

/** The result as JSON. */
export type SearchCandidates = (q: string, limit: number) => Promise<string>

/** What is answered, but for the query: that is answered as it was asked. */
interface Answered {
  candidates: string
  count: number
}

interface Kept extends Answered {
  seen: Sight
}

/** In characters: of JSON, and what an entry holds besides. */
const keptSizeMax = 32 * 1_048_576
const entrySize = 500

/** `keptMax`: how much of what was found is kept, in characters; 0 for nothing. */
export function candidateSearch(
  db: Queryable,
  names: SkillNames,
  keptMax = keptSizeMax,
): SearchCandidates {
  const kept = new RecentMap<Kept>(
    keptMax,
    ({ candidates, seen }, key) =>
      candidates.length + seen.snapshot.length + key.length + entrySize,
  )
  let epoch: string | undefined
  const find = batched<Asked, Found>({
    name: 'candidate search',
    batchMax: 32,
    batchesMax: 2,
    run: (asked) => findCards(db, asked),
  })

  function keep(key: string, answered: Answered, seen: Sight | null): void {
    // Of whoever was found in another epoch, nothing stays here.
    if (seen?.epoch !== epoch) kept.clear()
    epoch = seen?.epoch
    if (seen !== null) kept.set(key, { ...answered, seen })
  }

  return async (q, limit) => {
    const lookup = lookupOf(q, limit, names)
    const key = `${limit} ${lookup.handlesAlone ? '@' : ''}${lookup.text}`
    const known = kept.get(key)
    const { cards, seen } = await find({ ...lookup, seen: known?.seen ?? null })
    const answered = cards === null ? known : answeredWith(cards, lookup, names)
    if (answered === undefined) throw new Error('the index knows an answer that is not known here')
    // What a single letter found never stands.
    if (hasTwoLetters(lookup.text)) keep(key, answered, seen)
    return `{"query":${JSON.stringify(q)},"candidates":${answered.candidates},"resultCount":${answered.count}}`
  }
}

function answeredWith(cards: readonly Card[], lookup: Lookup, names: SkillNames): Answered {
  const previews = cards.map((card) => previewOf(card, lookup, names.of))
  return { candidates: JSON.stringify(previews), count: previews.length }
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

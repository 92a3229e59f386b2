/** Searches candidates. Concurrent searches are batched into one statement. */
import { isDeepStrictEqual } from 'node:util'
import { batched } from '../../platform/batching.ts'
import type { PublicReads } from '../../platform/db/replicas.ts'
import { foldText } from '../../platform/fold-text.ts'
import { foldAccents, foldTerm, wordOrders } from './fold.ts'
import { profilePath } from './public-read.ts'
import type { CandidatePreview } from './schema.ts'
import {
  comparePlaces,
  cursorOf,
  type Place,
  placeOf,
  type Search,
  type SearchHit,
  start,
} from './search-hit.ts'
import { matchesSkill, type SkillNames } from './skill-names.ts'
import { findHits, type IndexSearch } from './store.ts'
import { wholeMark } from './terms.ts'

/** A page for any query that folds to the same text. */
export interface AnyPage {
  /** The result as JSON text, behind the query. */
  rest: string
  /** The parameter `after` of the next page. Null if this page is the last. */
  next: string | null
}

export interface FoundPage extends Pick<AnyPage, 'next'> {
  /** The result as JSON text. */
  text: string
}

export interface PageRequest {
  limit: number
  /** The page begins behind this place; by default it is the first. */
  after?: Place | undefined
}

export type SearchCandidates = (q: string, page: PageRequest) => Promise<FoundPage>

export function candidateSearch(reads: PublicReads, names: SkillNames): SearchCandidates {
  const find = batched<IndexSearch, SearchHit[]>({
    name: 'candidate search',
    batchMax: 32,
    batchesMax: 2 * reads.databases,
    run: (searches) => findHits(reads.at, searches),
  })
  return async (q, { limit, after = start }) => {
    const search = searchOf(q)
    const found = await findPage(find, { search, after, limit: limit + 1 }, names)
    return pageFor(q, pageOf({ search, found, limit }, names))
  }
}

/**
 * Returns up to `limit` hits behind the place `after`. The index may yield a candidate again that
 * an earlier page had for a better match; then it is asked for more.
 */
async function findPage(
  find: (search: IndexSearch) => Promise<SearchHit[]>,
  { search, after, limit }: { search: Search; after: Place; limit: number },
  names: SkillNames,
): Promise<SearchHit[]> {
  for (let asked = limit; ; asked *= 8) {
    const hits = await find({ ...indexSearchOf(search, names), limit: asked, after })
    if (after === start) return hits
    const later = hits.filter((hit) => {
      const place = placeOf(hit, search, names)
      return place !== null && comparePlaces(place, after) > 0
    })
    if (later.length >= limit || hits.length < asked) return later.slice(0, limit)
  }
}

/** Renders the first `limit` of the found hits. One more of them shows that a page follows. */
export function pageOf(
  { search, found, limit }: { search: Search; found: readonly SearchHit[]; limit: number },
  names: SkillNames,
): AnyPage {
  const shown = found.slice(0, limit)
  const previews = shown.map((hit) => previewOf(hit, search, names))
  const last = shown.at(-1)
  const place = found.length > limit && last !== undefined ? placeOf(last, search, names) : null
  return {
    rest: `"candidates":${JSON.stringify(previews)},"resultCount":${previews.length}}`,
    next: place === null ? null : cursorOf(place),
  }
}

export function pageFor(q: string, { rest, next }: AnyPage): FoundPage {
  return { text: `{"query":${JSON.stringify(q)},${rest}`, next }
}

/** Returns what the index is searched for. */
export function indexSearchOf(
  { orders, bareOrders, ...search }: Search,
  names: SkillNames,
): Omit<IndexSearch, 'limit' | 'after'> {
  const textsOf = (level: readonly string[], namesOfLevel: SkillNames): IndexSearch['written'] => {
    if (search.handlesOnly) return { orders: [], exactLabels: [], prefixLabels: [] }
    const { exactLabels, prefixLabels } = namesOfLevel.otherLabels(level)
    const whole = (label: string) => label + wholeMark
    return {
      orders: level,
      exactLabels: exactLabels.map(whole),
      prefixLabels: prefixLabels.map(whole),
    }
  }
  const written = textsOf(orders, names)
  if (orders === bareOrders && names.bare === names)
    return { ...search, written, bare: written, bareDiffers: false }
  const bare = textsOf(bareOrders, names.bare)
  return { ...search, written, bare, bareDiffers: !isDeepStrictEqual(written, bare) }
}

/** Parses the query: a leading @ searches handles only. */
export function searchOf(q: string): Search {
  const folded = foldText(q)
  const handlesOnly = folded.startsWith('@')
  const ordersOf = (text: string) => (text === '' ? [] : wordOrders(text))
  const bare = foldAccents(folded)
  const orders = ordersOf(foldTerm(folded))
  return {
    handle: handlesOnly ? folded.slice(1) : folded,
    handlesOnly,
    orders,
    bareOrders: bare === folded ? orders : ordersOf(foldTerm(bare)),
  }
}

const topSkillsMax = 5

function previewOf(
  { username, displayName, title, avatarUrl, skills }: SearchHit,
  { bareOrders, handlesOnly }: Pick<Search, 'bareOrders' | 'handlesOnly'>,
  { bare }: SkillNames,
): CandidatePreview {
  const verified = skills.filter((skill) => skill.verified)
  const matches = (name: string): boolean => {
    const terms = bare.of(foldAccents(name))
    return bareOrders.some((text) => matchesSkill(text, terms))
  }
  return {
    username,
    displayName,
    title,
    avatarUrl,
    profilePath: profilePath(username),
    topSkills: [...verified, ...skills.filter((skill) => !skill.verified)].slice(0, topSkillsMax),
    matchedSkills: handlesOnly ? [] : skills.filter(({ name }) => matches(name)),
    skillCount: skills.length,
    verifiedSkillCount: verified.length,
  }
}

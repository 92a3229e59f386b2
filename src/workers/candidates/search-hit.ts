/** Pure: a search request, the search hit of a candidate, and its place in the result. */
import { foldAccents, hasTwoLetters, textsFromWords } from './fold.ts'
import { beginsSkill, matchesSkill, type SkillNames, type SkillTerms } from './skill-names.ts'
import { rankOf } from './terms.ts'

export interface Search {
  /** As written, and folded. */
  handle: string
  /** Searches handles only, because the query began with @. */
  handlesOnly: boolean
  /** The folded query with its words in each order, as written first. Empty if nothing is left. */
  orders: readonly string[]
  /** The same without accents. */
  bareOrders: readonly string[]
}

/** Everything that a search shows of a candidate. */
export interface SearchHit {
  username: string
  displayName: string
  title: string | null
  avatarUrl: string | null
  /** Spelled and ordered as in the profile. */
  skills: readonly { name: string; verified: boolean; level: string | null }[]
}

/** The place of a candidate in the result of a search. migrations/0029_search_pages.sql tells more. */
export interface Place {
  /** 1 to 10, by the kind of the best match. */
  section: number
  /** Lower is better. */
  rank: number
  username: string
}

/** The place before all others. */
export const start: Place = { section: 0, rank: 0, username: '' }

/** Compares places like a sort function. */
export function comparePlaces(a: Place, b: Place): number {
  if (a.section !== b.section) return a.section - b.section
  if (a.rank !== b.rank) return a.rank - b.rank
  return a.username < b.username ? -1 : a.username > b.username ? 1 : 0
}

/** Writes a place as the opaque parameter `after`. */
export function cursorOf({ section, rank, username }: Place): string {
  return Buffer.from(`${section}.${rank}.${username}`).toString('base64url')
}

/** Returns the place of a cursor, or null if no search gives such a cursor. */
export function placeOfCursor(cursor: string): Place | null {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const found = /^([1-9]|10)\.(\d{1,5})\.([a-z0-9_-]{1,64})$/.exec(text)
  const [, section, rank, username = ''] = found ?? []
  const place = { section: Number(section), rank: Number(rank), username }
  return found !== null && place.rank <= rankMax && cursorOf(place) === cursor ? place : null
}

/** The highest smallint. */
const rankMax = 32_767

/**
 * Returns the place of a candidate in the result of a search (decision D35), from its search hit
 * alone, or null if the search does not find it. The search index yields the same order without
 * examining each candidate.
 */
export function placeOf(hit: SearchHit, search: Search, names: SkillNames): Place | null {
  const { username, skills } = hit
  const verified = skills.filter((skill) => skill.verified)
  const placed = (section: number, matchedCount: number): Place => ({
    section,
    rank: rankOf({ matchedCount, verifiedCount: verified.length }),
    username,
  })
  if (username === search.handle) return placed(1, 0)
  if (search.handlesOnly)
    return search.handle !== '' && username.startsWith(search.handle) ? placed(2, 0) : null

  const levels = [
    { orders: search.orders, textOf: (text: string) => text, names },
    { orders: search.bareOrders, textOf: foldAccents, names: names.bare },
  ].map(({ orders, textOf, names: namesOfLevel }) => {
    const termsOf = (skill: { name: string }) => namesOfLevel.of(textOf(skill.name))
    return { orders, textOf, terms: skills.map(termsOf), verifiedTerms: verified.map(termsOf) }
  })
  if (hasTwoLetters(search.handle) && username.startsWith(search.handle)) {
    const [
      {
        orders: [text = ''],
        verifiedTerms,
      },
    ] = levels as [(typeof levels)[number]]
    return placed(2, text === '' ? 0 : verifiedTerms.filter((one) => beginsSkill(text, one)).length)
  }
  const isWhole = (text: string, { whole }: SkillTerms): boolean => whole.includes(text)
  for (const [section, matches] of [
    [3, isWhole],
    [5, matchesSkill],
  ] as const)
    for (const [i, { orders, terms, verifiedTerms }] of levels.entries()) {
      const counts = orders
        .filter((text) => terms.some((one) => matches(text, one)))
        .map((text) => verifiedTerms.filter((one) => matchesSkill(text, one)).length)
      if (counts.length > 0) return placed(section + i, Math.max(...counts))
    }
  for (const [section, written] of [
    [7, hit.displayName],
    [9, hit.title ?? ''],
  ] as const)
    for (const [i, { orders, textOf }] of levels.entries()) {
      const texts = textsFromWords(textOf(written))
      const begins = (text: string) => texts.some((one) => one.startsWith(text))
      if (orders.filter(hasTwoLetters).some(begins)) return placed(section + i, 0)
    }
  return null
}

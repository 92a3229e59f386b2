/** Pure: a search request, the search hit of a candidate, and its place in the result. */

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

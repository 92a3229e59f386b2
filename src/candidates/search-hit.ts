/** Pure: a search request, and the search hit of a candidate. */

export interface Search {
  /** Folded. */
  text: string
  /** Searches handles only, because the query began with @. */
  handlesOnly: boolean
  limit: number
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

/** Pure: what is asked of search, and what search shows. */

export interface Search {
  /** Folded. */
  text: string
  handlesAlone: boolean
  limit: number
}

/** What search shows of a person. */
export interface Card {
  username: string
  displayName: string
  title: string | null
  avatarUrl: string | null
  /** As shown. */
  skills: readonly { name: string; verified: boolean; level: string | null }[]
}

/** Pure: what the lint reports, and what its rules look at. */
import type { SourceRecord } from './source.ts'

export type Rule =
  `V${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18}`

export interface Finding {
  rule: Rule
  /** A file of the vocabulary directory, or `catalog` or `bands` for what is made from all of them. */
  file: string
  message: string
}

/** A record whose shape is right. */
export interface Entry {
  file: string
  record: SourceRecord
}

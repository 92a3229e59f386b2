/** Pure: the findings of the lint, and the entries that its rules look at. */
import type { SourceRecord } from '../../../src/standard/source.ts'

export type Rule =
  `V${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20}`

export interface Finding {
  rule: Rule
  /**
   * A file of the vocabulary directory, or `catalog` or `bands` for the documents that are made
   * from all files.
   */
  file: string
  message: string
}

/** A record of the right shape. */
export interface Entry {
  file: string
  record: SourceRecord
}

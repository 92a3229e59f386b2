/** Pure: the meters: what is charged for, and what a call costs unless the operator says otherwise (decision D19). */
import type { MeterName } from '../platform/http/callers.ts'

interface Meter {
  meaning: string
  /** Whole credits. */
  defaultPrice: number
}

export const meters = {
  score_lookup: {
    meaning: 'A public score, or the verification of a credential.',
    defaultPrice: 1,
  },
  candidate_lookup: { meaning: 'One candidate in detail.', defaultPrice: 1 },
  candidate_search: { meaning: 'A search for candidates, whatever it finds.', defaultPrice: 1 },
} as const satisfies Record<MeterName, Meter>

/** Whole credits a call; 0: free. */
export type Prices = Readonly<Record<MeterName, number>>

/** The meters and their default prices (decision D19). Pure. */
import type { MeterName } from '../../edge/http/callers.ts'

interface Meter {
  /** The effect of the setting of its price. */
  meaning: string
  /** Whole credits. */
  defaultPrice: number
}

export const meters = {
  score_lookup: {
    meaning: 'A public score, or the verification of a credential; 0 is free.',
    defaultPrice: 1,
  },
  candidate_lookup: { meaning: 'One candidate in detail; 0 is free.', defaultPrice: 1 },
  candidate_search: {
    meaning: 'A search for candidates, also without results; 0 is free.',
    defaultPrice: 1,
  },
} as const satisfies Record<MeterName, Meter>

/** Whole credits for each call; 0 is free. */
export type Prices = Readonly<Record<MeterName, number>>

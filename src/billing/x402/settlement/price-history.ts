/**
 * The price history: a price that was quoted can be paid until its challenge ends, by any process
 * and after a change of the setting. A price is recorded before it is quoted, for a minute at a
 * time, so a challenge costs no write.
 */
import type { Clock } from '../../../platform/clock.ts'
import type { Db } from '../../../platform/db/db.ts'
import { type Counter, isPayable, type Prices, postPrices } from './price-store.ts'

export interface PriceHistory {
  /** Resolves when the present prices may be quoted. */
  post(): Promise<void>
  /** Returns whether a challenge with this price may still be paid. */
  isPayable(endpoint: string, amount: string): Promise<boolean>
}

export interface PriceHistoryOptions extends Counter {
  db: Db
  clock: Clock
  prices: Prices
  /** Time within which a challenge may be paid. */
  maxTimeoutSeconds: number
}

const postedMs = 60_000

export function priceHistory(options: PriceHistoryOptions): PriceHistory {
  const { db, clock, maxTimeoutSeconds } = options
  let postedUntil = 0
  let posting: Promise<void> | undefined

  async function postNow(): Promise<void> {
    const now = clock()
    const sayableUntil = now.getTime() + postedMs
    const payableUntil = new Date(sayableUntil + maxTimeoutSeconds * 1_000)
    try {
      await postPrices(db, options, { now, payableUntil })
      postedUntil = sayableUntil
    } finally {
      posting = undefined
    }
  }

  return {
    async post() {
      if (clock().getTime() < postedUntil) return
      await (posting ??= postNow())
    },
    isPayable: (endpoint, amount) => isPayable(db, { ...options, endpoint, amount }, clock()),
  }
}

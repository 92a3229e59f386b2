/**
 * The prices that we say, kept so that whoever was told one can pay it, whatever is asked since: by this process, by another, by the one
 * that a changed setting has replaced. A price is posted before it is said, for a minute at a time, so a challenge costs no write.
 */
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import { type Counter, isPayable, type Prices, postPrices } from './price-store.ts'

export interface PriceBoard {
  /** When it returns, our prices may be said. */
  post(): Promise<void>
  /** Whether somebody who was told this price may still pay it. */
  isPayable(endpoint: string, amount: string): Promise<boolean>
}

export interface PriceBoardParts extends Counter {
  db: Db
  clock: Clock
  prices: Prices
  /** How long a challenge may be paid. */
  maxTimeoutSeconds: number
}

const postedMs = 60_000

export function priceBoard(parts: PriceBoardParts): PriceBoard {
  const { db, clock, maxTimeoutSeconds } = parts
  let postedUntil = 0
  let posting: Promise<void> | undefined

  async function postNow(): Promise<void> {
    const now = clock()
    const sayableUntil = now.getTime() + postedMs
    const payableUntil = new Date(sayableUntil + maxTimeoutSeconds * 1_000)
    try {
      await postPrices(db, parts, { now, payableUntil })
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
    isPayable: (endpoint, amount) => isPayable(db, { ...parts, endpoint, amount }, clock()),
  }
}

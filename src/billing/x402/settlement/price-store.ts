/**
 * The price history: a price that was quoted can be paid until its challenge ends, by any process
 * and after a change of the setting. A price is recorded before it is quoted, for a minute at a
 * time, so a challenge costs no write. All SQL of x402_prices.
 */

import type { Clock } from '../../../platform/clock.ts'
import { type Db, type Queryable, sql } from '../../../platform/db/db.ts'

/** The payee and the coin. Hex in lower case. */
export interface Counter {
  chainId: number
  asset: string
  payTo: string
}

/** Atomic units, by endpoint. */
export type Prices = Readonly<Record<string, string>>

/** Records prices. Several processes may do so in any order; the latest time holds. */
async function postPrices(
  db: Queryable,
  { chainId, asset, payTo, prices }: Counter & { prices: Prices },
  { now, payableUntil }: { now: Date; payableUntil: Date },
): Promise<void> {
  await db.run(sql`
    insert into x402_prices as p (chain_id, asset, pay_to, endpoint, amount, first_posted_at, payable_until)
    select ${chainId}, ${asset}, ${payTo}, endpoint, amount, ${now}, ${payableUntil}
    from unnest(${Object.keys(prices)}::text[], ${Object.values(prices)}::numeric[]) as posted (endpoint, amount)
    order by endpoint
    on conflict (chain_id, asset, pay_to, endpoint, amount) do update
      set payable_until = excluded.payable_until
      where p.payable_until < excluded.payable_until`)
}

/** Returns whether a challenge with this price can still be paid. */
async function isPayable(
  db: Queryable,
  { chainId, asset, payTo, endpoint, amount }: Counter & { endpoint: string; amount: string },
  now: Date,
): Promise<boolean> {
  const rows = await db.rows(sql`
    select 1 from x402_prices
    where chain_id = ${chainId} and asset = ${asset} and pay_to = ${payTo} and endpoint = ${endpoint}
      and amount = ${amount} and payable_until >= ${now}`)
  return rows.length > 0
}

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

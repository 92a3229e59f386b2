/** All SQL of x402_prices. */
import { type Queryable, sql } from '../../../platform/db/db.ts'

/** The payee and the coin. Hex in lower case. */
export interface Counter {
  chainId: number
  asset: string
  payTo: string
}

/** Atomic units, by endpoint. */
export type Prices = Readonly<Record<string, string>>

/** Records prices. Several processes may do so in any order; the latest time holds. */
export async function postPrices(
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
export async function isPayable(
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

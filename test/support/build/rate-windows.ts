/** The windows of one rate limit bucket, and the database's decision on them. */
import type { RateLimits } from '../../../src/edge/http/contract.ts'
import { type Queryable, sql } from '../../../src/platform/db/db.ts'

export interface Windows {
  hits: Date[]
  hitTotals: number[]
  hitBase: number
  quarters: Date[]
  totals: number[]
  base: number
  /** Calls granted by the last decision. */
  granted: number
}

export const emptyWindows: Windows = {
  hits: [],
  hitTotals: [],
  hitBase: 0,
  quarters: [],
  totals: [],
  base: 0,
  granted: 0,
}

export async function decideInDatabase(
  db: Queryable,
  windows: Windows,
  call: { now: number; wanted: number; limits: RateLimits },
): Promise<Windows> {
  const { limits, wanted } = call
  const [decided] = await db.rows<Windows>(sql`
    select hits, hit_totals as "hitTotals", hit_base as "hitBase", quarters, totals, base, granted
    from decide_rate(${windows.hits}::timestamptz[], ${windows.hitTotals}::integer[],
      ${windows.hitBase}::integer, ${windows.quarters}::timestamptz[], ${windows.totals}::integer[],
      ${windows.base}::integer, ${new Date(call.now)}::timestamptz, ${wanted}::integer,
      ${limits.perMinute}::integer, ${limits.perDay}::integer)`)
  if (decided === undefined) throw new Error('decide_rate returned no row')
  return decided
}

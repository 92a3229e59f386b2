/** SQL of the size of the service, which takes no longer for a million workers than for ten. */
import { type Queryable, sql } from '../platform/db/db.ts'

/** A larger number of rows is the estimate of the database's statistics. */
export const countedMax = 10_000

export interface Totals {
  workers: number
  publicScores: number
  evidence: number
  accounts: number
}

export async function findTotals(db: Queryable): Promise<Totals> {
  const [row] = await db.rows<Totals>(sql`
    with counted (name, counted) as (values
      ('workers', (select count(*) from (select from workers limit ${countedMax + 1}) few)),
      ('readable_scores', (select count(*) from (select from readable_scores limit ${countedMax + 1}) few)),
      ('evidence', (select count(*) from (select from evidence limit ${countedMax + 1}) few)),
      ('accounts', (select count(*) from (select from accounts limit ${countedMax + 1}) few))
    ), sized as (
      select name, case when counted <= ${countedMax} then counted else greatest(counted, reltuples::bigint) end as size
      from counted join pg_class on oid = to_regclass(name))
    select max(size) filter (where name = 'workers')::int as workers,
      max(size) filter (where name = 'readable_scores')::int as "publicScores",
      max(size) filter (where name = 'evidence')::int as evidence,
      max(size) filter (where name = 'accounts')::int as accounts
    from sized`)
  if (row === undefined) throw new Error('the totals have one row')
  return row
}

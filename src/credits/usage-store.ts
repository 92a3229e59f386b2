/** SQL of credit_entries for the people who watch an account. */
import { type Queryable, sql } from '../platform/db/db.ts'
import type { entryKinds, UsageGroup } from './schema.ts'

export interface UsageOf {
  /** The day, meter, operation id, or id of the key. */
  group: string
  calls: number
  refunded: number
  credits: number
}

/**
 * Returns the charges of an account in [since, until), less its refunds, in the order of groups.
 */
export function findUsageBy(
  db: Queryable,
  {
    accountId,
    since,
    until,
    by,
  }: { accountId: string; since: Date; until: Date; by: Exclude<UsageGroup, 'status'> },
): Promise<UsageOf[]> {
  return db.rows<UsageOf>(sql`
    select case ${by}::text
        when 'day' then to_char(at at time zone 'UTC', 'YYYY-MM-DD')
        when 'meter' then meter when 'operation' then operation else key_id::text end as "group",
      (count(*) filter (where kind = 'charge'))::int as calls,
      (count(*) filter (where kind = 'void'))::int as refunded,
      -sum(delta)::bigint as credits
    from credit_entries
    where account_id = ${accountId} and kind in ('charge', 'void') and at >= ${since} and at < ${until}
    group by 1 order by 1`)
}

export interface LedgerEntry {
  seq: number
  at: Date
  kind: (typeof entryKinds)[number]
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

/**
 * All SQL of credit_accounts, credit_audits, credit_purchases and credit_entries. The months of
 * credit_entries are in `archive-store.ts`.
 */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'

export interface Debit {
  accountId: string
  keyId: string
  /** Whole credits, more than 0. */
  amount: number
  /** Made by `chargeReference` and unique in its month. */
  reference: string
  meter: string
  operation: string
}

export interface DebitRow {
  place: number
  isAccepted: boolean
  isSuspended: boolean
  /**
   * Balance of the account after this debit. If the debit was refused, the balance after all
   * accepted ones.
   */
  remaining: number
}

/**
 * Charges what the balances allow, first come first served. A debit has no row in the result if its
 * account never had credits.
 *
 * Concurrency: batches lock accounts in the same order, so they never deadlock. The sums use the
 * balances of the locked rows, so any number of servers may charge at once.
 */
export function insertDebits(db: Queryable, debits: readonly Debit[]): Promise<DebitRow[]> {
  const column = (name: keyof Debit) => debits.map((debit) => debit[name])
  return db.rows<DebitRow>(sql`
    with asked as (
      select * from unnest(
        ${column('accountId')}::uuid[], ${column('keyId')}::uuid[], ${column('amount')}::bigint[],
        ${column('reference')}::text[], ${column('meter')}::text[], ${column('operation')}::text[]
      ) with ordinality as a(account_id, key_id, amount, reference, meter, operation, place)
    ), locked as materialized (
      select account_id, balance, suspended_at from credit_accounts
      where account_id in (select account_id from asked)
      order by account_id for update
    ), running as (
      select a.*, l.balance, l.suspended_at is not null as is_suspended,
        sum(a.amount) over (partition by a.account_id order by a.place)::bigint as spent
      from asked a join locked l using (account_id)
    ), judged as (
      select r.*, not is_suspended and spent <= balance as is_accepted from running r
    ), debited as (
      update credit_accounts c set balance = c.balance - s.spent
      from (select account_id, max(spent) as spent from judged where is_accepted group by account_id) s
      where c.account_id = s.account_id
    ), entered as (
      insert into credit_entries (account_id, kind, delta, reference, key_id, meter, operation)
      select account_id, 'charge', -amount, reference, key_id, meter, operation
      from judged where is_accepted order by place
    )
    select place, is_accepted as "isAccepted", is_suspended as "isSuspended",
      balance - case when is_accepted then spent else
        coalesce(max(spent) filter (where is_accepted) over (partition by account_id), 0) end as remaining
    from judged`)
}

/**
 * Refunds the charges with these references, each once. Returns the number of accounts that were
 * credited.
 */
export function insertRefunds(db: Queryable, references: readonly string[]): Promise<number> {
  return db.run(sql`
    with locked as materialized (
      select account_id from credit_accounts
      where account_id in (select account_id from credit_entries where reference = any(${references}))
      order by account_id for update
    ), entered as (
      insert into credit_entries (account_id, kind, delta, reference, key_id, meter, operation)
      select e.account_id, 'void', -e.delta, e.reference || ':void', e.key_id, e.meter, e.operation
      from credit_entries e join locked using (account_id)
      where e.reference = any(${references}) and e.kind = 'charge'
      on conflict (reference) do nothing
      returning account_id, delta
    )
    update credit_accounts c set balance = c.balance + v.delta
    from (select account_id, sum(delta) as delta from entered group by account_id) v
    where c.account_id = v.account_id`)
}

export interface CreditAccount {
  accountId: string
  balance: number
  suspendedAt: Date | null
}

/** Creates a credit account with balance 0 if there is none. */
export async function insertCreditAccount(tx: Tx, accountId: string): Promise<void> {
  await tx.run(sql`
    insert into credit_accounts (account_id, balance) values (${accountId}, 0)
    on conflict (account_id) do nothing`)
}

/** Locks the account until the transaction ends. Returns undefined if it never had credits. */
export async function lockCreditAccount(
  tx: Tx,
  accountId: string,
): Promise<CreditAccount | undefined> {
  const [account] = await tx.rows<CreditAccount>(sql`
    select account_id as "accountId", balance, suspended_at as "suspendedAt" from credit_accounts
    where account_id = ${accountId} for update`)
  return account
}

export async function findCreditAccount(
  db: Queryable,
  accountId: string,
): Promise<CreditAccount | undefined> {
  const [account] = await db.rows<CreditAccount>(sql`
    select account_id as "accountId", balance, suspended_at as "suspendedAt" from credit_accounts
    where account_id = ${accountId}`)
  return account
}

export interface OperatorEntry {
  accountId: string
  kind: 'grant' | 'adjustment'
  delta: number
  reference: string
  reason: string
}

export async function findOperatorEntry(
  tx: Tx,
  reference: string,
): Promise<Pick<OperatorEntry, 'accountId' | 'kind' | 'delta'> | undefined> {
  const [entry] = await tx.rows<Pick<OperatorEntry, 'accountId' | 'kind' | 'delta'>>(sql`
    select account_id as "accountId", kind, delta from credit_entries where reference = ${reference}`)
  return entry
}

/**
 * Returns the newest entry of an operator in the last ten minutes that changed the account in the
 * same way. The caller holds the account's lock, so no equal entry is under way.
 */
export async function findEqualEntry(
  tx: Tx,
  { accountId, kind, delta }: Pick<OperatorEntry, 'accountId' | 'kind' | 'delta'>,
): Promise<{ reference: string; at: Date } | undefined> {
  const [entry] = await tx.rows<{ reference: string; at: Date }>(sql`
    select substr(reference, 10) as reference, at from credit_entries
    where account_id = ${accountId} and kind = ${kind} and delta = ${delta}
      and reference >= 'operator:' and reference < 'operator;'
      and at > now() - interval '10 minutes'
    order by seq desc limit 1`)
  return entry
}

/**
 * Enters a grant or an adjustment. Returns false if the reference is used. The caller holds the
 * account's lock.
 */
export async function insertOperatorEntry(tx: Tx, entry: OperatorEntry): Promise<boolean> {
  const { accountId, kind, delta, reference, reason } = entry
  const count = await tx.run(sql`
    with entered as (
      insert into credit_entries (account_id, kind, delta, reference, reason)
      values (${accountId}, ${kind}, ${delta}, ${reference}, ${reason})
      on conflict (reference) do nothing
      returning account_id, delta
    )
    update credit_accounts c set balance = c.balance + e.delta
    from entered e where c.account_id = e.account_id`)
  return count === 1
}

export interface Purchase {
  accountId: string
  keySha256: Buffer
  fingerprint: Buffer
}

/**
 * Returns the purchase made under the same key after `since`. The caller holds the account's lock.
 */
export async function findPurchase(
  tx: Tx,
  { accountId, keySha256 }: Purchase,
  since: Date,
): Promise<{ fingerprint: Buffer } | undefined> {
  const [purchase] = await tx.rows<{ fingerprint: Buffer }>(sql`
    select fingerprint from credit_purchases
    where account_id = ${accountId} and key_sha256 = ${keySha256} and charged_at > ${since}`)
  return purchase
}

export async function insertPurchase(tx: Tx, purchase: Purchase, at: Date): Promise<void> {
  await tx.run(sql`
    insert into credit_purchases (account_id, key_sha256, fingerprint, charged_at)
    values (${purchase.accountId}, ${purchase.keySha256}, ${purchase.fingerprint}, ${at})
    on conflict (account_id, key_sha256) do update set
      fingerprint = excluded.fingerprint, charged_at = excluded.charged_at`)
}

export function deletePurchases(db: Queryable, before: Date): Promise<number> {
  return db.run(sql`delete from credit_purchases where charged_at <= ${before}`)
}

/** Returns ids in their order, starting behind `after`. */
export async function findCreditAccountIds(
  db: Queryable,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select account_id as id from credit_accounts where account_id > ${after}
    order by account_id limit ${limit}`)
  return rows.map(({ id }) => id)
}

export interface Book {
  accountId: string
  balance: number
  /** Sum of the entries. */
  entered: number
  /** `seq` of the last entry in the sum; 0 if there is none. */
  throughSeq: number
  isSuspended: boolean
}

/**
 * Returns the balance and the sum of the entries as of one moment. With `fromStart`, the sum is
 * every entry plus the sums of archived months. Otherwise it continues from the last sound audit.
 * Entries of one account are written under its lock, so no entry with a lower `seq` appears later.
 */
export async function findBook(
  db: Queryable,
  accountId: string,
  fromStart: boolean,
): Promise<Book | undefined> {
  const [book] = await db.rows<Book>(sql`
    select c.account_id as "accountId", c.balance, c.suspended_at is not null as "isSuspended",
      s.base + coalesce(e.delta, 0)::bigint as entered,
      coalesce(e.seq, s.through_seq) as "throughSeq"
    from credit_accounts c
    left join credit_audits a on a.account_id = c.account_id and not ${fromStart}::boolean
    cross join lateral (
      select coalesce(a.through_seq, 0) as through_seq, coalesce(a.balance,
        (select sum(delta) from credit_archived_sums where account_id = c.account_id), 0)::bigint as base) s
    cross join lateral (
      select sum(delta) as delta, max(seq) as seq from credit_entries
      where account_id = c.account_id and seq > s.through_seq) e
    where c.account_id = ${accountId}`)
  return book
}

export async function upsertAudit(db: Queryable, book: Book, at: Date): Promise<void> {
  await db.run(sql`
    insert into credit_audits as a (account_id, through_seq, balance, audited_at)
    values (${book.accountId}, ${book.throughSeq}, ${book.entered}, ${at})
    on conflict (account_id) do update set
      through_seq = excluded.through_seq, balance = excluded.balance, audited_at = excluded.audited_at
    where a.through_seq <= excluded.through_seq`)
}

export async function updateSuspended(
  db: Queryable,
  accountId: string,
  at: Date | null,
): Promise<void> {
  await db.run(sql`
    update credit_accounts set suspended_at = ${at} where account_id = ${accountId}`)
}

/**
 * Lets calls of suspended accounts be charged again whose balance is the sum of their entries, and
 * returns their ids. An account with an entry under way may be left out.
 */
export async function resumeRepaired(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    update credit_accounts set suspended_at = null
    where account_id in (
      select c.account_id from credit_accounts c
      where c.suspended_at is not null and c.balance =
        coalesce((select sum(delta) from credit_archived_sums s where s.account_id = c.account_id), 0)
        + coalesce((select sum(delta) from credit_entries e where e.account_id = c.account_id), 0)
      order by c.account_id limit ${limit} for update of c)
    returning account_id as id`)
  return rows.map(({ id }) => id)
}

export interface UsageRow {
  /** YYYY-MM-DD in UTC. */
  day: string
  meter: string
  operation: string
  calls: number
  refunded: number
  credits: number
}

interface UsageFilter {
  accountId: string
  since: Date
  until: Date
  /** The row before the page. */
  after: Pick<UsageRow, 'day' | 'meter' | 'operation'> | null
  limit: number
}

/**
 * Returns a page of the charges of an account in [since, until), less its refunds. `sum` has the
 * credits of all pages.
 */
export function findUsage(
  db: Queryable,
  { accountId, since, until, after, limit }: UsageFilter,
): Promise<(UsageRow & { sum: number })[]> {
  const { day, meter, operation } = after ?? { day: '', meter: '', operation: '' }
  return db.rows<UsageRow & { sum: number }>(sql`
    select * from (
      select day, meter, operation,
        count(*) filter (where kind = 'charge') as calls, count(*) filter (where kind = 'void') as refunded,
        -sum(delta)::bigint as credits, -sum(sum(delta)) over ()::bigint as sum
      from credit_entries
      cross join lateral to_char(at at time zone 'UTC', 'YYYY-MM-DD') as day
      where account_id = ${accountId} and kind in ('charge', 'void') and at >= ${since} and at < ${until}
      group by day, meter, operation) as used
    where (day, meter, operation) > (${day}, ${meter}, ${operation})
    order by day, meter, operation limit ${limit}`)
}

/** All SQL of `accounts`, `api_keys` and `api_key_uses`. */
import type { Environment, Scope } from '../../edge/http/callers.ts'
import { fragment, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { bytesArray } from '../../platform/db/sql-arrays.ts'
import { keyDigest } from './api-key.ts'

export interface Account {
  id: string
  name: string
  createdAt: Date
}

/** Returns false if the name is in use. */
export async function insertAccount(tx: Tx, { id, name, createdAt }: Account): Promise<boolean> {
  const count = await tx.run(sql`
    insert into accounts (id, name, created_at) values (${id}, ${name}, ${createdAt})
    on conflict (name) do nothing`)
  return count === 1
}

/** Finds an account by id or by name. */
export async function findAccount(db: Queryable, named: string): Promise<Account | undefined> {
  const [account] = await db.rows<Account>(sql`
    select id, name, created_at as "createdAt" from accounts
    where id::text = ${named} or name = ${named} order by id::text = ${named} desc limit 1`)
  return account
}

/** Returns the names of accounts by id. Unknown ids are left out. */
export async function findAccountNames(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.rows<{ id: string; name: string }>(sql`
    select id, name from accounts where id = any(${ids}::uuid[])`)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

interface ListedAccount extends Account {
  activeKeys: number
  /** Credits. */
  balance: number
  isSuspended: boolean
}

/** Returns accounts in the order of their names: those after the account `after`, or one. */
export function findAccounts(
  db: Queryable,
  {
    id = null,
    after = null,
    limit,
    now,
  }: { id?: string | null; after?: string | null; limit: number; now: Date },
): Promise<ListedAccount[]> {
  return db.rows<ListedAccount>(sql`
    select a.id, a.name, a.created_at as "createdAt", coalesce(c.balance, 0) as balance,
      c.suspended_at is not null as "isSuspended",
      (select count(*) from api_keys k where k.account_id = a.id and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > ${now})) as "activeKeys"
    from accounts a left join credit_accounts c on c.account_id = a.id
    where (${id}::uuid is null or a.id = ${id})
      and (${after}::uuid is null or a.name > (select name from accounts where id = ${after}))
    order by a.name limit ${limit}`)
}

/**
 * Locks an account, so that its keys are created one at a time. Returns false if there is no such
 * account.
 */
export async function lockAccount(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx.rows(sql`select id from accounts where id = ${id} for update`)
  return rows.length === 1
}

export interface StoredKey {
  id: string
  accountId: string
  environment: Environment
  shown: string
  name: string
  scopes: Scope[]
  /** Networks such as `192.0.2.0/24`, or null for any address. */
  allowedFrom: string[] | null
  predecessor: string | null
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
}

export async function insertKey(
  tx: Tx,
  key: Omit<StoredKey, 'revokedAt' | 'lastUsedAt'> & { digest: Buffer },
): Promise<void> {
  await tx.run(sql`
    insert into api_keys (id, account_id, environment, digest, shown, name, scopes, allowed_from,
      predecessor, created_at, expires_at)
    values (${key.id}, ${key.accountId}, ${key.environment}, ${key.digest}, ${key.shown},
      ${key.name}, ${key.scopes}, ${key.allowedFrom}, ${key.predecessor}, ${key.createdAt},
      ${key.expiresAt})`)
}

const keyColumns = fragment`k.id, k.account_id as "accountId", k.environment, k.shown, k.name,
  k.scopes, k.allowed_from as "allowedFrom", k.predecessor, k.created_at as "createdAt",
  k.expires_at as "expiresAt", k.revoked_at as "revokedAt", u.last_used_at as "lastUsedAt"`

/** Returns the keys of an account, newest first: all, or a page of those after the key `after`. */
export function findKeys(
  db: Queryable,
  accountId: string,
  { after = null, limit = null }: { after?: string | null; limit?: number | null } = {},
): Promise<StoredKey[]> {
  return db.rows<StoredKey>(sql`
    select ${keyColumns}
    from api_keys k left join api_key_uses u on u.key_id = k.id
    where k.account_id = ${accountId} and (${after}::uuid is null
      or (k.created_at, k.id) < (select created_at, id from api_keys where id = ${after}))
    order by k.created_at desc, k.id desc limit ${limit}`)
}

/** Returns the number of keys of an account, or of all, that are valid at `now`. */
export async function countActiveKeys(
  db: Queryable,
  accountId: string | null,
  now: Date,
): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*) from api_keys where (${accountId}::uuid is null or account_id = ${accountId})
      and revoked_at is null and (expires_at is null or expires_at > ${now})`)
  return row?.count ?? 0
}

export async function hasSuccessor(db: Queryable, id: string): Promise<boolean> {
  return (await db.run(sql`select from api_keys where predecessor = ${id}`)) > 0
}

/** Returns the key with this text, or the newest of those that are shown with it. */
export async function findKeyByText(db: Queryable, text: string): Promise<StoredKey | undefined> {
  const [key] = await db.rows<StoredKey>(sql`
    select ${keyColumns}
    from api_keys k left join api_key_uses u on u.key_id = k.id
    where k.digest = ${keyDigest(text)} or k.shown = ${text}
    order by k.digest = ${keyDigest(text)} desc nulls last, k.created_at desc limit 1`)
  return key
}

/** Returns a key of this account, or of any if it is null. */
export async function findOwnKey(
  db: Queryable,
  { id, accountId }: { id: string; accountId: string | null },
): Promise<StoredKey | undefined> {
  const [key] = await db.rows<StoredKey>(sql`
    select ${keyColumns}
    from api_keys k left join api_key_uses u on u.key_id = k.id
    where k.id = ${id} and (${accountId}::uuid is null or k.account_id = ${accountId})`)
  return key
}

/** Returns the keys of an account that are valid at `now`, and its newest ended ones. */
export function findShownKeys(
  db: Queryable,
  { accountId, now, endedMax }: { accountId: string; now: Date; endedMax: number },
): Promise<StoredKey[]> {
  return db.rows<StoredKey>(sql`
    with shown as (
      select * from api_keys
      where account_id = ${accountId} and revoked_at is null
        and (expires_at is null or expires_at > ${now})
      union all
      (select * from api_keys
      where account_id = ${accountId} and (revoked_at is not null or expires_at <= ${now})
      order by created_at desc, id desc limit ${endedMax})
    )
    select ${keyColumns}
    from shown k left join api_key_uses u on u.key_id = k.id
    order by k.created_at desc, k.id desc`)
}

export type LockedKey = Omit<StoredKey, 'lastUsedAt'>

/**
 * Locks a key until the end of the transaction. The second of two concurrent changes sees the
 * result of the first.
 */
export async function lockKey(tx: Tx, id: string): Promise<LockedKey | undefined> {
  const [key] = await tx.rows<LockedKey>(sql`
    select id, account_id as "accountId", environment, shown, name, scopes,
      allowed_from as "allowedFrom", predecessor,
      created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt"
    from api_keys where id = ${id} for update`)
  return key
}

export async function updateKeyEnd(
  tx: Tx,
  { id, expiresAt, revokedAt }: Pick<StoredKey, 'id' | 'expiresAt' | 'revokedAt'>,
): Promise<void> {
  await tx.run(sql`
    update api_keys set expires_at = ${expiresAt}, revoked_at = ${revokedAt} where id = ${id}`)
}

export async function updateAllowedFrom(
  tx: Tx,
  id: string,
  allowedFrom: readonly string[] | null,
): Promise<void> {
  await tx.run(sql`update api_keys set allowed_from = ${allowedFrom} where id = ${id}`)
}

export interface ValidKey {
  /** Lowercase hex. */
  digest: string
  id: string
  accountId: string
  environment: Environment
  scopes: readonly Scope[]
  /** Networks such as `192.0.2.0/24`, or null for any address. */
  allowedFrom: readonly string[] | null
  balance: number
  suspended: boolean
}

/**
 * Returns the keys with these digests, in lowercase hex, that are valid now. Each digest costs one
 * index probe: without `lateral … offset 0`, the planner reads all active keys by another index as
 * long as the table has no statistics. Includes the balance of the account, although that table
 * belongs to the credits: a second round trip would cost more than everything else (decision D15).
 */
export function findValidKeys(
  db: Queryable,
  digests: readonly string[],
  now: Date,
): Promise<ValidKey[]> {
  return db.rows<ValidKey>(sql`
    select encode(k.digest, 'hex') as digest, k.id, k.account_id as "accountId", k.environment,
      k.scopes, k.allowed_from as "allowedFrom", coalesce(c.balance, 0) as balance,
      c.suspended_at is not null as suspended
    from unnest(${bytesArray(digests)}::bytea[]) as presented(digest)
    cross join lateral (select * from api_keys where digest = presented.digest offset 0) as k
    left join lateral (
      select balance, suspended_at from credit_accounts
      where account_id = k.account_id offset 0) as c on true
    where k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})`)
}

/** Returns the key of this digest if it is revoked or has expired, with its successor. */
export async function findEndedKey(
  db: Queryable,
  digest: Buffer,
  now: Date,
): Promise<
  { id: string; accountId: string; endedAt: Date; successorId: string | null } | undefined
> {
  const [row] = await db.rows<{
    id: string
    accountId: string
    endedAt: Date
    successorId: string | null
  }>(sql`
    select k.id, k.account_id as "accountId", least(k.revoked_at, k.expires_at) as "endedAt",
      (select s.id from api_keys s where s.predecessor = k.id) as "successorId"
    from api_keys k
    where k.digest = ${digest} and least(k.revoked_at, k.expires_at) <= ${now}`)
  return row
}

/**
 * Records the last use of each key. Never moves it back in time, because several nodes write.
 * Writes in the order of ids, so that two nodes cannot deadlock.
 */
export async function updateKeyUses(db: Queryable, uses: ReadonlyMap<string, Date>): Promise<void> {
  await db.run(sql`
    insert into api_key_uses as u (key_id, last_used_at)
    select key_id, at
    from unnest(${[...uses.keys()]}::uuid[], ${[...uses.values()]}::timestamptz[]) as used(key_id, at)
    order by key_id
    on conflict (key_id) do update set last_used_at = greatest(u.last_used_at, excluded.last_used_at)`)
}

interface EndingKey {
  accountId: string
  name: string
  expiresAt: Date
}

/** Returns the keys without a successor that end within a week. */
export function findEndingKeys(db: Queryable, now: Date): Promise<EndingKey[]> {
  return db.rows<EndingKey>(sql`
    select account_id as "accountId", name, expires_at as "expiresAt" from api_keys k
    where revoked_at is null and expires_at > ${now}
      and expires_at <= ${now}::timestamptz + interval '7 days'
      and not exists (select from api_keys s where s.predecessor = k.id and s.revoked_at is null)
    order by expires_at, id`)
}

/** All SQL of `signing_keys`. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { KeyState, SigningKey } from './trust.ts'

interface RegisteredKey extends SigningKey {
  /** Time at which all credentials of this revoked key were revoked, or null if they were kept. */
  credentialsRevokedAt: Date | null
}

export function findKeys(db: Queryable): Promise<RegisteredKey[]> {
  return db.rows<RegisteredKey>(sql`
    select kid, public_key as "publicKey", state, created_at as "createdAt",
      activated_at as "activatedAt", retired_at as "retiredAt", revoked_at as "revokedAt",
      credentials_revoked_at as "credentialsRevokedAt"
    from signing_keys order by created_at, kid`)
}

/**
 * Serialises changes of keys. Every change takes this lock first, so two rotations cannot
 * interleave.
 */
export async function lockKeys(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('signing_keys'))`)
}

/**
 * Makes changes of keys wait until this transaction ends. Transactions that hold this shared lock
 * do not wait for each other. The lock queue is fair, so continuous issuing cannot delay a
 * revocation without end.
 */
export async function holdKeys(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock_shared(hashtext('signing_keys'))`)
}

export async function insertKey(tx: Tx, key: SigningKey): Promise<void> {
  await tx.run(sql`
    insert into signing_keys (kid, public_key, state, created_at, activated_at)
    values (${key.kid}, ${key.publicKey}, ${key.state}, ${key.createdAt}, ${key.activatedAt})`)
}

/**
 * Moves a key to the state `to` and sets the time of the move. Returns false if its state was none
 * of `from`.
 */
export async function moveKey(
  tx: Tx,
  kid: string,
  move: { from: readonly KeyState[]; to: KeyState; at: Date },
): Promise<boolean> {
  const { from, to, at } = move
  const moved = await tx.run(sql`
    update signing_keys set state = ${to},
      activated_at = case when ${to} = 'active' then ${at} else activated_at end,
      retired_at = case when ${to} = 'retired' then ${at} else retired_at end,
      revoked_at = case when ${to} = 'revoked' then ${at} else revoked_at end
    where kid = ${kid} and state = any(${from}::text[])`)
  return moved === 1
}

export interface UnmarkedKey {
  kid: string
  /** Id of the last score that was looked at. */
  markedTo: Buffer
}

/**
 * Returns a revoked key whose credentials are not all marked for replacement, and locks its row
 * until the transaction ends. A concurrent caller waits, and continues after the last page.
 */
export async function lockUnmarkedKey(tx: Tx): Promise<UnmarkedKey | undefined> {
  const [key] = await tx.rows<UnmarkedKey>(sql`
    select kid, reissues_marked_to as "markedTo" from signing_keys
    where state = 'revoked' and reissues_marked_at is null
    order by revoked_at, kid limit 1 for no key update`)
  return key
}

/** `markedAt` is null until the last page. */
export async function setKeyMarked(
  tx: Tx,
  { kid, markedTo }: UnmarkedKey,
  markedAt: Date | null,
): Promise<void> {
  await tx.run(sql`
    update signing_keys set reissues_marked_to = ${markedTo}, reissues_marked_at = ${markedAt}
    where kid = ${kid}`)
}

/**
 * Revokes all credentials of a revoked key. Returns false if they are revoked already, or if the
 * key is not revoked.
 */
export async function markCredentialsRevoked(tx: Tx, kid: string, at: Date): Promise<boolean> {
  const marked = await tx.run(sql`
    update signing_keys set credentials_revoked_at = ${at}
    where kid = ${kid} and state = 'revoked' and credentials_revoked_at is null`)
  return marked === 1
}

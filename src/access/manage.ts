/** The verbs on accounts and API keys. */
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import type { Environment, Scope } from '../platform/http/callers.ts'
import { keyDigest, newApiKey, shownKey } from './api-key.ts'
import {
  type Account,
  findKeys,
  insertAccount,
  insertKey,
  type LockedKey,
  lockAccount,
  lockKey,
  type StoredKey,
  updateAllowedFrom,
  updateKeyEnd,
} from './store.ts'

export const activeKeysMax = 20
const hourMs = 3_600_000

/** Creates an account. Returns null if the name is in use. */
export async function createAccount(tx: Tx, name: string, now: Date): Promise<Account | null> {
  const account = { id: uuidV7(now), name, createdAt: now }
  return (await insertAccount(tx, account)) ? account : null
}

export interface NewKey {
  accountId: string
  environment: Environment
  name: string
  scopes: readonly Scope[]
  /** Networks in the form of `networkText`, or null for any address. */
  allowedFrom: readonly string[] | null
  /** End of validity, or null if the key is valid until it is revoked. */
  expiresAt: Date | null
}

export type CreatedKey =
  /** `key` is shown only once. The database holds its digest only. */
  | { outcome: 'created'; id: string; key: string; shown: string }
  | { outcome: 'no such account' }
  | { outcome: 'too many keys' }

export function createApiKey(context: ActionContext, wanted: NewKey): Promise<CreatedKey> {
  return audited(context, 'api_keys.created', (tx, now) =>
    addKey(tx, { ...wanted, id: uuidV7(now) }, now),
  )
}

/**
 * Creates a key as `createApiKey` does, but only one for each `formValue`, the random value of a
 * form. Forms of one account take turns. The key of an earlier send cannot be shown again.
 */
export function createApiKeyOnce(
  context: ActionContext,
  { formValue, ...wanted }: NewKey & { formValue: string },
): Promise<CreatedKey | { outcome: 'created before'; id: string }> {
  return audited(context, 'api_keys.created', async (tx, now) => {
    const { accountId } = wanted
    const id = formKeyId(accountId, formValue)
    await lockAccount(tx, accountId)
    const keys = await findKeys(tx, accountId)
    if (keys.some((key) => key.id === id)) return unchanged({ outcome: 'created before', id })
    return addKey(tx, { ...wanted, id }, now)
  })
}

async function addKey(tx: Tx, wanted: NewKey & { id: string }, now: Date) {
  const { accountId, environment } = wanted
  if (!(await lockAccount(tx, accountId))) return unchanged({ outcome: 'no such account' })
  const active = (await findKeys(tx, accountId)).filter((key) => isActive(key, now))
  if (active.length >= activeKeysMax) return unchanged({ outcome: 'too many keys' })
  const created = await insertNew(tx, { ...wanted, predecessor: null }, now)
  const details = { account: accountId, environment }
  return changed(created, { subjects: [created.id], details })
}

async function insertNew(
  tx: Tx,
  wanted: NewKey & { id: string; predecessor: string | null },
  now: Date,
): Promise<Extract<CreatedKey, { outcome: 'created' }>> {
  const key = newApiKey(wanted.environment)
  const stored = {
    ...wanted,
    scopes: [...wanted.scopes],
    allowedFrom: wanted.allowedFrom && [...wanted.allowedFrom],
    shown: shownKey(key),
    digest: keyDigest(key),
    createdAt: now,
  }
  await insertKey(tx, stored)
  return { outcome: 'created', id: stored.id, key, shown: stored.shown }
}

/** Returns the id of the key that a form creates: a UUID of version 8, another in each account. */
function formKeyId(accountId: string, formValue: string): string {
  const bytes = sha256(`${accountId} ${formValue}`)
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x80
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

export type RotatedKey =
  | (Extract<CreatedKey, { outcome: 'created' }> & { accountId: string; predecessorEndsAt: Date })
  | { outcome: 'no such key' }
  | { outcome: 'not active' }
  | { outcome: 'rotated before' }

/**
 * Creates a successor with the same rights and name. The old key stays valid for `overlapHours`
 * more; with 0 it is revoked now. If the old key had an expiry, the successor is valid for the same
 * length of time.
 */
export function rotateApiKey(
  context: ActionContext,
  { id, overlapHours }: { id: string; overlapHours: number },
): Promise<RotatedKey> {
  return audited(context, 'api_keys.rotated', async (tx, now) => {
    const key = await lockKey(tx, id)
    if (key === undefined) return unchanged({ outcome: 'no such key' })
    if (!isActive(key, now)) return unchanged({ outcome: 'not active' })
    const others = await findKeys(tx, key.accountId)
    if (others.some(({ predecessor }) => predecessor === id))
      return unchanged({ outcome: 'rotated before' })
    const successor = await insertNew(tx, { ...successorOf(key, now), id: uuidV7(now) }, now)
    const end = Math.min(
      now.getTime() + overlapHours * hourMs,
      key.expiresAt?.getTime() ?? Infinity,
    )
    const predecessorEndsAt = new Date(end)
    await updateKeyEnd(
      tx,
      overlapHours === 0
        ? { id, expiresAt: key.expiresAt, revokedAt: now }
        : { id, expiresAt: predecessorEndsAt, revokedAt: null },
    )
    const details = { successor: successor.id, overlapHours }
    const rotated = { ...successor, accountId: key.accountId, predecessorEndsAt }
    return changed(rotated, { subjects: [id], account: key.accountId, details })
  })
}

function successorOf(key: LockedKey, now: Date): NewKey & { predecessor: string } {
  const { accountId, environment, name, scopes, allowedFrom, createdAt, expiresAt } = key
  const termMs = expiresAt === null ? null : expiresAt.getTime() - createdAt.getTime()
  const end = termMs === null ? null : new Date(now.getTime() + termMs)
  const rights = { environment, scopes, allowedFrom }
  return { accountId, name, ...rights, expiresAt: end, predecessor: key.id }
}

/**
 * Sets the networks from which a key may be used, effective on every node with the commit.
 * `allowedFrom` has the form of `networkText`; null allows any address.
 */
export function restrictApiKey(
  context: ActionContext,
  id: string,
  allowedFrom: readonly string[] | null,
): Promise<'restricted' | 'revoked' | 'unknown'> {
  return audited(context, 'api_keys.restricted', async (tx) => {
    const key = await lockKey(tx, id)
    if (key === undefined) return unchanged('unknown')
    if (key.revokedAt !== null) return unchanged('revoked')
    await updateAllowedFrom(tx, id, allowedFrom)
    const details = { networks: allowedFrom?.length ?? 0 }
    return changed('restricted', { subjects: [id], account: key.accountId, details })
  })
}

/** Revokes a key, effective on every node with the commit. */
export function revokeApiKey(
  context: ActionContext,
  id: string,
): Promise<'revoked' | 'before' | 'unknown'> {
  return audited(context, 'api_keys.revoked', async (tx, now) => {
    const key = await lockKey(tx, id)
    if (key === undefined) return unchanged('unknown')
    if (key.revokedAt !== null) return unchanged('before')
    await updateKeyEnd(tx, { id, expiresAt: key.expiresAt, revokedAt: now })
    return changed('revoked', { subjects: [id], account: key.accountId })
  })
}

export function isActive(key: Pick<StoredKey, 'expiresAt' | 'revokedAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now)
}

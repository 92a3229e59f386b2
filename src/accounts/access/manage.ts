/** The verbs on accounts and API keys. */
import { recordAction } from '../../audit/record.ts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import type { Tx } from '../../platform/db/db.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { keyDigest, newApiKey, shownKey } from './api-key.ts'
import {
  type Account,
  countActiveKeys,
  findOwnKey,
  hasSuccessor,
  insertAccount,
  insertKey,
  type LockedKey,
  lockAccount,
  lockKey,
  type StoredKey,
  updateAllowedFrom,
  updateKeyEnd,
  type ValidKey,
} from './store.ts'

export const activeKeysMax = 20
const hourMs = 3_600_000

/** Creates an account. Returns null if the name is in use. */
export async function createAccount(tx: Tx, name: string, now: Date): Promise<Account | null> {
  const account = { id: uuidV7(now), name, createdAt: now }
  return (await insertAccount(tx, account)) ? account : null
}

export interface NewKey
  extends Pick<ValidKey, 'accountId' | 'environment' | 'scopes' | 'allowedFrom'> {
  name: string
  /** End of validity, or null if the key is valid until it is revoked. */
  expiresAt: Date | null
}

/** `key` is shown only once. The database holds its digest only. */
export interface CreatedKey {
  id: string
  key: string
  shown: string
}

/**
 * Creates a key. With `formValue`, the random value of a form or an Idempotency-Key, there is one
 * key for each value: the key of an earlier send cannot be shown again.
 */
export async function createApiKey(
  tx: Tx,
  wanted: NewKey,
  { now, formValue = null }: { now: Date; formValue?: string | null },
): Promise<
  CreatedKey | Refusal<'account_not_found' | 'api_keys_maximum' | 'idempotency_key_spent'>
> {
  const { accountId } = wanted
  if (!(await lockAccount(tx, accountId))) return refuse('account_not_found')
  const id = formValue === null ? uuidV7(now) : formKeyId(accountId, formValue)
  if (formValue !== null && (await findOwnKey(tx, { id, accountId })) !== undefined)
    return refuse('idempotency_key_spent', { message: `The key ${id} was created before.` })
  if ((await countActiveKeys(tx, accountId, now)) >= activeKeysMax) return tooManyKeys()
  return insertNew(tx, { ...wanted, id, predecessor: null }, now)
}

function tooManyKeys(message?: string): Refusal<'api_keys_maximum'> {
  const cause = { count: activeKeysMax, max: activeKeysMax }
  return refuse('api_keys_maximum', { cause, ...(message !== undefined && { message }) })
}

/** Creates a key with its audit entry in the transaction of another action. */
export async function createRecordedKey(
  tx: Tx,
  wanted: NewKey,
  { actor, now }: { actor: string; now: Date },
): Promise<CreatedKey | null> {
  const created = await createApiKey(tx, wanted, { now })
  if ('refusal' in created) return null
  const details = { account: wanted.accountId, environment: wanted.environment }
  const entry = { action: 'api_keys.created', subjects: [created.id], details } as const
  await recordAction(tx, { ...entry, actor }, now)
  return created
}

async function insertNew(
  tx: Tx,
  wanted: NewKey & { id: string; predecessor: string | null },
  now: Date,
): Promise<CreatedKey> {
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
  return { id: stored.id, key, shown: stored.shown }
}

/** Returns the id of the key that a form creates: a UUID of version 8, another in each account. */
export function formKeyId(accountId: string, formValue: string): string {
  const bytes = sha256(`${accountId} ${formValue}`)
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x80
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

interface OfOwner {
  id: string
  owner: 'any' | { userId: string }
}

/** Locks a key. A key of another account is answered like an unknown one. */
async function lockOwn(tx: Tx, { id, owner }: OfOwner) {
  const key = await lockKey(tx, id)
  if (key !== undefined && (owner === 'any' || owner.userId === key.accountId)) return key
  return refuse(
    'api_key_not_found',
    owner === 'any' ? { message: `No API key has the id ${id}.` } : {},
  )
}

/**
 * Creates a successor with the same rights and name. The old key stays valid for `overlapHours`
 * more; with 0 it is revoked now, so that an account with its maximum of keys can replace one. If
 * the old key had an expiry, the successor is valid for the same length of time.
 */
export async function rotateApiKey(
  tx: Tx,
  { overlapHours, now, ...own }: OfOwner & { overlapHours: number; now: Date },
): Promise<
  | (CreatedKey & { accountId: string; predecessorEndsAt: Date })
  | Refusal<'api_key_not_found' | 'api_key_not_rotatable' | 'api_keys_maximum'>
> {
  const { id } = own
  const key = await lockOwn(tx, own)
  if ('refusal' in key) return key
  const { accountId } = key
  if (!isActive(key, now))
    return refuse('api_key_not_rotatable', {
      message: `The key ${id} is revoked or has expired. Create a new one.`,
    })
  if (await hasSuccessor(tx, id))
    return refuse('api_key_not_rotatable', {
      message: `The key ${id} has a successor already. Rotate the successor.`,
    })
  await lockAccount(tx, accountId)
  if (overlapHours > 0 && (await countActiveKeys(tx, accountId, now)) >= activeKeysMax)
    return tooManyKeys(
      `The account has ${activeKeysMax} active keys, its maximum. Without an overlap the key can be replaced.`,
    )
  const successor = await insertNew(tx, { ...successorOf(key, now), id: uuidV7(now) }, now)
  const end = Math.min(now.getTime() + overlapHours * hourMs, key.expiresAt?.getTime() ?? Infinity)
  const predecessorEndsAt = new Date(end)
  await updateKeyEnd(
    tx,
    overlapHours === 0
      ? { id, expiresAt: key.expiresAt, revokedAt: now }
      : { id, expiresAt: predecessorEndsAt, revokedAt: null },
  )
  return { ...successor, accountId, predecessorEndsAt }
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
export async function restrictApiKey(
  tx: Tx,
  own: OfOwner,
  allowedFrom: readonly string[] | null,
): Promise<{ accountId: string } | Refusal<'api_key_not_found' | 'api_key_revoked'>> {
  const key = await lockOwn(tx, own)
  if ('refusal' in key) return key
  if (key.revokedAt !== null)
    return refuse('api_key_revoked', {
      message: `The key ${own.id} is revoked. Nothing was changed.`,
    })
  await updateAllowedFrom(tx, own.id, allowedFrom)
  return { accountId: key.accountId }
}

/** Revokes a key, effective on every node with the commit. */
export async function revokeApiKey(
  tx: Tx,
  own: OfOwner,
  now: Date,
): Promise<{ changed: boolean; accountId: string } | Refusal<'api_key_not_found'>> {
  const key = await lockOwn(tx, own)
  if ('refusal' in key) return key
  const { accountId } = key
  if (key.revokedAt !== null) return { changed: false, accountId }
  await updateKeyEnd(tx, { id: own.id, expiresAt: key.expiresAt, revokedAt: now })
  return { changed: true, accountId }
}

export function isActive(key: Pick<StoredKey, 'expiresAt' | 'revokedAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now)
}

/** The operations on accounts and API keys. Each runs in the caller's transaction. */

import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import type { Environment, Scope } from '../platform/http/callers.ts'
import { keyDigest, newApiKey, shownKey } from './api-key.ts'
import { presentPepper, registerPepper } from './peppers.ts'
import {
  type Account,
  findKeys,
  insertAccount,
  insertKey,
  lockAccount,
  lockKey,
  type StoredKey,
  updateAllowedFrom,
  updateKeyEnd,
} from './store.ts'

export const activeKeysMax = 20
export const overlapHoursMax = 168
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

/**
 * Creates a key. Throws `PepperRefused` if this machine's pepper is not the one that the database
 * knows under that name.
 */
export async function createKey(
  tx: Tx,
  wanted: NewKey,
  { peppers, now }: { peppers: Keyring; now: Date },
): Promise<CreatedKey> {
  if (!(await lockAccount(tx, wanted.accountId))) return { outcome: 'no such account' }
  const active = (await findKeys(tx, wanted.accountId)).filter((key) => isActive(key, now))
  if (active.length >= activeKeysMax) return { outcome: 'too many keys' }
  return insertNew(tx, { ...wanted, predecessor: null }, { peppers, now })
}

async function insertNew(
  tx: Tx,
  wanted: NewKey & { predecessor: string | null },
  { peppers, now }: { peppers: Keyring; now: Date },
): Promise<Extract<CreatedKey, { outcome: 'created' }>> {
  const present = presentPepper(peppers)
  await registerPepper(tx, present, now)
  const key = newApiKey(wanted.environment)
  const stored = {
    ...wanted,
    id: uuidV7(now),
    scopes: [...wanted.scopes],
    allowedFrom: wanted.allowedFrom && [...wanted.allowedFrom],
    shown: shownKey(key),
    digest: keyDigest(key, present.pepper),
    pepper: present.kid,
    createdAt: now,
  }
  await insertKey(tx, stored)
  return { outcome: 'created', id: stored.id, key, shown: stored.shown }
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
export async function rotateKey(
  tx: Tx,
  { id, overlapHours }: { id: string; overlapHours: number },
  context: { peppers: Keyring; now: Date },
): Promise<RotatedKey> {
  const { now } = context
  const key = await lockKey(tx, id)
  if (key === undefined) return { outcome: 'no such key' }
  if (!isActive(key, now)) return { outcome: 'not active' }
  const others = await findKeys(tx, key.accountId)
  if (others.some(({ predecessor }) => predecessor === id)) return { outcome: 'rotated before' }
  const { accountId, environment, name, scopes, allowedFrom } = key
  const termMs = key.expiresAt === null ? null : key.expiresAt.getTime() - key.createdAt.getTime()
  const expiresAt = termMs === null ? null : new Date(now.getTime() + termMs)
  const rights = { environment, scopes, allowedFrom }
  const wanted = { accountId, name, ...rights, expiresAt, predecessor: id }
  const successor = await insertNew(tx, wanted, context)
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

/**
 * Sets the networks from which a key may be used, effective on every node with the commit.
 * `allowedFrom` has the form of `networkText`; null allows any address.
 */
export async function restrictKey(
  tx: Tx,
  id: string,
  allowedFrom: readonly string[] | null,
): Promise<'restricted' | 'revoked' | 'unknown'> {
  const key = await lockKey(tx, id)
  if (key === undefined) return 'unknown'
  if (key.revokedAt !== null) return 'revoked'
  await updateAllowedFrom(tx, id, allowedFrom)
  return 'restricted'
}

/** Revokes a key, effective on every node with the commit. */
export async function revokeKey(
  tx: Tx,
  id: string,
  now: Date,
): Promise<'revoked' | 'before' | 'unknown'> {
  const key = await lockKey(tx, id)
  if (key === undefined) return 'unknown'
  if (key.revokedAt !== null) return 'before'
  await updateKeyEnd(tx, { id, expiresAt: key.expiresAt, revokedAt: now })
  return 'revoked'
}

export function isActive(key: Pick<StoredKey, 'expiresAt' | 'revokedAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now)
}

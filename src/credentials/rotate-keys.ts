/**
 * The states of a signing key: pending (published, does not sign) → active (signs) → retired (its
 * signatures verify for ever). Any state → revoked (compromised). The private half is never stored
 * in the database; it stays in the caller's key folder.
 */
import { wireTime } from '../platform/clock.ts'
import type { Queryable, Tx } from '../platform/db/db.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import { findKeys, insertKey, lockKeys, markCredentialsRevoked, moveKey } from './key-store.ts'
import { raiseAllRevisions } from './list-store.ts'
import { KeyRefused, publicKeyOfKid, trustedPublicKey } from './signing-key.ts'
import type { SigningKey } from './trust.ts'

/**
 * A new key is published for this time before it signs: twice the longest time that a cache keeps
 * the key documents.
 */
export const publishedBeforeUseSeconds = 600

/**
 * Registers a key. The first key is active at once, because no cache can hold an older document;
 * later keys are pending. Throws `KeyRefused` for an unsound key: if it were in the table, no
 * process could read the table any more.
 */
export async function createSigningKey(
  tx: Tx,
  kid: string,
  now: Date,
): Promise<{ key: SigningKey; isNew: boolean }> {
  await lockKeys(tx)
  const keys = await findKeys(tx)
  const known = keys.find((key) => key.kid === kid)
  if (known !== undefined) return { key: known, isNew: false }
  const publicKey = publicKeyOfKid(kid)
  if (publicKey === null) throw new KeyRefused(`${kid} is not an Ed25519 key id`)
  trustedPublicKey(publicKey)
  const isFirst = keys.every((key) => key.state !== 'active' && key.state !== 'pending')
  const state = isFirst ? 'active' : 'pending'
  const times = { createdAt: now, activatedAt: isFirst ? now : null }
  const key: SigningKey = { kid, publicKey, state, ...times, retiredAt: null, revokedAt: null }
  await insertKey(tx, key)
  return { key, isNew: true }
}

/**
 * Activates the oldest pending key and retires the active one. With `atOnce` it does not wait until
 * caches hold the new key.
 */
export async function rotateSigningKeys(
  tx: Tx,
  { atOnce, now }: { atOnce: boolean; now: Date },
): Promise<
  | { active: string; retired: string | null }
  | Refusal<'signing_key_not_pending' | 'signing_key_too_new'>
> {
  await lockKeys(tx)
  const keys = await findKeys(tx)
  const next = keys.find((key) => key.state === 'pending')
  const before = keys.find((key) => key.state === 'active')
  if (next === undefined) return refuse('signing_key_not_pending')
  const readyAt = new Date(next.createdAt.getTime() + publishedBeforeUseSeconds * 1_000)
  if (!atOnce && before !== undefined && now < readyAt)
    return refuse('signing_key_too_new', {
      message: `Too early: before ${wireTime(readyAt)}, verifiers that cache the key document may not know the new key.`,
    })
  if (before !== undefined) await move(tx, before, 'retired', now)
  await move(tx, next, 'active', now)
  return { active: next.kid, retired: before?.kid ?? null }
}

/**
 * Revokes a compromised key and, unless `keepCredentials`, every credential that it signed
 * (decision D57). Makes all lists due: those that the key signed, and those that hold its
 * credentials. Waits for transactions that are issuing, so the lists miss no credential. Returns
 * false if the key is unknown or revoked already.
 */
export async function revokeSigningKey(
  tx: Tx,
  kid: string,
  { keepCredentials, now }: { keepCredentials: boolean; now: Date },
): Promise<boolean> {
  await lockKeys(tx)
  const from = ['pending', 'active', 'retired'] as const
  if (!(await moveKey(tx, kid, { from, to: 'revoked', at: now }))) return false
  if (!keepCredentials) await markCredentialsRevoked(tx, kid, now)
  await raiseAllRevisions(tx, now)
  return true
}

/**
 * Revokes the credentials that were kept when their key was revoked. Returns false if the key is
 * not revoked or its credentials are revoked already.
 */
export async function revokeCredentialsOfKey(tx: Tx, kid: string, now: Date): Promise<boolean> {
  await lockKeys(tx)
  if (!(await markCredentialsRevoked(tx, kid, now))) return false
  await raiseAllRevisions(tx, now)
  return true
}

/**
 * Throws unless the key is active. A signature of a retired or revoked key would never verify, so a
 * process that still holds a rotated key must not sign with it.
 */
export async function requireActiveKey(db: Queryable, kid: string): Promise<void> {
  const key = (await findKeys(db)).find((key) => key.kid === kid)
  if (key?.state !== 'active')
    throw new Error(`signing key ${kid} is ${key?.state ?? 'not registered'}, not active`)
}

async function move(tx: Tx, key: SigningKey, to: 'active' | 'retired', at: Date): Promise<void> {
  const moved = await moveKey(tx, key.kid, { from: [key.state], to, at })
  if (!moved) throw new Error(`signing key ${key.kid} is no longer ${key.state}`)
}

/**
 * The peppers of API keys. They are in the settings or in a file, never in the database. The
 * database holds their fingerprints, so a machine can check that its peppers are the ones that made
 * the keys.
 */
import { createHmac } from 'node:crypto'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Queryable, Tx } from '../platform/db/db.ts'
import { findPepper, findPeppersInUse, insertPepper, type Pepper } from './store.ts'

/** Thrown if this machine lacks a pepper or has other bytes under its name. */
export class PepperRefused extends Error {
  override readonly name = 'PepperRefused'
}

export interface NamedPepper {
  kid: string
  pepper: Uint8Array
}

export function presentPepper(ring: Keyring): NamedPepper {
  const [first] = ring
  if (first === undefined) throw new PepperRefused('There is no pepper for API keys.')
  return { kid: first[0], pepper: first[1] }
}

export interface MissingPepper {
  kid: string
  /** Tells the operator which pepper is missing and where to copy it from. */
  message: string
}

/**
 * Returns the peppers of active keys that this keyring cannot check, because it lacks the pepper or
 * has other bytes under its name. A key that the keyring does not find may have been made with one
 * of them.
 */
export async function findMissingPeppers(
  db: Queryable,
  ring: Keyring,
  now: Date,
): Promise<MissingPepper[]> {
  const used = await findPeppersInUse(db, now)
  return used
    .map((pepper) => ({ kid: pepper.kid, message: missingMessage(pepper, ring.get(pepper.kid)) }))
    .filter((one): one is MissingPepper => one.message !== null)
}

/**
 * Records the pepper with which keys are made from now on. Throws `PepperRefused` if other bytes
 * are recorded under its name.
 */
export async function registerPepper(
  tx: Tx,
  { kid, pepper }: NamedPepper,
  at: Date,
): Promise<void> {
  await insertPepper(tx, { kid, fingerprint: fingerprintOf(pepper) }, at)
  const used = await findPepper(tx, kid)
  const message = used === undefined ? null : missingMessage(used, pepper)
  if (message !== null) throw new PepperRefused(message)
}

/** Returns null if `pepper` is the one that made the keys. */
function missingMessage(
  { kid, fingerprint }: Pepper,
  pepper: Uint8Array | undefined,
): string | null {
  if (pepper !== undefined && fingerprintOf(pepper).equals(fingerprint)) return null
  return `API keys of this database were made with the pepper ${kid}, and this machine ${pepper === undefined ? 'lacks it' : 'has another one by that name'}. Copy it from where they were made: the file api-key-peppers in the data directory, or the setting API_KEY_PEPPERS.`
}

/**
 * Returns a value that identifies a pepper and reveals nothing else, because a pepper has 256
 * random bits.
 */
function fingerprintOf(pepper: Uint8Array): Buffer {
  return createHmac('sha256', pepper).update('fingerprint of an API key pepper').digest()
}

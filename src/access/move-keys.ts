/**
 * Keys move to the present pepper of the ring when they are used. A server leaves the new digest, with a proof that it holds the pepper, in
 * `api_key_moves`; a worker takes it over. Lost on the way, it is left again by the next use.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { type NamedPepper, presentPepper, registerPepper } from './peppers.ts'
import { insertMoves, type KeyMove, takeMoves, updateDigests } from './store.ts'

/** `digest`: of the key under the present pepper. */
export type Moving = Pick<KeyMove, 'keyId' | 'digest'>

export function leaveMoves(db: Db, ring: Keyring, moving: readonly Moving[]): Promise<void> {
  const present = presentPepper(ring)
  const moves = moving.map(({ keyId, digest }) => ({
    keyId,
    digest,
    pepper: present.kid,
    proof: proofOf(present, { keyId, digest }),
  }))
  return insertMoves(db, moves)
}

/** Ids of one entry in the audit log at most. */
const batchMax = 100

/** Moves what can be shown to be right, forgets the rest, and returns the ids of the keys that moved. */
export async function moveKeys(tx: Tx, ring: Keyring, now: Date): Promise<string[]> {
  const present = presentPepper(ring)
  const moves = await takeMoves(tx, batchMax)
  const proven = moves.filter(
    (move) => move.pepper === present.kid && timingSafeEqual(proofOf(present, move), move.proof),
  )
  if (proven.length === 0) return []
  await registerPepper(tx, present, now)
  return updateDigests(tx, present.kid, proven)
}

function proofOf({ pepper }: NamedPepper, { keyId, digest }: Moving): Buffer {
  const said = `move of the API key ${keyId} to ${digest.toString('hex')}`
  return createHmac('sha256', pepper).update(said).digest()
}

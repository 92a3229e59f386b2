/**
 * Moves keys to the present pepper of the keyring when they are used. The server writes the new
 * digest to `api_key_moves`, with a proof that it holds the pepper. The jobs process applies it. A
 * move that is lost is proposed again at the next use of the key.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { type NamedPepper, presentPepper, registerPepper } from './peppers.ts'
import { insertMoves, type KeyMove, takeMoves, updateDigests } from './store.ts'

/** `digest` is the digest of the key under the present pepper. */
export type PendingMove = Pick<KeyMove, 'keyId' | 'digest'>

export function proposeMoves(
  db: Db,
  ring: Keyring,
  pendingMoves: readonly PendingMove[],
): Promise<void> {
  const present = presentPepper(ring)
  const moves = pendingMoves.map(({ keyId, digest }) => ({
    keyId,
    digest,
    pepper: present.kid,
    proof: proofOf(present, { keyId, digest }),
  }))
  return insertMoves(db, moves)
}

/** Maximum number of key ids in one entry of the audit log. */
const batchMax = 100

/**
 * Applies the moves whose proof is right, discards the others, and returns the ids of the keys that
 * moved.
 */
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

function proofOf({ pepper }: NamedPepper, { keyId, digest }: PendingMove): Buffer {
  const said = `move of the API key ${keyId} to ${digest.toString('hex')}`
  return createHmac('sha256', pepper).update(said).digest()
}

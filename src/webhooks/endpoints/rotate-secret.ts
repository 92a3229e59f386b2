/**
 * A new signing secret without a gap. First it is announced: the old one still signs the header of the specification, the new one a
 * header beside it. From `signsFrom` on the new one signs, and the old one beside it until it ends. Nobody needs to act at a moment.
 *
 * A leaked secret is replaced instead: the new one signs from the commit on, and every older one signs nothing any more.
 */

import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Tx } from '../../platform/db/db.ts'
import {
  beforeEveryClock,
  dropOlderSecrets,
  findNewestSecretVersion,
  findSecrets,
  insertSecret,
  lockEndpoint,
  moveSecrets,
} from '../delivery/endpoint-store.ts'
import { newSecret, sealSecret, secretPrefix } from '../delivery/secret.ts'

const dayMs = 86_400_000
/** How long the new secret is announced at most, unless it is promoted earlier. */
export const announcedHoursMax = 168
/** How long the old one signs beside the new one. */
const overlapMs = dayMs

export type Rotated =
  | { outcome: 'rotated'; secret: string; signsFrom: Date }
  | { outcome: 'no such endpoint' | 'disabled' | 'a rotation is under way' }

/** The secret is told here and never again. */
export async function rotateSecret(
  tx: Tx,
  { endpointId, ring, at, announcedHours = 24 }: Rotation,
): Promise<Rotated> {
  const endpoint = await lockEndpoint(tx, { endpointId, owner: 'any' })
  if (endpoint === undefined) return { outcome: 'no such endpoint' }
  if (endpoint.disabledAt !== null) return { outcome: 'disabled' }
  const known = await findSecrets(tx, [endpointId], at)
  if (known.length > 1) return { outcome: 'a rotation is under way' }
  const version = (known.at(-1)?.version ?? 0) + 1
  const signsFrom = new Date(at.getTime() + announcedHours * 3_600_000)
  const secret = await addSecret(tx, { endpointId, version, ring, signsFrom })
  await switchAt(tx, { endpointId, newest: version, at: signsFrom })
  return { outcome: 'rotated', secret, signsFrom }
}

export interface Rotation {
  endpointId: string
  ring: Keyring
  at: Date
  /** 0 for at once. */
  announcedHours?: number
}

export type Replaced =
  | { outcome: 'replaced'; secret: string }
  | { outcome: 'no such endpoint' | 'replaced by another operator' }

/**
 * Replaces the signing secret, also during a rotation and for a disabled endpoint. After the commit `untilNothingStarts` resolves when no
 * delivery that was claimed before begins with an older secret.
 *
 * If two operators replace a secret at the same time, the second is refused: it would drop the secret that the first has just been shown.
 */
export async function replaceSecret(
  tx: Tx,
  { endpointId, ring }: Pick<Rotation, 'endpointId' | 'ring'>,
): Promise<Replaced> {
  const before = await findNewestSecretVersion(tx, endpointId)
  if ((await lockEndpoint(tx, { endpointId, owner: 'any' })) === undefined)
    return { outcome: 'no such endpoint' }
  if ((await findNewestSecretVersion(tx, endpointId)) !== before)
    return { outcome: 'replaced by another operator' }
  const version = before + 1
  const secret = await addSecret(tx, { endpointId, version, ring, signsFrom: beforeEveryClock })
  await dropOlderSecrets(tx, { endpointId, newest: version })
  return { outcome: 'replaced', secret }
}

interface AddedSecret {
  endpointId: string
  version: number
  ring: Keyring
  signsFrom: Date
}

async function addSecret(
  tx: Tx,
  { endpointId, version, ring, signsFrom }: AddedSecret,
): Promise<string> {
  const secret = newSecret()
  const prefix = secretPrefix(secret)
  const sealed = sealSecret(secret, { endpointId, version }, ring)
  await insertSecret(tx, { endpointId, version, prefix, ...sealed, signsFrom })
  return secret
}

/** The announced secret signs from now on. False where none is announced. */
export async function activateSecret(tx: Tx, endpointId: string, at: Date): Promise<boolean> {
  const endpoint = await lockEndpoint(tx, { endpointId, owner: 'any' })
  if (endpoint === undefined) return false
  const newest = (await findSecrets(tx, [endpointId], at)).at(-1)
  if (newest === undefined || newest.signsFrom <= at) return false
  await switchAt(tx, { endpointId, newest: newest.version, at })
  return true
}

function switchAt(
  tx: Tx,
  { endpointId, newest, at }: { endpointId: string; newest: number; at: Date },
): Promise<void> {
  const overlapEndsAt = new Date(at.getTime() + overlapMs)
  return moveSecrets(tx, { endpointId, newest, at, overlapEndsAt })
}

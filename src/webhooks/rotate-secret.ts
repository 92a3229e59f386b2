/**
 * A new signing secret without a gap. First it is announced: the old one still signs the header of the specification, the new one a
 * header beside it. From `signsFrom` on the new one signs, and the old one beside it until it ends. Nobody needs to act at a moment.
 */
import type { Tx } from '../platform/db.ts'
import type { Keyring } from '../platform/keyring.ts'
import { findSecrets, insertSecret, lockEndpoint, moveSecrets } from './endpoint-store.ts'
import { newSecret, sealSecret, secretPrefix } from './secret.ts'

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
  const endpoint = await lockEndpoint(tx, endpointId)
  if (endpoint === undefined) return { outcome: 'no such endpoint' }
  if (endpoint.disabledAt !== null) return { outcome: 'disabled' }
  const known = await findSecrets(tx, [endpointId], at)
  if (known.length > 1) return { outcome: 'a rotation is under way' }
  const version = (known.at(-1)?.version ?? 0) + 1
  const secret = newSecret()
  const signsFrom = new Date(at.getTime() + announcedHours * 3_600_000)
  await insertSecret(tx, {
    endpointId,
    version,
    prefix: secretPrefix(secret),
    ...sealSecret(secret, { endpointId, version }, ring),
    signsFrom,
  })
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

/** The announced secret signs from now on. False where none is announced. */
export async function promoteSecret(tx: Tx, endpointId: string, at: Date): Promise<boolean> {
  const endpoint = await lockEndpoint(tx, endpointId)
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

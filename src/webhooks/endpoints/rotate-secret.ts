/**
 * Rotates or replaces a signing secret.
 *
 * A rotation has no gap and no moment at which the receiver must act. At first the new secret is
 * announced: the old one still signs the specified header, and the new one signs an additional
 * header. From `signsFrom` on the roles are swapped, until the old secret ends.
 *
 * A leaked secret is replaced: from the commit on, only the new secret signs.
 */
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import {
  beforeEveryClock,
  dropOlderSecrets,
  type EndpointOf,
  type EndpointState,
  findNewestSecret,
  findSecrets,
  insertSecret,
  moveSecrets,
  type NewSecretRow,
} from '../delivery/endpoint-store.ts'
import { lockActive, lockKnown } from '../delivery/own-endpoint.ts'
import { newSecret, sealSecret, secretPrefix } from '../delivery/secret.ts'
import { findEndpoints } from './store.ts'

const dayMs = 86_400_000
/** Maximum time of the announcement. `activateSecret` ends it earlier. */
export const announcedHoursMax = 168
/** Time for which the old secret signs the additional header. */
const overlapMs = dayMs

export type Rotated =
  | { endpoint: EndpointState; secret: string; signsFrom: Date }
  | Refusal<'webhook_endpoint_not_found' | 'webhook_endpoint_disabled' | 'webhook_secret_rotating'>

/** Starts a rotation. Returns the new secret, which is never shown again. */
export async function rotateSecret(
  tx: Tx,
  { ring, at, announcedHours = 24, ...of }: Rotation,
): Promise<Rotated> {
  const endpoint = await lockActive(tx, of)
  if ('refusal' in endpoint) return endpoint
  const { endpointId } = of
  const known = await findSecrets(tx, [endpointId], at)
  if (known.length > 1)
    return refuse('webhook_secret_rotating', {
      message: `${endpointId}: A rotation is under way.`,
    })
  const version = (known.at(-1)?.version ?? 0) + 1
  const signsFrom = new Date(at.getTime() + announcedHours * 3_600_000)
  const secret = await addSecret(tx, { endpointId, version, ring, signsFrom })
  await switchAt(tx, { endpointId, newest: version, at: signsFrom })
  return { endpoint, secret, signsFrom }
}

export interface Rotation extends EndpointOf {
  ring: Keyring
  at: Date
  /** 0: the new secret signs at once. */
  announcedHours?: number
}

export type Replaced =
  | { endpoint: EndpointState; secret: string }
  | Refusal<'webhook_endpoint_not_found' | 'webhook_secret_changed'>

/**
 * Replaces the signing secret, also during a rotation and for a disabled endpoint. After the
 * commit, `untilNothingStarts` resolves when no earlier claimed delivery can start with an older
 * secret.
 *
 * If two operators replace a secret at the same time, the second is refused, because it would drop
 * the secret that the first operator has just received. A caller that names the secret to replace
 * by `secretPrefix` is refused if another one signs. A caller that names none is refused for a
 * minute after a replacement: two commands that begin at the same time reach the database at
 * different times.
 */
export async function replaceSecret(
  tx: Tx,
  { endpointId, owner, ring, secretPrefix: named, now }: Replacement,
): Promise<Replaced> {
  const endpoint = await lockKnown(tx, { endpointId, owner })
  if ('refusal' in endpoint) return endpoint
  const newest = await findNewestSecret(tx, endpointId)
  const [signing] = await findEndpoints(tx, [endpointId], now)
  const isMeant =
    named === undefined ? !newest?.isFreshReplacement : named === signing?.secretPrefix
  if (!isMeant)
    return refuse(
      'webhook_secret_changed',
      named === undefined
        ? {
            message: `${endpointId}: The secret was replaced less than a minute ago, by another operator or an earlier command, which shows the new one. To replace that one too, run this command again in a minute.`,
          }
        : {},
    )
  const version = (newest?.version ?? 0) + 1
  const signsFrom = beforeEveryClock
  const secret = await addSecret(tx, { endpointId, version, ring, signsFrom, isReplacement: true })
  await dropOlderSecrets(tx, { endpointId, newest: version })
  return { endpoint, secret }
}

export interface Replacement extends EndpointOf {
  ring: Keyring
  /** The beginning of the secret to replace. */
  secretPrefix?: string | undefined
  now: Date
}

interface NewSecretInput extends Omit<NewSecretRow, 'prefix' | 'sealed' | 'kid'> {
  ring: Keyring
}

async function addSecret(
  tx: Tx,
  { endpointId, version, ring, ...rest }: NewSecretInput,
): Promise<string> {
  const secret = newSecret()
  const prefix = secretPrefix(secret)
  const sealed = sealSecret(secret, { endpointId, version }, ring)
  await insertSecret(tx, { endpointId, version, prefix, ...sealed, ...rest })
  return secret
}

/** Lets the announced secret sign from `at` on. */
export async function activateSecret(
  tx: Tx,
  { at, ...of }: EndpointOf & { at: Date },
): Promise<EndpointState | Refusal<'webhook_endpoint_not_found' | 'webhook_secret_not_announced'>> {
  const endpoint = await lockKnown(tx, of)
  if ('refusal' in endpoint) return endpoint
  const { endpointId } = of
  const newest = (await findSecrets(tx, [endpointId], at)).at(-1)
  if (newest === undefined || newest.signsFrom <= at)
    return refuse('webhook_secret_not_announced', {
      message: `${endpointId} has no announced secret.`,
    })
  await switchAt(tx, { endpointId, newest: newest.version, at })
  return endpoint
}

function switchAt(
  tx: Tx,
  { endpointId, newest, at }: { endpointId: string; newest: number; at: Date },
): Promise<void> {
  const overlapEndsAt = new Date(at.getTime() + overlapMs)
  return moveSecrets(tx, { endpointId, newest, at, overlapEndsAt })
}

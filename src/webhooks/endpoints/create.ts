/**
 * Creates an endpoint, once for each Idempotency-Key (decisions D39 to D41). Writes webhook_endpoints and webhook_secrets. Creations of
 * one user take turns, so that a twin finds what the first has made and nobody passes the maximum together; a crash leaves nothing.
 */

import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Db, Queryable, Tx } from '../../platform/db/db.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { newSecret, openSecret, sealSecret, secretPrefix } from '../delivery/secret.ts'
import { requestFingerprint } from './request.ts'
import type { EndpointRequest } from './schema.ts'
import {
  countActiveEndpoints,
  type EndpointRow,
  findEndpoints,
  findKeyedCreation,
  insertEndpoint,
  lockCreating,
} from './store.ts'

export interface CreationWish {
  userId: string
  request: EndpointRequest
  /** Null: each call makes one. */
  idempotencyKey: string | null
  now: Date
}

export interface CreationRules {
  ring: Keyring
  /** Active endpoints that one user may have. */
  activeMax: number
}

export type Creation =
  | { outcome: 'created' | 'replayed'; endpoint: EndpointRow; signingSecret: string }
  | { outcome: 'other_content' }
  | { outcome: 'at_maximum' }

/** A replay answers as the creation did, also at the maximum and with an endpoint that was disabled since. */
export async function createOrReplayEndpoint(
  db: Db,
  rules: CreationRules,
  wish: CreationWish,
): Promise<Creation> {
  // Without the lock: repeats of what is there wait for nobody.
  const replay = await replayed(db, rules, wish)
  if (replay !== null) return replay
  return db.transaction((tx) => createEndpoint(tx, rules, wish))
}

/** For a caller that has a transaction. */
export async function createEndpoint(
  tx: Tx,
  rules: CreationRules,
  wish: CreationWish,
): Promise<Creation> {
  await lockCreating(tx, wish.userId)
  const replay = await replayed(tx, rules, wish)
  if (replay !== null) return replay
  if ((await countActiveEndpoints(tx, wish.userId)) >= rules.activeMax)
    return { outcome: 'at_maximum' }
  return created(tx, rules, wish)
}

async function replayed(
  db: Queryable,
  { ring }: CreationRules,
  { userId, request, idempotencyKey, now }: CreationWish,
): Promise<Creation | null> {
  if (idempotencyKey === null) return null
  const before = await findKeyedCreation(db, { userId, idempotencyKey })
  if (before === undefined) return null
  if (!before.fingerprint.equals(requestFingerprint(request))) return { outcome: 'other_content' }
  const { endpointId, secret } = before
  const [endpoint] = await findEndpoints(db, [endpointId], now)
  if (endpoint === undefined) throw new Error(`webhook endpoint ${endpointId} has no secret`)
  const signingSecret = openSecret(secret, { endpointId, version: 1 }, ring)
  return { outcome: 'replayed', endpoint, signingSecret }
}

async function created(
  tx: Tx,
  { ring }: CreationRules,
  { userId, request, idempotencyKey, now }: CreationWish,
): Promise<Creation> {
  const signingSecret = newSecret()
  const id = uuidV7(now)
  const endpoint: EndpointRow = {
    id,
    userId,
    ...request,
    secretPrefix: secretPrefix(signingSecret),
    createdAt: now,
    updatedAt: now,
    disabledAt: null,
    disabledReason: null,
    perSecond: null,
  }
  const fingerprint = idempotencyKey === null ? null : requestFingerprint(request)
  const secret = sealSecret(signingSecret, { endpointId: id, version: 1 }, ring)
  await insertEndpoint(tx, { ...endpoint, idempotencyKey, fingerprint, secret })
  return { outcome: 'created', endpoint, signingSecret }
}

/**
 * Creates an endpoint, once for each Idempotency-Key (decisions D39 to D41). Writes
 * webhook_endpoints and webhook_secrets in one transaction. Creations of one user take turns, so a
 * duplicate finds the endpoint of the first, and parallel creations cannot exceed the maximum.
 * Also checks and normalises the request (decision D40).
 */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { sha256 } from '../../platform/crypto/bytes.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Queryable, Tx } from '../../platform/db/db.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { type EgressRules, vetUrl } from '../../platform/egress/rules.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { parseBody } from '../../platform/json/shape-fault.ts'
import { newSecret, openSecret, sealSecret, secretPrefix } from '../delivery/secret.ts'
import { eventTypeNames } from '../events/event-types.ts'
import { createRequest, type EndpointRequest, urlForm, urlLengthMax } from './schema.ts'
import {
  countActiveEndpoints,
  type EndpointRow,
  findEndpoints,
  findKeyedCreation,
  insertEndpoint,
  lockCreation,
} from './store.ts'

export interface CreationInput {
  userId: string
  request: EndpointRequest
  /** If null, each call creates an endpoint. */
  idempotencyKey: string | null
  now: Date
}

export interface CreationRules {
  ring: Keyring
  /** Maximum of active endpoints of one user. */
  activeMax: number
}

interface Created {
  endpoint: EndpointRow
  signingSecret: string
  /** The Idempotency-Key was used before: nothing was created now. */
  isReplay: boolean
}

export type Creation = Created | Refusal<'idempotency_key_reused' | 'webhook_endpoints_maximum'>

/** Creates the endpoint, or replays the creation that used the same Idempotency-Key. */
export async function createEndpoint(
  tx: Tx,
  rules: CreationRules,
  input: CreationInput,
): Promise<Creation> {
  await lockCreation(tx, input.userId)
  const replay = await findReplay(tx, rules, input)
  if (replay !== null) return replay
  const count = await countActiveEndpoints(tx, input.userId)
  if (count >= rules.activeMax)
    return refuse('webhook_endpoints_maximum', { cause: { count, max: rules.activeMax } })
  return insertNew(tx, rules, input)
}

/**
 * Finds the creation that used the same Idempotency-Key. It returns the same endpoint and secret,
 * also at the maximum and if the endpoint is disabled by now.
 */
async function findReplay(
  db: Queryable,
  { ring }: CreationRules,
  { userId, request, idempotencyKey, now }: CreationInput,
): Promise<Creation | null> {
  if (idempotencyKey === null) return null
  const before = await findKeyedCreation(db, { userId, idempotencyKey })
  if (before === undefined) return null
  if (!before.fingerprint.equals(requestFingerprint(request)))
    return refuse('idempotency_key_reused', { cause: { made: 'a webhook endpoint' } })
  const { endpointId, secret } = before
  const [endpoint] = await findEndpoints(db, [endpointId], now)
  if (endpoint === undefined) throw new Error(`webhook endpoint ${endpointId} has no secret`)
  const signingSecret = openSecret(secret, { endpointId, version: 1 }, ring)
  return { endpoint, signingSecret, isReplay: true }
}

async function insertNew(
  tx: Tx,
  { ring }: CreationRules,
  { userId, request, idempotencyKey, now }: CreationInput,
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
  return { endpoint, signingSecret, isReplay: false }
}

/** The shape of the contract, except for the URL, which the rules of the deployment check. */
const request = closedObject({
  ...createRequest.properties,
  url: Type.String({ maxLength: urlLengthMax, description: urlForm }),
})
const shape = Compile(request)
const uri = Compile(Type.String({ format: 'uri', maxLength: urlLengthMax }))

/**
 * Returns the request, or its fault in words for the caller. Callers may not use an http URL, even
 * if `rules` allow http for deliveries; `allowHttp` is for endpoints of the operator.
 */
export function readEndpointRequest(
  body: unknown,
  rules: EgressRules,
  { allowHttp = false }: { allowHttp?: boolean } = {},
): { request: EndpointRequest } | { fault: string } {
  const read = parseBody(shape, body)
  if ('fault' in read) return read
  const { url, events, description } = read.body
  const vetted = vetUrl(url, { ...rules, allowHttp })
  if ('fault' in vetted) return { fault: `url ${vetted.fault}.` }
  const { href } = vetted.url
  // The normalised URL may be longer. A text that is no URI is not repaired (decision D8).
  if (!uri.Check(url) || !uri.Check(href))
    return { fault: `url must be a URI of at most ${urlLengthMax} characters.` }
  const eventTypes = eventTypeNames.filter((name) => events.includes(name))
  return { request: { url: href, eventTypes, description: description ?? null } }
}

/** Returns 32 bytes that are equal for equivalent requests. Order and white space do not matter. */
export function requestFingerprint({ url, eventTypes, description }: EndpointRequest): Buffer {
  return sha256(canonicalJson({ url, events: [...eventTypes].sort(), description }))
}

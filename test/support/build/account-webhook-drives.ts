/**
 * Requests of the contract test to the session routes that manage a webhook endpoint: a good
 * request for each route, and one for each error answer.
 */
import { randomUUID } from 'node:crypto'
import { findAttempts } from '../../../src/webhooks/delivery/delivery-store.ts'
import { findEndpointHealth } from '../../../src/webhooks/delivery/history-store.ts'
import { announceSecret } from '../../../src/webhooks/endpoints/actions.ts'
import type { Question } from '../start/ask.ts'
import type { TestService } from '../start/service.ts'
import { endpointsPath } from './account-drives.ts'
import { contextAt } from './actions.ts'
import type { KeyedDrive } from './keyed-drives.ts'
import { ownerDrives, refuseBodies } from './owner-drives.ts'
import { newSession, type TestSession } from './sessions.ts'
import {
  createEndpoint,
  disable,
  failing,
  happen,
  receiver,
  startDelivering,
  testRing,
} from './webhooks.ts'

/** An endpoint of an account, with one delivery attempt. */
export interface DeliveredEndpoint {
  endpointId: string
  deliveryId: string
  eventId: string
  secretPrefix: string
}

/** Returns a good request for each route, by operation id. */
export function accountWebhookRequests(
  { headers, ownOrigin }: Pick<TestSession, 'headers' | 'ownOrigin'>,
  { endpointId, deliveryId, eventId, secretPrefix }: DeliveredEndpoint,
): Record<string, Question> {
  const path = `${endpointsPath}/${endpointId}`
  const post = (verb: string, body: object = {}): Question => ({
    method: 'POST',
    path: `${path}/${verb}`,
    headers: { ...ownOrigin, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  return {
    pauseWebhookEndpoint: post('pause'),
    resumeWebhookEndpoint: post('resume'),
    rotateWebhookSecret: post('rotate-secret'),
    activateWebhookSecret: post('activate-secret'),
    replaceWebhookSecretNow: post('replace-secret-now', { secretPrefix }),
    resendWebhookDelivery: post(`deliveries/${deliveryId}/resend`),
    getWebhookSentEvent: { path: `${path}/events/${eventId}`, headers },
    disableAccountWebhookEndpoint: { method: 'DELETE', path, headers: ownOrigin },
  }
}

/** Returns endpoints of the account, each with one failed attempt to deliver the same event. */
export async function deliveredEndpoints(
  { database: { db } }: Pick<TestService, 'database'>,
  accountId: string,
  count: number,
): Promise<DeliveredEndpoint[]> {
  const { url } = await receiver(failing)
  const ids: string[] = []
  while (ids.length < count) ids.push((await createEndpoint(db, url, { userId: accountId })).id)
  const deliverer = startDelivering(db)
  await happen(db)
  await deliverer.deliver()
  return Promise.all(ids.map((endpointId) => deliveredTo(db, accountId, endpointId)))
}

async function deliveredTo(
  db: TestService['database']['db'],
  userId: string,
  endpointId: string,
): Promise<DeliveredEndpoint> {
  const [endpoint] = await findEndpointHealth(db, { userId, endpointId }, new Date())
  const attempts = await findAttempts(db, { endpointId, owner: { userId }, limit: 1 })
  const { id: deliveryId = '', eventId = '' } = attempts?.[0] ?? {}
  return { endpointId, deliveryId, eventId, secretPrefix: endpoint?.secretPrefix ?? '' }
}

/** The server answers each request in `good` with the first success that the contract lists. */
export async function accountWebhookDrives(
  service: Pick<TestService, 'database'>,
): Promise<{ good: Record<string, Question>; drives: KeyedDrive[] }> {
  const { db } = service.database
  const session = await newSession(db, { role: 'member' })
  const { accountId } = session
  const [one, rotated, announced, off] = (await deliveredEndpoints(service, accountId, 4)) as [
    DeliveredEndpoint,
    DeliveredEndpoint,
    DeliveredEndpoint,
    DeliveredEndpoint,
  ]
  const stranger = await newSession(db)
  const [foreign] = await deliveredEndpoints(service, stranger.accountId, 1)
  const owner = { userId: accountId }
  const announcedOf = { endpointId: announced.endpointId, owner }
  await announceSecret(contextAt(db), announcedOf, { ring: testRing })
  await disable(db, off.endpointId, new Date())
  const of = (endpoint: DeliveredEndpoint) => accountWebhookRequests(session, endpoint)
  const good = {
    ...of(one),
    rotateWebhookSecret: of(rotated).rotateWebhookSecret as Question,
    activateWebhookSecret: of(announced).activateWebhookSecret as Question,
    disableAccountWebhookEndpoint: of(off).disableAccountWebhookEndpoint as Question,
  }
  const list = ownerDrives(good, null)
  const { accept, refuse } = list
  const success: Record<string, number> = {
    rotateWebhookSecret: 201,
    replaceWebhookSecretNow: 201,
    resendWebhookDelivery: 202,
  }
  const missing: Record<string, string> = {
    resendWebhookDelivery: 'webhook_delivery_not_found',
    getWebhookSentEvent: 'webhook_event_not_found',
  }
  for (const operation of Object.keys(good)) {
    accept(operation, success[operation] ?? 200, 'a session')
    const error = missing[operation] ?? 'webhook_endpoint_not_found'
    for (const [sent, endpointId, refused] of [
      ['the endpoint of another account', foreign?.endpointId ?? '', [404, error]],
      ['an unknown id', randomUUID(), [404, error]],
      ['an invalid id', 'abc', [400, 'invalid_parameter']],
    ] as const)
      refuse(operation, sent, refused, of({ ...one, endpointId })[operation] as Question)
  }
  for (const [operation, { method }] of Object.entries(good)) {
    if (method !== 'POST') continue
    refuseBodies(list, operation)
    const body = '{"extra":1}'
    refuse(operation, 'a field too many', [400, 'invalid_field'], { body })
  }
  refuse('replaceWebhookSecretNow', 'no prefix', [400, 'invalid_field'], { body: '{}' })
  const refuseAt = (operation: string, endpoint: DeliveredEndpoint, error: string, sent: string) =>
    refuse(operation, sent, [409, error], of(endpoint)[operation] as Question)
  for (const operation of [
    'pauseWebhookEndpoint',
    'resumeWebhookEndpoint',
    'rotateWebhookSecret',
    'resendWebhookDelivery',
  ])
    refuseAt(operation, off, 'webhook_endpoint_disabled', 'a disabled endpoint')
  refuseAt('rotateWebhookSecret', rotated, 'webhook_secret_rotating', 'a second rotation')
  refuseAt('activateWebhookSecret', one, 'webhook_secret_not_announced', 'no announced secret')
  refuseAt('replaceWebhookSecretNow', one, 'webhook_secret_changed', 'the same prefix again')
  return { good, drives: list.drives }
}

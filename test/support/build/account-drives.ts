/**
 * Requests of the contract test to the session routes for sandbox, webhooks and agent decisions: a
 * good request for each route, and one for each error answer.
 */
import { randomUUID } from 'node:crypto'
import { sha256Hex } from '../../../src/platform/crypto/bytes.ts'
import { ask, type Question } from '../start/ask.ts'
import type { TestService } from '../start/service.ts'
import type { KeyedDrive } from './keyed-drives.ts'
import { newKey, type TestKey } from './keys.ts'
import { lock } from './reports.ts'
import { newSession, type TestSession } from './sessions.ts'

export const sandboxPath = '/api/account/developer/sandbox'
export const endpointsPath = '/api/account/webhooks/endpoints'
export const decisionsPath = '/api/account/agent-decisions'
const bodyBytesMax = 32_768
const endpointBody = { url: 'https://hooks.example.com/in', events: ['score.updated'] }
const absent = '0'.repeat(64)

interface AccountRequests {
  /** Id of a webhook endpoint. */
  endpointId: string
  username?: string
  scoreId?: string
  idempotencyKey?: string
}

/** Returns a good request for each route, by operation id. Every request carries `headers`. */
export function accountRequests(
  headers: Record<string, string>,
  {
    endpointId,
    username = 'sofia-lindqvist',
    scoreId = sha256Hex('sandbox score sofia-lindqvist'),
    idempotencyKey = randomUUID(),
  }: AccountRequests,
): Record<string, Question> {
  const get = (path: string): Question => ({ path, headers })
  const post = (path: string, body: object, more: Record<string, string> = {}): Question => ({
    method: 'POST',
    path,
    headers: { 'Content-Type': 'application/json', ...headers, ...more },
    body: JSON.stringify(body),
  })
  return {
    searchSandboxCandidates: get(`${sandboxPath}/candidates/search?q=python`),
    getSandboxCandidate: get(`${sandboxPath}/candidates/@${username}`),
    getSandboxScore: get(`${sandboxPath}/scores/${scoreId}`),
    listAccountWebhookEndpoints: get(endpointsPath),
    createAccountWebhookEndpoint: post(endpointsPath, endpointBody, {
      'Idempotency-Key': idempotencyKey,
    }),
    sendTestEvent: post(`${endpointsPath}/${endpointId}/test`, { eventType: 'score.updated' }),
    listWebhookDeliveries: get(`${endpointsPath}/${endpointId}/deliveries`),
    listAgentDecisions: get(decisionsPath),
    requestUnlockReview: post(`${decisionsPath}/unlock-review`, {}),
  }
}

/** Expected status of a good request. Operations without an entry answer 200. */
export const goodStatus: Readonly<Record<string, number>> = {
  createAccountWebhookEndpoint: 201,
  sendTestEvent: 202,
  requestUnlockReview: 202,
}

/**
 * Creates an account with a member session and `endpoints` webhook endpoints, and locks its agent
 * reporting.
 */
export async function lockedAccount(
  service: Pick<TestService, 'base' | 'database'>,
  endpoints: number,
): Promise<{ session: TestSession; endpointIds: string[] }> {
  const { db } = service.database
  const session = await newSession(db, { role: 'member' })
  await lock(db, session.accountId)
  const endpointIds: string[] = []
  while (endpointIds.length < endpoints) endpointIds.push(await createdBy(service, session))
  return { session, endpointIds }
}

/** Creates a webhook endpoint and returns its id. */
async function createdBy(
  { base }: Pick<TestService, 'base'>,
  { ownOrigin }: TestSession,
): Promise<string> {
  const { createAccountWebhookEndpoint: question } = accountRequests(ownOrigin, { endpointId: '' })
  const { body } = await ask(base, question as Question)
  return JSON.parse(body.toString()).endpoint.id
}

/**
 * Prepares accounts and keys, and returns the requests. The server answers each request in `good`
 * (keyed by operation id) with the first success that the contract lists.
 */
export async function accountDrives(
  service: Pick<TestService, 'base' | 'database'>,
): Promise<{ good: Record<string, Question>; drives: KeyedDrive[] }> {
  const { db } = service.database
  const { session, endpointIds } = await lockedAccount(service, 3)
  const [endpointId = '', tested = '', disabled = ''] = endpointIds
  const full = await lockedAccount(service, 20)
  const unlocked = await newSession(db)
  const key = await newKey(db, { accountId: session.accountId })
  await ask(service.base, {
    method: 'DELETE',
    path: `/api/v1/webhooks/endpoints/${disabled}`,
    headers: key.headers,
  })
  const good = accountRequests(session.ownOrigin, { endpointId })
  const drives: KeyedDrive[] = []
  const drive: Drive = (operation, status, sent, more = {}) => {
    const { headers, ...asked } = { ...(good[operation] as Question), ...more }
    const question = { ...asked, headers: { ...good[operation]?.headers, ...headers } }
    return (error) => drives.push({ operation, status, sent, question, ...(error && { error }) })
  }
  driveEachOperation(drive, good, key)
  driveSandbox(drive)
  driveCreation(drive, full.session.ownOrigin)
  driveEndpoints(drive, { tested, disabled, foreign: full.endpointIds[0] })
  drivePages(drive, endpointId)
  drive('requestUnlockReview', 200, 'a second request while one is open', {
    body: JSON.stringify({ note: '✎'.repeat(1_000) }),
  })()
  drive('requestUnlockReview', 400, 'a note of 1,001 characters', {
    body: JSON.stringify({ note: 'x'.repeat(1_001) }),
  })('invalid_field')
  drive('requestUnlockReview', 409, 'an account that is not locked', {
    headers: unlocked.ownOrigin,
  })('agent_reporting_unlocked')
  return { good, drives }
}

/** Adds the request `operation` with the changes `more`; the returned function names its error. */
type Drive = (
  operation: string,
  status: number,
  sent: string,
  more?: Partial<Question>,
) => (error?: string) => void

function driveEachOperation(
  drive: Drive,
  good: Readonly<Record<string, Question>>,
  key: TestKey,
): void {
  for (const [operation, { method, path }] of Object.entries(good)) {
    drive(operation, goodStatus[operation] ?? 200, 'a good request')()
    drive(operation, 400, 'the version 2025-01-01', {
      headers: { 'Service-Version': '2025-01-01' },
    })('unsupported_version')
    drive(operation, 400, 'a query parameter twice', {
      path: `${path}${path.includes('?') ? '&' : '?'}a=1&a=1`,
    })('invalid_parameter')
    drive(operation, 401, 'no session', { headers: { Cookie: '' } })('session_required')
    drive(operation, 401, 'a key in place of a session', {
      headers: { ...key.headers, Cookie: '' },
    })('session_required')
    if (method !== 'POST') continue
    const site = { 'Sec-Fetch-Site': 'cross-site' }
    drive(operation, 403, 'another site', { headers: site })('cross_origin')
    drive(operation, 400, 'no JSON', { body: '{' })('invalid_json')
    drive(operation, 400, 'a member twice', { body: '{"a":1,"a":2}' })('invalid_json')
    drive(operation, 400, 'an unknown field', { body: '{"x":1}' })('invalid_field')
    const largest = ' '.repeat(bodyBytesMax)
    drive(operation, 400, `${bodyBytesMax} bytes of nothing`, { body: largest })('invalid_json')
    drive(operation, 413, `${bodyBytesMax + 1} bytes`, { body: `${largest} ` })('payload_too_large')
    const plain = { 'Content-Type': 'text/plain' }
    drive(operation, 415, 'plain text', { headers: plain })('unsupported_media_type')
  }
}

function driveSandbox(drive: Drive): void {
  for (const limit of ['0', '51', '1e1', ''])
    drive('searchSandboxCandidates', 400, `the limit “${limit}”`, {
      path: `${sandboxPath}/candidates/search?q=python&limit=${limit}`,
    })('invalid_parameter')
  drive('searchSandboxCandidates', 400, 'one letter', {
    path: `${sandboxPath}/candidates/search?q=j`,
  })('invalid_parameter')
  drive('getSandboxCandidate', 400, 'capitals', { path: `${sandboxPath}/candidates/Ada` })(
    'invalid_parameter',
  )
  drive('getSandboxCandidate', 404, 'nobody', { path: `${sandboxPath}/candidates/nobody` })(
    'candidate_not_found',
  )
  drive('getSandboxScore', 400, 'an invalid id', { path: `${sandboxPath}/scores/abc` })(
    'invalid_parameter',
  )
  drive('getSandboxScore', 404, 'an unknown id', { path: `${sandboxPath}/scores/${absent}` })(
    'score_not_found',
  )
  drive('getSandboxScore', 200, 'a score without a credential', {
    path: `${sandboxPath}/scores/${sha256Hex('sandbox score nikhil-rao').toUpperCase()}`,
  })()
}

function driveCreation(drive: Drive, ownOriginOfFull: Record<string, string>): void {
  const used = { 'Idempotency-Key': randomUUID() }
  drive('createAccountWebhookEndpoint', 201, 'a fresh key', { headers: used })()
  drive('createAccountWebhookEndpoint', 201, 'the same again', { headers: used })()
  drive('createAccountWebhookEndpoint', 409, 'the key with other content', {
    headers: used,
    body: JSON.stringify({ ...endpointBody, description: 'other' }),
  })('idempotency_key_reused')
  drive('createAccountWebhookEndpoint', 400, 'a short key', {
    headers: { 'Idempotency-Key': 'short' },
  })('invalid_idempotency_key')
  drive('createAccountWebhookEndpoint', 409, 'one endpoint more than the maximum', {
    headers: ownOriginOfFull,
  })('webhook_endpoints_maximum')
}

function driveEndpoints(
  drive: Drive,
  { tested, disabled, foreign }: { tested: string; disabled: string; foreign: string | undefined },
): void {
  for (const [operation, rest] of [
    ['sendTestEvent', 'test'],
    ['listWebhookDeliveries', 'deliveries'],
  ] as const)
    for (const [status, sent, id, error] of [
      [400, 'an invalid id', 'x', 'invalid_parameter'],
      [404, 'an unknown id', randomUUID(), 'webhook_endpoint_not_found'],
      [404, 'the endpoint of another account', foreign, 'webhook_endpoint_not_found'],
    ] as const)
      drive(operation, status, sent, { path: `${endpointsPath}/${id}/${rest}` })(error)
  const testing = (id: string) => `${endpointsPath}/${id}/test`
  drive('sendTestEvent', 400, 'an unknown event type', { body: '{"eventType":"score.deleted"}' })(
    'invalid_field',
  )
  drive('sendTestEvent', 409, 'a disabled endpoint', { path: testing(disabled) })(
    'webhook_endpoint_disabled',
  )
  drive('sendTestEvent', 202, 'the id in upper case', { path: testing(tested.toUpperCase()) })()
  drive('sendTestEvent', 429, 'a second one within a minute', { path: testing(tested) })(
    'rate_limited',
  )
}

function drivePages(drive: Drive, endpointId: string): void {
  for (const [operation, path] of [
    ['listWebhookDeliveries', `${endpointsPath}/${endpointId}/deliveries`],
    ['listAgentDecisions', decisionsPath],
  ] as const) {
    for (const limit of ['1', '100'])
      drive(operation, 200, `the limit ${limit}`, { path: `${path}?limit=${limit}` })()
    for (const limit of ['0', '101', '020', '1e1', ''])
      drive(operation, 400, `the limit “${limit}”`, { path: `${path}?limit=${limit}` })(
        'invalid_parameter',
      )
  }
  for (const cursor of ['', 'abc', 'A'.repeat(21), `${'A'.repeat(21)}B`])
    drive('listAgentDecisions', 400, `the cursor “${cursor}”`, {
      path: `${decisionsPath}?cursor=${cursor}`,
    })('invalid_parameter')
}

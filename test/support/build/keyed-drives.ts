/**
 * Requests of the contract test to the routes that need an API key: a good request for each route,
 * and one for each error answer.
 */
import { randomUUID } from 'node:crypto'
import { ask, type Question } from '../start/ask.ts'
import type { TestService } from '../start/service.ts'
import { newKey, type TestKey } from './keys.ts'
import { lock } from './reports.ts'

export interface KeyedDrive {
  operation: string
  status: number
  /** Describes the request in the title of the test. */
  sent: string
  question: Question
  error?: string
}

const endpointsPath = '/api/v1/webhooks/endpoints'
const decisionsPath = '/api/v1/agent-decisions'
const endpointBody = { url: 'https://hooks.example.com/in', events: ['score.updated'] }
const decisionBody = {
  subject: { kind: 'score', scoreId: 'ab'.repeat(32) },
  decision: 'interview_requested',
}

const posts = {
  createWebhookEndpoint: { path: endpointsPath, body: endpointBody },
  reportAgentDecision: { path: decisionsPath, body: decisionBody },
}
type PostName = keyof typeof posts
const postNames = Object.keys(posts) as PostName[]

/**
 * Prepares accounts and keys, and returns the requests. The server answers each request in `good`
 * (keyed by operation id) with the first success that the contract lists.
 */
export async function keyedDrives(
  service: TestService,
): Promise<{ good: Record<string, Question>; drives: KeyedDrive[] }> {
  const { db } = service.database
  const key = await newKey(db)
  const full = await newKey(db)
  const lockedOut = await newKey(db)
  const unscoped = await newKey(db, { accountId: key.accountId, scopes: ['scores:read'] })
  const test = await newKey(db, { accountId: key.accountId, environment: 'test' })
  await lock(db, lockedOut.accountId)
  const made = await Promise.all([1, 2].map(() => createdBy(service, key)))
  const disabled = made[0] ?? ''
  for (let i = 0; i < 20; i++) await createdBy(service, full)

  const post = (name: PostName, changes: { body?: unknown; by?: TestKey; key?: string } = {}) =>
    posting(posts[name].path, { body: posts[name].body, by: key, ...changes })
  const asking = (path: string): Question => ({ path, headers: key.headers })
  const disabling = (id: string, by = key): Question => ({
    method: 'DELETE',
    path: `${endpointsPath}/${id}`,
    headers: by.headers,
  })

  const good: Record<string, Question> = {
    listWebhookEndpoints: asking(endpointsPath),
    listWebhookEvents: asking('/api/v1/webhooks/events'),
    disableWebhookEndpoint: disabling(disabled),
    createWebhookEndpoint: post('createWebhookEndpoint'),
    reportAgentDecision: post('reportAgentDecision'),
  }
  const drives = [
    ...Object.entries(good).flatMap(([operation, question]) =>
      drivesOfEach(operation, question, { unscoped, test }),
    ),
    ...postNames.flatMap((name) => drivesOfPost(name, (changes) => post(name, changes))),
    {
      operation: 'createWebhookEndpoint',
      status: 409,
      sent: 'one endpoint more than the maximum',
      question: post('createWebhookEndpoint', { by: full }),
      error: 'webhook_endpoints_maximum',
    },
    {
      operation: 'reportAgentDecision',
      status: 403,
      sent: 'an account that is locked',
      question: post('reportAgentDecision', { by: lockedOut }),
      error: 'agent_reporting_locked',
    },
    {
      operation: 'disableWebhookEndpoint',
      status: 400,
      sent: 'an invalid id',
      question: disabling('x'),
      error: 'invalid_parameter',
    },
    {
      operation: 'disableWebhookEndpoint',
      status: 404,
      sent: 'the endpoint of another account',
      question: disabling(disabled, full),
      error: 'webhook_endpoint_not_found',
    },
    {
      operation: 'listWebhookEvents',
      status: 400,
      sent: 'an unknown event type',
      question: asking('/api/v1/webhooks/events?types=score.deleted'),
      error: 'invalid_parameter',
    },
  ]
  return { good, drives }
}

/** Returns the requests that every operation answers in the same way. */
function drivesOfEach(
  operation: string,
  question: Question,
  { unscoped, test }: { unscoped: TestKey; test: TestKey },
): KeyedDrive[] {
  const status = question.method === 'POST' ? 201 : 200
  const drive = (sent: string, refused: [number, string], asked: Question): KeyedDrive => ({
    operation,
    status: refused[0],
    sent,
    question: asked,
    error: refused[1],
  })
  const as = (headers: object): Question => ({
    ...question,
    headers: { ...question.headers, ...headers },
  })
  const { Authorization: _, ...anonymous } = question.headers ?? {}
  return [
    { operation, status, sent: 'a good request', question },
    drive(
      'the version 2025-01-01',
      [400, 'unsupported_version'],
      as({ 'Service-Version': '2025-01-01' }),
    ),
    drive('a query parameter twice', [400, 'invalid_parameter'], {
      ...as(fresh()),
      path: `${question.path}?a=1&a=1`,
    }),
    drive('no key', [401, 'missing_api_key'], { ...question, headers: anonymous }),
    drive('an invalid key', [401, 'invalid_api_key'], as({ Authorization: 'Bearer svc_live_x' })),
    drive('a key without the scope', [403, 'insufficient_scope'], as(unscoped.headers)),
    drive('a test key', [403, 'test_key'], as(test.headers)),
  ]
}

type Post = (changes?: { body?: unknown; by?: TestKey; key?: string }) => Question

/** Returns the requests with the bodies and Idempotency-Keys of an operation that posts. */
function drivesOfPost(name: PostName, post: Post): KeyedDrive[] {
  const drives: KeyedDrive[] = []
  const used = randomUUID()
  const drive = (status: number, sent: string, question: Question, error?: string): void => {
    drives.push({ operation: name, status, sent, question, ...(error && { error }) })
  }
  const again = name === 'createWebhookEndpoint' ? 201 : 200
  drive(201, 'a fresh Idempotency-Key', post({ key: used }))
  drive(again, 'the same again', post({ key: used }))
  const other = { ...posts[name].body, ...otherContent[name] }
  drive(
    409,
    'the key with other content',
    post({ key: used, body: other }),
    'idempotency_key_reused',
  )
  const { 'Idempotency-Key': _, ...keyless } = post().headers ?? {}
  drive(400, 'no Idempotency-Key', { ...post(), headers: keyless }, 'invalid_idempotency_key')
  drive(400, 'no JSON', { ...post(), body: '{' }, 'invalid_json')
  drive(400, 'an unknown field', post({ body: { ...posts[name].body, x: 1 } }), 'invalid_field')
  drive(400, 'a large body', { ...post(), body: ' '.repeat(32_769) }, 'payload_too_large')
  const plain = { ...post().headers, 'Content-Type': 'text/plain' }
  drive(400, 'plain text', { ...post(), headers: plain }, 'unsupported_media_type')
  return drives
}

const otherContent = {
  createWebhookEndpoint: { description: 'other' },
  reportAgentDecision: { decision: 'rejected' },
}

const fresh = () => ({ 'Idempotency-Key': randomUUID() })

function posting(
  path: string,
  { body, by, key = randomUUID() }: { body: unknown; by: TestKey; key?: string },
): Question {
  return {
    method: 'POST',
    path,
    headers: { ...by.headers, 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify(body),
  }
}

/** Creates a webhook endpoint and returns its id. */
async function createdBy({ base }: TestService, key: TestKey): Promise<string> {
  const reply = await ask(base, posting(endpointsPath, { body: endpointBody, by: key }))
  return JSON.parse(reply.body.toString()).endpoint.id
}

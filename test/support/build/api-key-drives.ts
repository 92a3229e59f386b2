/**
 * Requests of the contract test to the session routes of API keys: a good request for each route,
 * and one for each error answer.
 */
import { randomUUID } from 'node:crypto'
import { activeKeysMax, revokeApiKey } from '../../../src/access/manage.ts'
import type { Question } from '../start/ask.ts'
import type { TestService } from '../start/service.ts'
import { contextAt } from './actions.ts'
import type { KeyedDrive } from './keyed-drives.ts'
import { newKey } from './keys.ts'
import { newSession, type TestSession } from './sessions.ts'

export const apiKeysPath = '/api/account/api-keys'
const newKeyBody = { name: 'payroll-sync', environment: 'test', scopes: ['scores:read'] }

/** Returns a good request for each route, by operation id. */
export function apiKeyRequests(
  { headers, ownOrigin }: Pick<TestSession, 'headers' | 'ownOrigin'>,
  keyIds: { rotated: string; revoked: string },
): Record<string, Question> {
  const post = (path: string, body: unknown): Question => ({
    method: 'POST',
    path,
    headers: { ...ownOrigin, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  return {
    listApiKeys: { path: apiKeysPath, headers },
    createApiKey: post(apiKeysPath, newKeyBody),
    rotateApiKey: post(`${apiKeysPath}/${keyIds.rotated}/rotate`, { overlapHours: 24 }),
    revokeApiKey: {
      method: 'DELETE',
      path: `${apiKeysPath}/${keyIds.revoked}`,
      headers: ownOrigin,
    },
  }
}

/** The server answers each request in `good` with the first success that the contract lists. */
export async function apiKeyDrives(
  service: TestService,
): Promise<{ good: Record<string, Question>; drives: KeyedDrive[] }> {
  const { db } = service.database
  const owner = await newSession(db)
  const { accountId } = owner
  const member = await newSession(db, { accountId, role: 'member' })
  const full = await newSession(db)
  for (let n = 0; n < activeKeysMax; n++) await newKey(db, { accountId: full.accountId })
  const key = async () => (await newKey(db, { accountId })).keyId
  const revokedId = await key()
  await revokeApiKey(contextAt(db), revokedId)
  const foreignId = (await newKey(db)).keyId
  const good = apiKeyRequests(owner, { rotated: await key(), revoked: await key() })
  const drives: KeyedDrive[] = []
  const drive = (
    operation: string,
    sent: string,
    [status, error]: [number, string],
    question: Question,
  ) => drives.push({ operation, status, sent, error, question })
  for (const [operation, question] of Object.entries(good)) {
    const withHeaders = (headers: Record<string, string>): Question => ({
      ...question,
      headers: { ...question.headers, ...headers },
    })
    drive(operation, 'no session', [401, 'session_required'], withHeaders({ Cookie: '' }))
    drive(
      operation,
      'the version 2025-01-01',
      [400, 'unsupported_version'],
      withHeaders({ 'Service-Version': '2025-01-01' }),
    )
    if (question.method === undefined) continue
    drive(
      operation,
      'another site',
      [403, 'cross_origin'],
      withHeaders({ 'Sec-Fetch-Site': 'cross-site' }),
    )
    drive(
      operation,
      'a member who is no owner',
      [403, 'owner_required'],
      withHeaders(member.ownOrigin),
    )
    if (question.method !== 'POST') continue
    drive(
      operation,
      'a form',
      [415, 'unsupported_media_type'],
      withHeaders({ 'Content-Type': 'application/x-www-form-urlencoded' }),
    )
    drive(operation, 'half a body', [400, 'invalid_json'], { ...question, body: '{"name":' })
    drive(operation, 'a field too many', [400, 'invalid_field'], {
      ...question,
      body: JSON.stringify({ ...JSON.parse(String(question.body)), extra: 1 }),
    })
    drive(operation, 'a body that is too large', [413, 'payload_too_large'], {
      ...question,
      body: JSON.stringify({ name: 'x'.repeat(32_768) }),
    })
  }
  const created = good.createApiKey as Question
  for (const [sent, body] of [
    ['no scope', { ...newKeyBody, scopes: [] }],
    ['an unknown scope', { ...newKeyBody, scopes: ['everything'] }],
    ['an empty name', { ...newKeyBody, name: ' ' }],
    ['a name with a line break', { ...newKeyBody, name: 'a\nb' }],
    ['a network that is none', { ...newKeyBody, allowedFrom: ['localhost'] }],
    ['no day', { ...newKeyBody, validDays: 0 }],
  ] as const)
    drive('createApiKey', sent, [400, 'invalid_field'], { ...created, body: JSON.stringify(body) })
  drive('createApiKey', 'one key too many', [409, 'api_keys_maximum'], {
    ...created,
    headers: { ...created.headers, ...full.ownOrigin },
  })
  const at = (id: string) => apiKeyRequests(owner, { rotated: id, revoked: id })
  for (const [operation, change] of [
    ['rotateApiKey', (id: string) => at(id).rotateApiKey as Question],
    ['revokeApiKey', (id: string) => at(id).revokeApiKey as Question],
  ] as const) {
    drive(operation, 'the key of another account', [404, 'api_key_not_found'], change(foreignId))
    drive(operation, 'an unknown id', [404, 'api_key_not_found'], change(randomUUID()))
    drive(operation, 'an id that is none', [400, 'invalid_parameter'], change('abc'))
  }
  drive(
    'rotateApiKey',
    'a revoked key',
    [409, 'api_key_not_rotatable'],
    at(revokedId).rotateApiKey as Question,
  )
  for (const [operation, status] of [
    ['listApiKeys', 200],
    ['createApiKey', 201],
    ['rotateApiKey', 201],
  ] as const)
    drives.push({ operation, status, sent: 'a session', question: good[operation] as Question })
  drives.push({
    operation: 'revokeApiKey',
    status: 200,
    sent: 'a key that is revoked already',
    question: at(revokedId).revokeApiKey as Question,
  })
  return { good, drives }
}

/**
 * Requests of the contract test to the session routes of API keys: a good request for each route,
 * and one for each error answer.
 */
import { randomUUID } from 'node:crypto'
import { activeKeysMax } from '../../../src/access/manage.ts'
import type { Question } from '../start/ask.ts'
import type { TestService } from '../start/service.ts'
import type { KeyedDrive } from './keyed-drives.ts'
import { newKey, revokeKey } from './keys.ts'
import { ownerDrives, refuseBodies } from './owner-drives.ts'
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
  service: Pick<TestService, 'database'>,
): Promise<{ good: Record<string, Question>; drives: KeyedDrive[] }> {
  const { db } = service.database
  const owner = await newSession(db)
  const { accountId } = owner
  const member = await newSession(db, { accountId, role: 'member' })
  const full = await newSession(db)
  for (let n = 0; n < activeKeysMax; n++) await newKey(db, { accountId: full.accountId })
  const key = async () => (await newKey(db, { accountId })).keyId
  const revokedId = await key()
  await revokeKey(db, revokedId)
  const foreignId = (await newKey(db)).keyId
  const good = apiKeyRequests(owner, { rotated: await key(), revoked: await key() })
  const list = ownerDrives(good, member)
  const { accept, refuse } = list
  for (const [operation, { method, body }] of Object.entries(good)) {
    if (method !== 'POST') continue
    refuseBodies(list, operation)
    refuse(operation, 'a field too many', [400, 'invalid_field'], {
      body: JSON.stringify({ ...JSON.parse(String(body)), extra: 1 }),
    })
  }
  for (const [sent, change] of [
    ['no scope', { scopes: [] }],
    ['an unknown scope', { scopes: ['everything'] }],
    ['an empty name', { name: ' ' }],
    ['a name with a line break', { name: 'a\nb' }],
    ['an invalid network', { allowedFrom: ['localhost'] }],
    ['no day', { validDays: 0 }],
  ] as const)
    refuse('createApiKey', sent, [400, 'invalid_field'], {
      body: JSON.stringify({ ...newKeyBody, ...change }),
    })
  const headers = full.ownOrigin
  refuse('createApiKey', 'one key too many', [409, 'api_keys_maximum'], { headers })
  const at = (operation: string, id: string) =>
    apiKeyRequests(owner, { rotated: id, revoked: id })[operation] as Question
  for (const operation of ['rotateApiKey', 'revokeApiKey'])
    for (const [sent, id, refused] of [
      ['the key of another account', foreignId, [404, 'api_key_not_found']],
      ['an unknown id', randomUUID(), [404, 'api_key_not_found']],
      ['an invalid id', 'abc', [400, 'invalid_parameter']],
    ] as const)
      refuse(operation, sent, refused, at(operation, id))
  const revoked = at('rotateApiKey', revokedId)
  refuse('rotateApiKey', 'a revoked key', [409, 'api_key_not_rotatable'], revoked)
  accept('listApiKeys', 200, 'a session')
  accept('createApiKey', 201, 'a session')
  accept('rotateApiKey', 201, 'a session')
  accept('revokeApiKey', 200, 'a key that is revoked already', at('revokeApiKey', revokedId))
  return { good, drives: list.drives }
}

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { apiKeyRequests, apiKeysPath } from '../../test/support/build/api-key-drives.ts'
import { newKey } from '../../test/support/build/keys.ts'
import { newSession } from '../../test/support/build/sessions.ts'
import { ask, type Question } from '../../test/support/start/ask.ts'
import { startService, type TestService } from '../../test/support/start/service.ts'

let service: TestService
before(async () => {
  service = await startService('https://scores.example.org')
})
after(() => service.stop())

const bodyOf = ({ body }: { body: Buffer }) => JSON.parse(String(body))

/** Calls a paid read with the key. A test key that is valid gets 200, any other one 401. */
async function statusOf(key: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` }
  return (await ask(service.base, { path: '/api/v1/candidates/search?q=java', headers })).status
}

test('an owner creates, lists, rotates and revokes a key, effective on the next request', async () => {
  const owner = await newSession(service.database.db)
  const none = { rotated: randomUUID(), revoked: randomUUID() }
  const create = apiKeyRequests(owner, none).createApiKey as Question
  const created = bodyOf(
    await ask(service.base, {
      ...create,
      body: JSON.stringify({
        name: ' first ',
        environment: 'test',
        scopes: ['candidates:read'],
        validDays: 30,
        allowedFrom: ['127.0.0.99/8'],
      }),
    }),
  )
  const { id, name, allowedFrom, createdAt, expiresAt } = created.apiKey
  assert.equal(name, 'first')
  assert.deepEqual(allowedFrom, ['127.0.0.0/8'])
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 30 * 86_400_000)
  assert.equal(await statusOf(created.key), 200)

  const { rotateApiKey } = apiKeyRequests(owner, { rotated: id, revoked: id })
  const rotated = await ask(service.base, {
    ...(rotateApiKey as Question),
    body: JSON.stringify({ overlapHours: 0 }),
  })
  assert.equal(rotated.status, 201)
  const { key, apiKey } = bodyOf(rotated)
  assert.equal(apiKey.predecessor, id)
  assert.deepEqual([await statusOf(created.key), await statusOf(key)], [401, 200])

  const { revokeApiKey } = apiKeyRequests(owner, { rotated: id, revoked: apiKey.id })
  assert.equal((await ask(service.base, revokeApiKey as Question)).status, 200)
  assert.equal(await statusOf(key), 401)
  const listed = await ask(service.base, { path: apiKeysPath, headers: owner.headers })
  assert.deepEqual(
    bodyOf(listed).apiKeys.map(({ revokedAt }: { revokedAt: string | null }) => revokedAt !== null),
    [true, true],
  )
  assert.ok(!String(listed.body).includes(key), 'no list shows a key')
})

test('two tabs rotate a key at once: one gets the successor and the other 409', async () => {
  const { db } = service.database
  const owner = await newSession(db)
  const { keyId } = await newKey(db, { accountId: owner.accountId })
  const { rotateApiKey } = apiKeyRequests(owner, { rotated: keyId, revoked: keyId })
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => ask(service.base, rotateApiKey as Question)),
  )
  assert.equal(replies.filter(({ status }) => status === 201).length, 1)
  assert.equal(replies.filter(({ status }) => status === 409).length, 7)
})

test('the keys of another account are answered like unknown ids and change nothing', async () => {
  const { db } = service.database
  const stranger = await newSession(db)
  const { keyId, headers } = await newKey(db, { environment: 'test' })
  const reply = async (id: string, operation: 'rotateApiKey' | 'revokeApiKey') => {
    const requests = apiKeyRequests(stranger, { rotated: id, revoked: id })
    const { status, body } = await ask(service.base, requests[operation] as Question)
    return [status, String(body)]
  }
  for (const operation of ['rotateApiKey', 'revokeApiKey'] as const)
    assert.deepEqual(await reply(keyId, operation), await reply(randomUUID(), operation))
  assert.equal(await statusOf(headers.Authorization.slice('Bearer '.length)), 200)
  const listed = await ask(service.base, { path: apiKeysPath, headers: stranger.headers })
  assert.deepEqual(bodyOf(listed).apiKeys, [])
})

/** The keys of an account, on the pages of the dashboard. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { newKey, revokeKey } from '../../../test/support/build/keys.ts'
import type { TestSession } from '../../../test/support/build/sessions.ts'
import { ask, type Reply } from '../../../test/support/start/ask.ts'
import { type Dashboard, startDashboard } from '../../../test/support/start/dashboard.ts'
import { activeKeysMax } from './manage.ts'
import { findKeys } from './store.ts'

let dashboard: Dashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.service.stop())

const newPath = '/dashboard/keys/new'
const good = { do: 'create', name: 'a form', environment: 'test', 'scopes:candidates:read': 'on' }

/** Calls a paid read with the key. A test key that is valid gets 200, any other one 401. */
async function statusOf(key: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` }
  const path = '/api/v1/candidates/search?q=java'
  return (await ask(dashboard.service.base, { path, headers })).status
}

function keyOf({ status, body }: Reply): string {
  assert.equal(status, 201)
  return /<code id="secret"[^>]*>([^<]+)</.exec(String(body))?.[1] ?? ''
}

const keysOf = ({ accountId }: TestSession) => findKeys(dashboard.service.database.db, accountId)

test('an owner creates, lists, rotates and revokes a key, effective on the next request', async () => {
  const owner = await dashboard.newUser()
  const created = keyOf(
    await dashboard.send(owner, newPath, {
      ...good,
      name: ' first ',
      validDays: '30',
      networks: '127.0.0.99/8',
    }),
  )
  const [first] = await keysOf(owner)
  assert.ok(first !== undefined)
  assert.equal(first.name, 'first')
  assert.deepEqual(first.allowedFrom, ['127.0.0.0/8'])
  assert.equal(Number(first.expiresAt) - Number(first.createdAt), 30 * 86_400_000)
  assert.equal(await statusOf(created), 200)

  const at = (id: string) => `/dashboard/keys/${id}`
  const rotate = { do: 'rotate', overlapHours: '0' }
  const key = keyOf(await dashboard.send(owner, at(first.id), rotate))
  const [successor] = await keysOf(owner)
  assert.ok(successor !== undefined)
  assert.equal(successor.predecessor, first.id)
  assert.deepEqual([await statusOf(created), await statusOf(key)], [401, 200])
  assert.equal((await dashboard.send(owner, at(first.id), rotate)).status, 409, 'it is revoked')

  const revoke = { do: 'revoke', confirm: 'first' }
  assert.equal((await dashboard.send(owner, at(successor.id), revoke)).status, 303)
  assert.equal(await statusOf(key), 401)
  const ended = await keysOf(owner)
  assert.equal(ended.length, 2)
  assert.ok(ended.every(({ revokedAt }) => revokedAt !== null))
  assert.equal((await dashboard.send(owner, at(successor.id), revoke)).status, 303, 'once more')
  assert.deepEqual(await keysOf(owner), ended)
  const { base } = dashboard.service
  const list = await ask(base, { path: '/dashboard/keys', headers: owner.headers })
  assert.ok(String(list.body).includes(successor.id))
  assert.ok(!String(list.body).includes(key), 'no list shows a key')
})

test('409: an account has at most its maximum of valid keys; ended ones do not count', async () => {
  const { db } = dashboard.service.database
  const owner = await dashboard.newUser()
  const { accountId } = owner
  for (let n = 1; n < activeKeysMax; n++) await newKey(db, { accountId })
  const { keyId } = await newKey(db, { accountId })
  const refused = await dashboard.send(owner, newPath, good)
  assert.equal(refused.status, 409)
  assert.match(String(refused.body), /which is the maximum\. Revoke one first\./)
  assert.equal((await keysOf(owner)).length, activeKeysMax)
  const rotate = (overlapHours: string) =>
    dashboard.send(owner, `/dashboard/keys/${keyId}`, { do: 'rotate', overlapHours })
  assert.equal((await rotate('24')).status, 409, 'both keys would be valid for a day')
  assert.equal((await keysOf(owner)).length, activeKeysMax)
  keyOf(await rotate('0'))
  const [successor] = await keysOf(owner)
  await revokeKey(db, successor?.id ?? '')
  assert.equal((await dashboard.send(owner, newPath, good)).status, 201)
})

test('a page of keys begins after the key that it names, and pages joined are the whole list', async () => {
  const { db } = dashboard.service.database
  const { accountId } = await newKey(db)
  // Keys of one moment are told apart by their ids.
  const now = new Date()
  for (let n = 0; n < 4; n++) await newKey(db, { accountId, now })
  const all = await findKeys(db, accountId)
  const joined: typeof all = []
  for (let after: string | null = null; joined.length < all.length; ) {
    const page = await findKeys(db, accountId, { after, limit: 2 })
    joined.push(...page)
    after = page.at(-1)?.id ?? assert.fail('a page is empty')
  }
  assert.deepEqual(joined, all)
})

test('the keys of another account are answered like unknown ids and change nothing', async () => {
  const { db } = dashboard.service.database
  const stranger = await dashboard.newUser()
  const { keyId, key } = await newKey(db, { environment: 'test' })
  const reply = async (id: string, fields: Record<string, string> | null) => {
    const path = `/dashboard/keys/${id}`
    const { status, body } =
      fields === null
        ? await ask(dashboard.service.base, { path, headers: stranger.headers })
        : await dashboard.send(stranger, path, fields)
    return [status, String(body)]
  }
  for (const fields of [
    null,
    { do: 'rotate', overlapHours: '0' },
    { do: 'revoke', confirm: 'test' },
  ]) {
    const foreign = await reply(keyId, fields)
    assert.equal(foreign[0], 404)
    assert.deepEqual(foreign, await reply(randomUUID(), fields))
  }
  assert.equal(await statusOf(key), 200)
  assert.deepEqual(await keysOf(stranger), [])
})

/** Forms of the dashboard that two tabs send at once, or a tab sends after its session ended. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../src/platform/db/db.ts'
import { newKey } from '../support/build/keys.ts'
import { startDashboard } from '../support/start/dashboard.ts'

const dashboard = await startDashboard()
const { db } = dashboard.service.database
after(() => dashboard.service.stop())

test('ten tabs rotate a key at the same time: one gets the new key, and the others are told so', async () => {
  const owner = await dashboard.newUser()
  const { keyId } = await newKey(db, { accountId: owner.accountId })
  const path = `/dashboard/keys/${keyId}`
  const replies = await Promise.all(
    Array.from({ length: 10 }, () =>
      dashboard.send(owner, path, { do: 'rotate', overlapHours: '24' }),
    ),
  )
  const statuses = replies.map(({ status }) => status).sort((a, b) => a - b)
  assert.deepEqual(statuses, [201, ...Array(9).fill(409)])
  for (const { status, body } of replies) {
    const text = String(body)
    assert.equal(/svc_(live|test)_\w{20}/.test(text), status === 201, 'only one page shows a key')
    assert.equal(text.includes('Nothing was changed.'), status === 409)
  }
  const keys = await db.rows(sql`select 1 from api_keys where account_id = ${owner.accountId}`)
  assert.equal(keys.length, 2)
})

test('303: a form of a tab whose session has ended changes nothing, and leads to sign-in', async () => {
  const owner = await dashboard.newUser()
  const { keyId } = await newKey(db, { accountId: owner.accountId })
  await db.run(sql`delete from sessions where user_id = ${owner.userId}`)
  for (const [path, fields] of [
    [`/dashboard/keys/${keyId}`, { do: 'rotate', overlapHours: '0' }],
    ['/dashboard/team', { do: 'invite', email: 'eve@example.com', role: 'owner' }],
    ['/dashboard/webhooks/new', { do: 'create', url: 'https://evil.example/' }],
  ] as const) {
    const { status, headers } = await dashboard.send(owner, path, fields)
    assert.deepEqual([status, headers.location], [303, `/sign-in?next=${encodeURIComponent(path)}`])
  }
  const keys = await db.rows(sql`select 1 from api_keys where account_id = ${owner.accountId}`)
  assert.equal(keys.length, 1)
  const users = await db.rows(sql`select 1 from users where email = 'eve@example.com'`)
  assert.equal(users.length, 0)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newKey } from '../../../test/support/build/keys.ts'
import { newSession } from '../../../test/support/build/sessions.ts'
import { ask } from '../../../test/support/start/ask.ts'
import { startService, type TestService } from '../../../test/support/start/service.ts'
import { rollUpAllUsage } from '../../main/jobs/all.ts'
import { sql } from '../../platform/db/db.ts'
import { enterCredits } from './credits.ts'
import { lastDays } from './months.ts'
import { findCreditAccount } from './store.ts'
import { findLedger, findUsage } from './usage-store.ts'

let service: TestService
before(async () => {
  service = await startService('https://scores.example.org', undefined, {
    env: { METERING: 'on' },
  })
})
after(() => service.stop())

const usageOf = (accountId: string) =>
  findUsage(service.database.db, { accountId, ...lastDays(30, new Date()) })

test('charged calls are in the usage by day, meter, operation and key, and in the ledger', async () => {
  const { db } = service.database
  const key = await newKey(db, { credits: 10 })
  const session = await newSession(db, { accountId: key.accountId })
  const stranger = await newSession(db)
  const requestIds: string[] = []
  for (let n = 0; n < 3; n++) {
    const { status, headers } = await ask(service.base, {
      path: '/api/v1/candidates/search?q=nobody',
      headers: key.headers,
    })
    assert.equal(status, 200)
    requestIds.push(String(headers['x-request-id']))
  }
  const pageOf = async (path: string, { headers } = session) =>
    String((await ask(service.base, { path, headers })).body)
  assert.match(await pageOf('/dashboard'), /Charged calls today<\/dt><dd class="value">3<\/dd>/)
  assert.match(await pageOf('/dashboard/keys'), /<td class="end p2">3<\/td>/)
  const today = new Date().toISOString().slice(0, 10)
  const row = { calls: 3, refunded: 0, credits: 3 }
  assert.deepEqual(await usageOf(key.accountId), {
    day: [{ group: today, ...row }],
    meter: [{ group: 'candidate_search', ...row }],
    operation: [{ group: 'searchCandidates', ...row }],
    key: [{ group: key.keyId, ...row }],
  })
  assert.equal((await findCreditAccount(db, key.accountId))?.balance, 7)
  const page = { accountId: key.accountId, before: null, limit: 20 }
  assert.deepEqual(
    (await findLedger(db, page)).map(({ kind, requestId }) => [kind, requestId]),
    [...requestIds.toReversed().map((id) => ['charge', id]), ['grant', null]],
  )
  const usage = await pageOf('/dashboard/usage')
  for (const id of requestIds) assert.ok(usage.includes(id), 'the page has each entry')
  const { accountId } = stranger
  assert.deepEqual(await usageOf(accountId), { day: [], meter: [], operation: [], key: [] })
  assert.deepEqual(await findLedger(db, { ...page, accountId }), [])
  assert.match(await pageOf('/dashboard/usage', stranger), /No entry yet/)
})

test('usage is the same before and after each roll-up, with entries between them', async () => {
  const { db } = service.database
  const key = await newKey(db, { credits: 10 })
  const call = () =>
    ask(service.base, { path: '/api/v1/candidates/search?q=nobody', headers: key.headers })
  const today = new Date().toISOString().slice(0, 10)
  for (const calls of [1, 2, 3]) {
    await call()
    for (let run = 0; run < 2; run++) {
      const { day } = await usageOf(key.accountId)
      const expected = [{ group: today, calls, refunded: 0, credits: calls }]
      assert.deepEqual(day, expected, `${calls} calls, run ${run}`)
      await Promise.all([rollUpAllUsage(db), rollUpAllUsage(db)])
    }
  }
})

test('the pages of the ledger hold each entry once', async () => {
  const { db } = service.database
  const { accountId, headers } = await newSession(db)
  for (let n = 1; n <= 47; n++)
    await db.transaction((tx) =>
      enterCredits(tx, { accountId, kind: 'grant', delta: n, reason: `grant ${n}` }),
    )
  const pages: string[][] = []
  let path: string | undefined = '/dashboard/usage?days=30'
  while (path !== undefined) {
    const html: string = String((await ask(service.base, { path, headers })).body)
    pages.push([...html.matchAll(/>(grant \d+)</g)].map(([, reason = '']) => reason))
    path = /href="([^"#]*before=\d+)#ledger"/.exec(html)?.[1]?.replace('&amp;', '&')
  }
  const newestFirst = Array.from({ length: 47 }, (_, i) => `grant ${47 - i}`)
  assert.deepEqual(pages.flat(), newestFirst)
  assert.deepEqual(
    pages.map(({ length }) => length),
    [20, 20, 7],
  )
})

test('the ledger as CSV has the entries of the account alone, newest first, and no cell that a spreadsheet runs', async () => {
  const { db } = service.database
  const session = await newSession(db)
  const { accountId } = session
  const reasons = ['=1+1', 'a "b", c', '@SUM(A1)']
  for (const [n, reason] of reasons.entries())
    await db.transaction((tx) =>
      enterCredits(tx, { accountId, kind: 'grant', delta: n + 1, reason }),
    )
  await db.transaction((tx) =>
    enterCredits(tx, { accountId, kind: 'adjustment', delta: -2, reason: 'spent' }),
  )
  const csv = async (query: string, { headers } = session) => {
    const reply = await ask(service.base, { path: `/api/account/credits.csv${query}`, headers })
    assert.equal(reply.headers['content-type'], 'text/csv; charset=utf-8; header=present')
    assert.equal(reply.headers['cache-control'], 'private, no-store')
    return String(reply.body)
      .split('\r\n')
      .map((line) => line.replace(/^[^,]*Z,/, ''))
  }
  const header = 'at,kind,credits,meter,operation,apiKeyId,requestId,reason'
  const expected = [
    'adjustment,-2,,,,,spent',
    "grant,3,,,,,'@SUM(A1)",
    'grant,2,,,,,"a ""b"", c"',
    "grant,1,,,,,'=1+1",
    '',
  ]
  assert.deepEqual(await csv(''), [header, ...expected])
  const [, second] = await findLedger(db, { accountId, before: null, limit: 2 })
  assert.deepEqual(await csv(`?cursor=${second?.seq}`), [header, ...expected.slice(2)])
  assert.deepEqual(await csv('', await newSession(db)), [header, ''])
})

test('a ledger of 10,001 entries is two files, and the Link of the first leads to the last entry', async () => {
  const { db } = service.database
  const { accountId, headers } = await newSession(db)
  await db.run(sql`
    insert into credit_entries (account_id, kind, delta, reference, reason)
    select ${accountId}::uuid, 'grant', n, 'operator:' || ${accountId}::text || n, 'grant ' || n
    from generate_series(1, 10001) n order by n`)
  const first = await ask(service.base, { path: '/api/account/credits.csv', headers })
  assert.equal(String(first.body).split('\r\n').length, 10_002)
  const link = /^<https:\/\/scores\.example\.org(\S+)>; rel="next"$/
  const path = link.exec(String(first.headers.link))?.[1] ?? ''
  const second = await ask(service.base, { path, headers })
  assert.match(String(second.body), /^at,[^\r]+\r\n[^,]+,grant,1,,,,,grant 1\r\n$/)
  assert.equal(second.headers.link, undefined)
})

test('a period is whole days of UTC, today included', () => {
  const { since, until } = lastDays(30, new Date('2026-03-01T00:30:00Z'))
  assert.equal(since.toISOString(), '2026-01-31T00:00:00.000Z')
  assert.equal(until.toISOString(), '2026-03-02T00:00:00.000Z')
})

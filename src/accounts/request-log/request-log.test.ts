/** The request log over HTTP, its writer, and its days. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newKey, type TestKey } from '../../../test/support/build/keys.ts'
import { newSession } from '../../../test/support/build/sessions.ts'
import { ask } from '../../../test/support/start/ask.ts'
import { eventually } from '../../../test/support/start/processes.ts'
import { startService, type TestService } from '../../../test/support/start/service.ts'
import type { CallRecord } from '../../edge/http/call-log.ts'
import { sql } from '../../platform/db/db.ts'
import { type LogFilter, type LogQuery, readLogFilter } from './log-filter.ts'
import {
  countByStatus,
  type FoundEntries,
  findEntries,
  insertEntries,
  keepRequestLogDays,
  type LogEntry,
} from './store.ts'
import { callWriter } from './writer.ts'

let service: TestService
before(async () => {
  service = await startService('https://scores.example.org', undefined, {
    env: { METERING: 'on' },
  })
})
after(() => service.stop())

/** Reads the log of an account as the page Requests does. */
async function read(
  accountId: string,
  query: LogQuery = {},
  { before = null, limit = 100 }: Page = {},
) {
  const filter = readLogFilter(query)
  assert.ok(!('fault' in filter))
  const { db } = service.database
  return (await findEntries(db, { ...filter, accountId, before, limit })).entries
}

interface Page {
  before?: number | null
  limit?: number
}

/** Returns the calls of a key once all of them are written, newest first. */
async function callsOf({ accountId, keyId }: TestKey, calls: number) {
  const { value } = await eventually(`${calls} calls are logged`, {
    see: async () => {
      const found = await read(accountId, { key: keyId })
      return found.length === calls ? found : null
    },
  })
  return value ?? []
}

test('each call with a key is logged with its outcome and its credits, and no value of it', async () => {
  const { db } = service.database
  const key = await newKey(db, { credits: 1 })
  const path = '/api/v1/candidates/search?q=secretword'
  const headers = { ...key.headers, 'X-Forwarded-For': '203.0.113.77' }
  const ids: unknown[] = []
  for (const status of [200, 402]) {
    const reply = await ask(service.base, { path, headers })
    assert.equal(reply.status, status)
    ids.unshift(reply.headers['x-request-id'])
  }
  const calls = await callsOf(key, 2)
  assert.deepEqual(
    calls.map(({ seq, at, durationUs, ...rest }) => {
      assert.ok(seq > 0 && durationUs > 0 && Math.abs(at.getTime() - Date.now()) < 60_000)
      return rest
    }),
    [
      {
        status: 402,
        error: 'insufficient_credits',
        cause: { price: 1, balance: 0 },
        credits: 0,
      },
      { status: 200, error: null, cause: null, credits: 1 },
    ].map((outcome, i) => ({
      requestId: ids[i],
      keyId: key.keyId,
      operation: 'searchCandidates',
      network: '203.0.113.0/24',
      ...outcome,
    })),
  )
  const rows = await db.rows(sql`select request_log::text from request_log`)
  assert.doesNotMatch(JSON.stringify(rows), /secretword|203\.0\.113\.77/)
})

test('a call with a session is logged without a key, and only its own account sees a call', async () => {
  const { db } = service.database
  const session = await newSession(db)
  const stranger = await newSession(db)
  const path = '/api/account/webhooks/endpoints'
  await ask(service.base, { path, headers: session.headers })
  const query = { operation: 'listAccountWebhookEndpoints' }
  const { value: calls } = await eventually('the call is logged', {
    see: async () => {
      const found = await read(session.accountId, query)
      return found.length > 0 ? found : null
    },
  })
  assert.deepEqual(
    calls?.map(({ keyId }) => keyId),
    [null],
  )
  assert.deepEqual(await read(stranger.accountId, query), [])
})

test('the pages of the log hold each call that fits the filters once', async () => {
  const { db } = service.database
  const key = await newKey(db, { credits: 0 })
  for (let n = 0; n < 5; n++)
    await ask(service.base, { path: `/api/v1/scores/${n}`, headers: key.headers })
  await ask(service.base, { path: '/api/v1/candidates/search?q=abc', headers: key.headers })
  const all = await callsOf(key, 6)
  const counts = async (query: LogQuery) => (await read(key.accountId, query)).length
  assert.equal(await counts({ status: '4xx' }), 6)
  const period = { since: new Date(Date.now() - 3_600_000), until: new Date(Date.now() + 1_000) }
  assert.deepEqual(await countByStatus(db, { accountId: key.accountId, ...period }), [
    { group: '400', calls: 5 },
    { group: '402', calls: 1 },
  ])
  await db.run(sql`
    insert into request_counts (account_id, minute, class, calls)
    values (${key.accountId}, date_trunc('minute', now()), 4, 2)`)
  const withEarlier = await countByStatus(db, { accountId: key.accountId, ...period })
  assert.deepEqual(withEarlier[0], { group: '4xx', calls: 2 })
  assert.equal(await counts({ status: '5xx' }), 0)
  assert.equal(await counts({ operation: 'getScore' }), 5)
  assert.equal(await counts({ error: 'insufficient_credits' }), 1)
  assert.equal(await counts({ to: all[5]?.at.toISOString() ?? '' }), 0)
  const seen: string[] = []
  for (let before: number | null = null; ; ) {
    const page: LogEntry[] = await read(
      key.accountId,
      { operation: 'getScore' },
      { before, limit: 2 },
    )
    if (page.length === 0) break
    seen.push(...page.map(({ requestId }) => requestId))
    before = page.at(-1)?.seq ?? null
  }
  assert.deepEqual([seen.length, new Set(seen).size], [5, 5])
})

test('a look at the log ends after its share of calls and says where, and a time is found at its calls', async () => {
  const { db } = service.database
  const { accountId } = await newSession(db)
  const start = Date.parse('2026-05-14T09:00:00Z')
  const call = (n: number) => ({
    at: new Date(start + n * 60_000),
    requestId: `call${String(n).padStart(12, '0')}`,
    accountId,
    keyId: null,
    operationId: n === 0 ? 'getScore' : 'searchCandidates',
    status: n % 2 === 0 ? 200 : 404,
    error: n % 2 === 0 ? null : 'score_not_found',
    cause: null,
    credits: 0,
    durationUs: 1,
    network: '192.0.2.0/24',
  })
  // Of two nodes the second one writes its batch first.
  const calls = Array.from({ length: 200 }, (_, n) => call(n))
  await insertEntries(db, calls.slice(0, 100))
  await insertEntries(db, calls.slice(103))
  await insertEntries(db, calls.slice(100, 103))
  const wanted = { accountId, before: null, limit: 10, lookedAtMax: 50 }
  const seen = { pages: 0, ids: [] as string[] }
  for (let before: number | null = null; ; ) {
    const found: FoundEntries = await findEntries(db, { ...wanted, before, operation: 'getScore' })
    seen.pages++
    seen.ids.push(...found.entries.map(({ requestId }) => requestId))
    before = found.lookedTo
    if (before === null) break
  }
  assert.deepEqual(seen, { pages: 5, ids: ['call000000000000'] })
  const within = async (from: number, to: number, more: LogFilter = {}) => {
    const time = { from: call(from).at, to: call(to).at }
    const { entries } = await findEntries(db, {
      accountId,
      before: null,
      limit: 10,
      ...time,
      ...more,
    })
    return entries.map(({ requestId }) => Number(requestId.slice(4))).sort((a, b) => a - b)
  }
  assert.deepEqual(await within(20, 24), [20, 21, 22, 23])
  assert.deepEqual(await within(98, 106), [98, 99, 100, 101, 102, 103, 104, 105])
  assert.deepEqual(await within(98, 106, { statuses: [400, 499] }), [99, 101, 103, 105])
  assert.deepEqual(await within(199, 300), [199])
  assert.deepEqual(await within(300, 400), [])
})

test('a full buffer and a failed batch drop calls, count them, and delay nothing', async () => {
  const record: CallRecord = {
    at: new Date(),
    requestId: 'r',
    accountId: '00000000-0000-4000-8000-000000000000',
    keyId: null,
    operationId: 'getScore',
    credits: 0,
    status: 200,
    error: null,
    cause: null,
    durationUs: 1,
    address: undefined,
  }
  const outages: unknown[] = []
  const failing = { run: () => Promise.reject(new Error('down')), rows: () => Promise.resolve([]) }
  const calls = callWriter({
    db: failing as never,
    onOutage: (error) => outages.push(error),
    bufferMax: 3,
    everyMs: 3_600_000,
  })
  for (let n = 0; n < 5; n++) calls.add(record)
  assert.equal(calls.dropped(), 2)
  await calls.close()
  assert.deepEqual([calls.dropped(), outages.length], [5, 1])
})

test('an orderly end writes the calls that are still in memory', async () => {
  const { db } = service.database
  const calls = callWriter({ db, onOutage: assert.fail, everyMs: 3_600_000 })
  const accountId = (await newSession(db)).accountId
  for (let n = 0; n < 1_500; n++)
    calls.add({
      at: new Date(),
      requestId: `r${n}`,
      accountId,
      keyId: null,
      operationId: 'getScore',
      credits: 0,
      status: 200,
      error: null,
      cause: null,
      durationUs: 1,
      address: undefined,
    })
  await calls.close()
  const [row] = await db.rows<{ count: number }>(
    sql`select count(*)::int as count from request_log where account_id = ${accountId}`,
  )
  assert.equal(row?.count, 1_500)
})

test('days are made ahead, and the days before the kept ones are removed', async () => {
  const { db } = service.database
  const days = async () =>
    (
      await db.rows<{ name: string }>(sql`
        select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'request_log'::regclass and c.relname like 'request_log_20%' order by 1`)
    ).map(({ name }) => name.slice('request_log_'.length))
  await keepRequestLogDays(db, { days: 1, now: new Date('2031-05-14T23:59:59Z') })
  assert.deepEqual(await days(), ['2031_05_14', '2031_05_15', '2031_05_16'])
  await keepRequestLogDays(db, { days: 1, now: new Date('2031-05-16T00:00:00Z') })
  assert.deepEqual(await days(), ['2031_05_15', '2031_05_16', '2031_05_17', '2031_05_18'])
  await keepRequestLogDays(db, { days: 0, now: new Date('2031-05-16T00:00:00Z') })
  assert.deepEqual(await days(), [])
  const [left] = await db.rows(sql`select from request_log limit 1`)
  assert.equal(left, undefined)
})

test('a filter takes times of the calendar only, and a class as its hundred', () => {
  assert.ok('fault' in readLogFilter({ from: 'yesterday' }))
  assert.ok('fault' in readLogFilter({ from: '2026-05-14' }))
  assert.ok('fault' in readLogFilter({ from: '2026-05-14T09:00:00Z', to: '2026-05-14T09:00:00Z' }))
  const filter = readLogFilter({ status: '4xx' })
  assert.deepEqual('statuses' in filter && filter.statuses, [400, 499])
  const one = readLogFilter({ status: '404' })
  assert.deepEqual('statuses' in one && one.statuses, [404, 404])
})

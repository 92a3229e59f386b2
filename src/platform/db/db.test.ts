import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { beforeRival } from '../../../test/support/fault/rival.ts'
import { onServer, testDatabase } from '../../../test/support/start/database.ts'
import { eventually } from '../../../test/support/start/processes.ts'
import { timeoutMultiplier } from '../../../test/support/start/timeout-multiplier.ts'
import { setTimeoutMultiplier } from '../deadlines.ts'
import { UnavailableError } from '../errors.ts'
import {
  type DbOptions,
  fragment,
  openDb,
  type PoolCounts,
  sql,
  sqlState,
  type TransactionOptions,
} from './db.ts'
import { leaseMs } from './lease.ts'
import { openReplicas } from './replicas.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
await db.run(sql`create table notes (id bigint primary key, text text not null)`)

function open(more: Partial<DbOptions> = {}) {
  const opened = openDb({
    url: database.url,
    connectionsMax: 1,
    applicationName: 'db test',
    onError: () => {},
    ...more,
  })
  after(() => opened.close())
  return opened
}

function usualDeadlines(t: TestContext): void {
  setTimeoutMultiplier(1)
  t.after(() => setTimeoutMultiplier(timeoutMultiplier))
}

test('an interpolated value becomes a parameter, even if it contains SQL', async () => {
  const hostile = `'; drop table notes; --`
  const [row] = await db.rows<{ text: string; list: string[] }>(
    sql`select ${hostile}::text as text, ${[hostile, 'a,b', '{}']}::text[] as list`,
  )
  assert.deepEqual({ ...row }, { text: hostile, list: [hostile, 'a,b', '{}'] })
})

test('a statement has one name for each text, and is prepared under it', async () => {
  const one = (id: number) => sql`select text from notes where id = ${id}`
  const { name, text } = one(1)
  assert.equal(one(2).name, name)
  assert.equal(text, 'select text from notes where id = $1')
  assert.notEqual(sql`select text from notes where id > ${1}`.name, name)
  const alone = open()
  await alone.rows(one(1))
  const prepared = await alone.rows<{ name: string }>(sql`select name from pg_prepared_statements`)
  assert.ok(prepared.some((statement) => statement.name === name))
})

test('with transaction pooling, settings end with the transaction and names are prepared only if the pooler keeps them', async () => {
  const mode = sql`select current_setting('plan_cache_mode') as mode`
  for (const pooling of ['transaction', 'transaction-prepared'] as const) {
    const pooled = openDb({
      url: database.url,
      pooling,
      connectionsMax: 1,
      applicationName: 'pooled',
      onError: () => {},
    })
    assert.deepEqual(await pooled.rows(mode), [{ mode: 'force_generic_plan' }])
    const prepared = await pooled.rows<{ name: string }>(
      sql`select name from pg_prepared_statements`,
    )
    assert.equal(
      prepared.some(({ name }) => name === mode.name),
      pooling === 'transaction-prepared',
    )
    // Settings left on the connection itself are visible only outside our transactions.
    await pooled.run({
      text: "commit; select set_config('x.mode', current_setting('plan_cache_mode'), false)",
      name: '',
      values: [],
    })
    assert.deepEqual(await pooled.rows(sql`select current_setting('x.mode') as mode`), [
      { mode: 'auto' },
    ])
    await pooled.close()
  }
})

test('a fragment is text of its statement, before, between and behind its parameters', async () => {
  const columns = fragment`id, text`
  const all = fragment`true`
  const find = (id: number, text: string) =>
    sql`select ${columns} from notes where id = ${id} and text = ${text} and ${all}`
  await db.run(sql`insert into notes values (99, 'a')`)
  for (const text of ['a', 'b', 'a'])
    assert.deepEqual(await db.rows(find(99, text)), text === 'a' ? [{ id: 99, text }] : [])
  assert.deepEqual(find(99, 'a').values, [99, 'a'])
  await db.run(sql`delete from notes where id = 99`)
})

test('a bigint is returned as a number if it is a safe integer; otherwise the statement fails', async () => {
  const of = (value: string) => db.rows<{ value: number }>(sql`select ${value}::bigint as value`)
  assert.equal((await of('9007199254740991'))[0]?.value, 2 ** 53 - 1)
  await assert.rejects(of('9007199254740992'), /safe integer/)
})

test('a transaction commits its changes, and rolls them back if it throws', async () => {
  const kept = await db.transaction(async (tx) => {
    await tx.run(sql`insert into notes values (1, 'kept')`)
    return 'result'
  })
  assert.equal(kept, 'result')
  const thrown = new Error('no')
  const failing = db.transaction(async (tx) => {
    await tx.run(sql`insert into notes values (2, 'lost')`)
    throw thrown
  })
  await assert.rejects(failing, (error) => error === thrown)
  assert.deepEqual(await db.rows(sql`select id from notes order by id`), [{ id: 1 }])
})

test('a transaction is repeated on a serialization failure, five times at most', async () => {
  let attempts = 0
  const conflict = sql`do $$ begin raise exception 'again' using errcode = '40001'; end $$`
  const result = await db.transaction(async (tx) => {
    if (++attempts < 5) await tx.run(conflict)
    return attempts
  })
  assert.equal(result, 5)
  attempts = 0
  const hopeless = db.transaction(async (tx) => {
    attempts++
    await tx.run(conflict)
  })
  await assert.rejects(hopeless, UnavailableError)
  assert.equal(attempts, 5)
})

test('a failed statement reports its SQLSTATE and keeps its connection', async () => {
  const alone = open()
  const pid = async () =>
    (await alone.rows<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid
  const before = await pid()
  await assert.rejects(alone.rows(sql`select 1 / 0`), (error) => sqlState(error) === '22012')
  await assert.rejects(
    alone.transaction((tx) => tx.run(sql`select 1 / 0`)),
    (error) => sqlState(error) === '22012',
  )
  assert.equal(await pid(), before)
})

test('503: a statement or a lock that takes too long is unavailable, and the connection stays open', async () => {
  const hasty = open({ statementTimeoutMs: 1_000 })
  const pidOf = async () =>
    (await hasty.rows<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid
  // Even a quick statement can exceed the timeout under load.
  const pid = () => eventually('an answer', { see: () => pidOf().catch(() => undefined) })
  const before = await pid()
  await assert.rejects(hasty.rows(sql`select pg_sleep(10)`), UnavailableError)
  await db.transaction(async (tx) => {
    await tx.run(sql`lock table notes`)
    await assert.rejects(hasty.rows(sql`select * from notes`), UnavailableError)
  })
  assert.equal((await pid()).value, before.value)
})

test('a statement waits for a lock at most half of its timeout', async (t) => {
  usualDeadlines(t)
  const waitOf = async (statementTimeoutMs?: number) => {
    const connectionWaitMs = 60_000
    const one = open({
      connectionWaitMs,
      ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
    })
    return one.rows(sql`select setting::int as ms from pg_settings where name = 'lock_timeout'`)
  }
  assert.deepEqual(await waitOf(), [{ ms: 1_000 }])
  assert.deepEqual(await waitOf(60_000), [{ ms: 30_000 }])
  assert.deepEqual(await waitOf(0), [{ ms: 0 }])
})

test('503: a connection that met a standby, a shutdown or a lost file is closed, and its cause is reported', async () => {
  const causes: (string | undefined)[] = []
  const alone = open({ onOutage: (cause) => causes.push(sqlState(cause)) })
  const pid = async () =>
    (await alone.rows<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid
  const raise = (state: string) => ({
    text: `do $$ begin raise exception 'unfit' using errcode = '${state}'; end $$`,
    name: '',
    values: [],
  })
  for (const state of ['25006', '57P01', '58P01']) {
    const before = await pid()
    await assert.rejects(alone.run(raise(state)), UnavailableError)
    const between = await pid()
    assert.notEqual(between, before, state)
    await assert.rejects(
      alone.transaction((tx) => tx.run(raise(state))),
      UnavailableError,
    )
    assert.notEqual(await pid(), between, `${state} in a transaction`)
  }
  const kept = await pid()
  await assert.rejects(alone.run(raise('53100')), UnavailableError)
  assert.equal(await pid(), kept, 'a full disk leaves the connection open')
  assert.deepEqual(causes, ['25006', '25006', '57P01', '57P01', '58P01', '58P01', '53100'])
})

test('a meter counts the connections of a pool and the calls that wait, and measures each statement', async () => {
  let counts = (): PoolCounts => ({ inUse: -1, idle: -1, waiting: -1 })
  let [waits, statements] = [0, 0]
  const measured = open({
    connectionsMax: 1,
    connectionWaitMs: 60_000,
    meter: {
      watch: (read) => (counts = read),
      waited: () => waits++,
      took: () => statements++,
    },
  })
  let second: Promise<unknown> | undefined
  await measured.transaction(async (tx) => {
    await tx.rows(sql`select 1`)
    second = measured.rows(sql`select 1`)
    assert.deepEqual(counts(), { inUse: 1, idle: 0, waiting: 1 })
  })
  await second
  assert.deepEqual(counts(), { inUse: 0, idle: 1, waiting: 0 })
  assert.deepEqual([waits, statements], [2, 2])
})

test('503: a connection lost during a call is unavailable, and the next call gets a new one', async () => {
  const alone = open()
  await assert.rejects(
    alone.rows(sql`select pg_terminate_backend(pg_backend_pid())`),
    UnavailableError,
  )
  await assert.rejects(
    alone.transaction(async (tx) => {
      await tx.run(sql`insert into notes values (3, 'lost')`)
      await tx.run(sql`select pg_terminate_backend(pg_backend_pid())`)
    }),
    UnavailableError,
  )
  assert.deepEqual(await alone.rows(sql`select id from notes where id = 3`), [])
})

test('503: a missing server, a missing database and a silent server are unavailable in under a second', async (t) => {
  usualDeadlines(t)
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  after(() => silent.close())
  const address = silent.address()
  assert.ok(address !== null && typeof address === 'object')
  const missing = new URL(database.url)
  missing.pathname = '/there_is_no_such_database'
  const urls = [
    'postgres://nobody@127.0.0.1:1/none',
    missing.href,
    `postgres://nobody@127.0.0.1:${address.port}/none`,
  ]
  const rival = () => onServer(database.url, 'select 1')
  for (const url of urls) {
    const refused = assert.rejects(open({ url }).rows(sql`select 1`), UnavailableError)
    await beforeRival({ what: url, withinMs: 1_000, rival }, refused)
  }
})

test('503: a call waits half a second for a connection and no longer', async (t) => {
  usualDeadlines(t)
  const one = open({ connectionsMax: 1 })
  await one.transaction(async () => {
    await assert.rejects(one.rows(sql`select 1`), UnavailableError)
  })
})

test('a change that hides something waits for the leases of replicas, and only while a process reads them', async () => {
  const hide = async (options?: TransactionOptions): Promise<number> => {
    const beganAt = performance.now()
    await db.transaction(
      (tx) => tx.run(sql`do $$ begin raise notice 'hidden' using errcode = 'HIDES'; end $$`),
      options,
    )
    return performance.now() - beganAt
  }
  assert.ok((await hide()) < leaseMs)
  const places: string[] = []
  // The primary itself is as good as a replica that never lags. Nothing listens on port 1.
  const { reads, job, leases, close } = openReplicas({
    primary: db,
    beatsDb: open(),
    urls: [database.url, 'postgres://nobody@127.0.0.1:1/none'],
    connectionsMax: 1,
    open: (_, options) => openDb({ ...options, onError: () => {} }),
    count: (place) => void places.push(place),
  })
  const read = () => reads.at.rows(sql`select 1 as one`)
  const beat = () => assert.rejects(job.run(new AbortController().signal), /replica 2 is not read/)
  await beat()
  await read()
  await beat()
  await read()
  assert.deepEqual(leases(), { 'replica 1': 1, 'replica 2': 0 })
  const [waitedMs, unawaitedMs] = await Promise.all([hide(), hide({ isAwaited: false })])
  assert.ok(waitedMs >= leaseMs, `waited ${waitedMs} ms`)
  assert.ok(unawaitedMs < leaseMs)
  // The lease has run out meanwhile.
  await read()
  assert.deepEqual(places, ['primary', 'replica 1', 'primary'])
  await close()
  assert.ok((await hide()) < leaseMs)
})

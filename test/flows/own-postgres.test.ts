/**
 * Everything works on an operator's PostgreSQL with Debian's default configuration, directly and
 * through PgBouncer.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Db, openDb, sql } from '../../src/platform/db/db.ts'
import { type Pooling, requiredSettings } from '../../src/platform/db/session-settings.ts'
import { publicUrl } from '../support/build/credentials.ts'
import { publicLine } from '../support/build/workers.ts'
import { ask } from '../support/start/ask.ts'
import { databaseUrl, onServer } from '../support/start/database.ts'
import {
  missingPgBouncer,
  missingPostgres,
  type OwnPostgres,
  type Pooler,
  startOwnPostgres,
  startPgBouncer,
} from '../support/start/debian-postgres.ts'
import {
  assay,
  type Env,
  eventually,
  report,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const folder = temporaryFolder()

/**
 * Checks search, charged reads, imports and webhooks with the demo. The first start makes the demo
 * in the empty database; later starts find it.
 */
async function everythingWorks(over: Env, username: string): Promise<void> {
  const env: Env = {
    ASSAY_DATA_DIR: join(folder, 'demo'),
    PUBLIC_URL: 'http://localhost:8080',
    SECRETS_KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    // The usual deadlines. They are too short for a search that PostgreSQL compiles with JIT first,
    // so this test would find JIT left on.
    TIMEOUT_MULTIPLIER: '1',
    ...over,
  }
  const server = await startServer(env, ['--demo'])
  const key = readFileSync(join(folder, 'demo/demo/api-key'), 'utf8').trim()
  const readOnce = async (path: string) => {
    const reply = await ask(server.base, { path, headers: { Authorization: `Bearer ${key}` } })
    // A busy machine may answer 503 once; then try again.
    if (reply.status === 503) return null
    assert.equal(reply.status, 200, reply.body.toString())
    assert.equal(reply.headers['service-credits-charged'], '1')
    return JSON.parse(reply.body.toString())
  }
  const find = (q: string, countMin: number) =>
    eventually(`${countMin} are found by ${q}`, {
      withinMs: 30_000,
      see: async () =>
        (await readOnce(`/api/v1/candidates/search?q=${q}`))?.resultCount >= countMin,
    })
  await find('demo', 6)
  await eventually('a candidate is read', {
    withinMs: 30_000,
    see: async () => (await readOnce('/api/v1/candidates/demo-amara-okonkwo'))?.username,
  })

  const from = join(folder, `${username}.ndjson`)
  writeFileSync(from, `${JSON.stringify(publicLine({ username }))}\n`)
  assert.equal((await report(['workers', 'import', '--from', from], env)).created, 1)
  await find(`%40${username}`, 1)

  const { revoked } = await report(['demo', 'tick'], env)
  await eventually('the event arrives, and its signature verifies', {
    withinMs: 30_000,
    see: async () =>
      server.out().includes(`webhook evidence.revoked received, signature verified: evt_`) &&
      server.out().includes(String(revoked)),
  })
  const doctor = await report(['doctor'], { ...env, PORT: '0' })
  assert.ok(doctor.ok)
  server.signal('SIGINT')
  assert.equal(await server.ended, 0)
}

void describe('on a PostgreSQL with default settings', { skip: missingPostgres }, () => {
  let server: OwnPostgres
  let database: string
  before(async () => {
    server = await startOwnPostgres(folder)
    for (const name of ['flow', 'contrary']) await onServer(server.url, `create database ${name}`)
    database = databaseUrl(server.url, 'flow')
    const contrary: Record<string, string> = {
      datestyle: `'SQL, DMY'`,
      timezone: `'Asia/Kathmandu'`,
      default_transaction_isolation: `'serializable'`,
      synchronous_commit: 'off',
      jit: 'on',
      plan_cache_mode: 'force_custom_plan',
      client_min_messages: 'warning',
    }
    for (const [name, value] of Object.entries(contrary))
      await onServer(server.url, `alter database contrary set ${name} = ${value}`)
  })

  test('search, paid reads, imports and webhooks work', () =>
    everythingWorks({ DATABASE_URL: database }, 'straight-in'))

  test('every connection sets what the code requires, even if the database has other defaults', () =>
    inForce({ url: databaseUrl(server.url, 'contrary'), pooling: 'session' }))

  void describe('behind PgBouncer', { skip: missingPgBouncer }, () => {
    let pooler: Pooler
    before(async () => {
      pooler = await startPgBouncer(folder, server, ['flow', 'contrary'])
    })
    after(() => pooler.stop())

    test('in session mode everything works', () =>
      everythingWorks({ DATABASE_URL: pooler.url('flow', 'session') }, 'by-session'))

    test('in transaction mode everything works with DATABASE_POOLING=transaction', () =>
      everythingWorks(
        { DATABASE_URL: pooler.url('flow', 'transaction'), DATABASE_POOLING: 'transaction' },
        'by-transaction',
      ))

    test('the required settings hold in both modes, also on a connection that another client has changed', async () => {
      const transaction = pooler.url('contrary', 'transaction')
      await inForce({ url: pooler.url('contrary', 'session'), pooling: 'session' })
      await onServer(transaction, `set timezone = 'Asia/Kathmandu'; set jit = on`)
      await inForce({ url: transaction, pooling: 'transaction' })
    })

    test('transaction mode without DATABASE_POOLING is rejected, and the message names the setting', async () => {
      const env = {
        DATABASE_URL: pooler.url('flow', 'transaction'),
        ASSAY_DATA_DIR: folder,
        PUBLIC_URL: publicUrl,
      }
      for (const command of [['serve'], ['migrate'], ['workers', 'show', 'by-session']]) {
        const { ended, out, err } = await assay(command, env)
        assert.equal(ended, 1, command.join(' '))
        assert.match(out + err, /pooler in transaction mode.* Set DATABASE_POOLING=transaction/)
      }
      const { ended, out } = await assay(['doctor'], env)
      assert.equal(ended, 1)
      assert.match(out, /^fail +database .* Set DATABASE_POOLING=transaction/m)
    })

    test('a transaction rolls back completely, and a failed statement changes nothing', async () => {
      const db = open({ url: pooler.url('flow', 'transaction'), pooling: 'transaction' })
      await db.run(
        sql`create table if not exists notes (id int primary key deferrable initially deferred)`,
      )
      await db.run(sql`insert into notes values (1)`)
      await assert.rejects(db.run(sql`insert into notes values (1), (2)`), /notes_pkey/)
      await assert.rejects(
        db.transaction(async (tx) => {
          await tx.run(sql`insert into notes values (3)`)
          throw new Error('no')
        }),
        /^Error: no$/,
      )
      assert.deepEqual(await db.rows(sql`select id from notes`), [{ id: 1 }])
      await db.close()
    })
  })
})

interface Installation {
  url: string
  pooling: Pooling
}

const statementTimeoutMs = 7_000

function open(installation: Installation): Db {
  const options = { connectionsMax: 3, applicationName: 'own postgres', onError: () => {} }
  return openDb({ ...installation, ...options, statementTimeoutMs, connectionWaitMs: 60_000 })
}

/**
 * Asserts the settings in single statements and in transactions, on several connections at once.
 */
async function inForce(installation: Installation): Promise<void> {
  const db = open(installation)
  const expected = {
    ...requiredSettings,
    statement_timeout: String(statementTimeoutMs),
    lock_timeout: String(statementTimeoutMs / 2),
  }
  const names = Object.keys(expected)
  const found = (on: Pick<Db, 'rows'>) =>
    on.rows<{ name: string; setting: string }>(
      sql`select name, setting from pg_settings where name = any(${names}::text[]) order by name`,
    )
  const answers = await Promise.all(
    [0, 1, 2].flatMap(() => [found(db), db.transaction((tx) => found(tx))]),
  )
  for (const rows of answers)
    assert.deepEqual(Object.fromEntries(rows.map((row) => [row.name, row.setting])), expected)
  await db.close()
}

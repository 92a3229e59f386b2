/**
 * The restricted database role of a server (`assay migrate --api-role`): it can do its work and
 * reads nothing private.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { apiRights, tablesByRights } from '../../src/database/api-role.ts'
import { perform } from '../../src/operations/perform.ts'
import { type Db, openDb, sql } from '../../src/platform/db/db.ts'
import { openReporting } from '../../src/reports/report.ts'
import { readReportRequest } from '../../src/reports/report-request.ts'
import { readFeed } from '../../src/webhooks/events/feed.ts'
import { webhooksCreate, webhooksDisable } from '../../src/webhooks/operations.ts'
import { accountDrives } from '../support/build/account-drives.ts'
import { giveScore, indexed } from '../support/build/candidates.ts'
import { publicUrl } from '../support/build/credentials.ts'
import { creditDrives } from '../support/build/credit-drives.ts'
import { newKey, type TestKey } from '../support/build/keys.ts'
import { requestReview } from '../support/build/reports.ts'
import { newSession } from '../support/build/sessions.ts'
import { testRingText, webhookPerformer } from '../support/build/webhooks.ts'
import { publicLine, register } from '../support/build/workers.ts'
import { testWaitMs } from '../support/fault/in-time.ts'
import { ask } from '../support/start/ask.ts'
import { dashboardPaths } from '../support/start/dashboard.ts'
import { onServer, testDatabase } from '../support/start/database.ts'
import { databaseRole } from '../support/start/database-role.ts'
import { get, issue, scoreLine, statusOf, verify } from '../support/start/deployment.ts'
import {
  assay,
  type Env,
  eventually,
  report,
  type ServerProcess,
  spawnAssay,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const database = await testDatabase()
const { db } = database
/** The request log is in a database of its own in all these tests. */
const callsDatabase = await testDatabase()
const callsName = new URL(callsDatabase.url).pathname.slice(1)
const role = await databaseRole(database.url)
const folder = temporaryFolder()
const owner: Env = {
  DATABASE_URL: database.url,
  REQUEST_LOG_DATABASE_URL: callsDatabase.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: publicUrl,
  TRUSTED_PROXIES: '127.0.0.1',
}

let client: Client | undefined
after(async () => {
  await client?.end()
  await callsDatabase.drop()
  await role.drop()
  await database.drop()
})

await report(['migrate', '--api-role', role.name], owner)
await report(['keys', 'create'], owner)
/** The last test that uses it ends it. */
const asRole = await startServer(
  {
    ...owner,
    DATABASE_URL: role.url,
    REQUEST_LOG_DATABASE_URL: new URL(
      new URL(callsDatabase.url).pathname + new URL(role.url).search,
      role.url,
    ).href,
    SECRETS_KEYRING: testRingText,
  },
  ['--no-jobs'],
)

test('1: a missing role and a role that can read everything are named and get no grant', async () => {
  const missing = await assay(['migrate', '--api-role', 'nobody_here'], owner)
  assert.equal(missing.ended, 1)
  assert.match(missing.err, /no role nobody_here/)
  const mighty = await assay(['migrate', '--api-role', 'pg_read_all_data'], owner)
  assert.equal(mighty.ended, 1)
  assert.match(mighty.err, /Nothing was granted: .*evidence_private/)
  const [row] = await db.rows<{ granted: boolean }>(
    sql`select has_table_privilege('pg_read_all_data', 'rate_windows', 'insert') as granted`,
  )
  assert.equal(row?.granted, false)
  assert.equal((await assay(['migrate', '--status', '--api-role', role.name], owner)).ended, 2)
  const { DATABASE_URL: _, REQUEST_LOG_DATABASE_URL: __, ...embedded } = owner
  assert.equal((await assay(['migrate', '--api-role', role.name], embedded)).ended, 2)
})

test('every table declares the rights of the server', async () => {
  const tables = await db.rows<{ name: string }>(
    sql`select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'm', 'p') and not relispartition`,
  )
  assert.deepEqual(
    tables.map(({ name }) => name).filter((name) => !Object.hasOwn(apiRights, name)),
    [],
    'add these tables to src/database/api-role.ts',
  )
  assert.deepEqual(
    Object.keys(apiRights).filter((table) => tables.every(({ name }) => name !== table)),
    [],
    'these tables of src/database/api-role.ts are not there',
  )
  const named = Object.values(tablesByRights).flatMap((names) => names.trim().split(/\s+/))
  assert.deepEqual(named.toSorted(), Object.keys(apiRights).toSorted(), 'each is named once')
})

test('permission denied: the role reads nothing private and changes no read-only table', async () => {
  assert.equal((await report(['migrate', '--api-role', role.name], owner)).apiRole, role.name)
  client = new Client({ connectionString: role.url })
  await client.connect()
  const denied = async (statement: string): Promise<void> => {
    await assert.rejects(client?.query(statement) ?? Promise.resolve(), (error: Error) => {
      // PostgreSQL rejects every change of a view over several tables, for any role.
      assert.match(
        error.message,
        /^(permission denied for (table|view)|cannot .+ view) /,
        statement,
      )
      return true
    })
  }
  let tried = 0
  for (const [table, rights] of Object.entries(apiRights)) {
    const statements = {
      select: `select * from ${table}`,
      insert: `insert into ${table} default values`,
      update: `update ${table} set ${await firstColumn(table)} = default`,
      delete: `delete from ${table}`,
    }
    for (const right of ['select', 'insert', 'update', 'delete'] as const) {
      if (rights.includes(right)) continue
      tried++
      await denied(statements[right])
    }
  }
  assert.ok(tried > 50, `${tried} statements tried`)
  await denied('select payload from evidence_private')
  await denied('truncate evidence')
})

async function firstColumn(table: string): Promise<string> {
  const [column] = await db.rows<{ name: string }>(sql`
    select attname as name from pg_attribute where attrelid = ${table}::regclass and attnum = 1`)
  return column?.name ?? ''
}

test('the next run revokes a right that was granted by hand', async () => {
  await onServer(database.url, `grant select on evidence_private to ${role.name}`)
  await report(['migrate', '--api-role', role.name], owner)
  await assert.rejects(client?.query('select payload from evidence_private') ?? Promise.resolve())
})

test('the role may do everything that the routes of webhooks and agent decisions need', async () => {
  const asServer = openDb({
    url: role.url,
    connectionsMax: 2,
    applicationName: 'as the role',
    onError: () => {},
  })
  const userId = randomUUID()
  const performer = webhookPerformer(asServer)
  const actor = `user ${userId}`
  const own = { accountId: userId, userId, role: 'member', actor, by: actor } as const
  const member = { kind: 'member', ...own } as const
  const creation = { account: userId, url: 'https://hooks.example.com/' }
  const events = ['score.updated' as const]
  const create = (idempotencyKey: string) =>
    perform(performer, webhooksCreate, member, { ...creation, events }, { idempotencyKey })
  const key = randomUUID()
  const created = await create(key)
  assert.ok('output' in created)
  assert.deepEqual(await create(key), created)
  const endpointId = created.output.endpoint.id
  const disabled = await perform(performer, webhooksDisable, member, { endpointId })
  assert.equal('output' in disabled && disabled.output.changed, true)
  for (const from of [{ after: '1' }, { since: '2026-05-14T09:00:00Z' }]) {
    const feed = await readFeed(asServer, { types: 'score.updated', ...from })
    assert.ok('events' in feed)
    assert.deepEqual(feed.events, [])
  }
  const content = contentOf({ decision: 'hired', subject: { kind: 'candidate', username: 'ada' } })
  const decision = { userId, apiKeyId: null, content, idempotencyKey: randomUUID() }
  const report = openReporting(asServer, 'unlocked')
  assert.partialDeepStrictEqual(await report({ ...decision, now: new Date() }), { isReplay: false })
  assert.partialDeepStrictEqual(await report({ ...decision, now: new Date() }), { isReplay: true })
  assert.equal(await requestReview(asServer, userId), true)
  await asServer.close()
})

function contentOf(body: object) {
  const read = readReportRequest(body)
  assert.ok('content' in read)
  return read.content
}

test('a server with the role answers every public request', async () => {
  const [credential] = await issue(owner, folder, [scoreLine()])
  assert.ok(credential !== undefined)
  assert.equal((await get(asRole.base, '/readyz')).status, 200)
  assert.equal((await verify(asRole.base, credential)).body.valid, true)
  assert.equal((await statusOf(asRole.base, credential)).body.status, 'active')
})

test('a server with the role serves every page of the dashboard and every route of an account', async () => {
  const service = { base: asRole.base, database }
  const { headers, ownOrigin, accountId } = await newSession(db)
  for (const page of dashboardPaths)
    assert.equal((await ask(asRole.base, { path: page, headers })).status, 200, page)
  const { keyId } = await newKey(db, { accountId, name: 'old' })
  for (const [path, status, body] of [
    ['/dashboard/keys/new', 201, 'do=create&name=new&environment=test&scopes:scores:read=on'],
    [`/dashboard/keys/${keyId}`, 201, 'do=rotate&overlapHours=24'],
    [`/dashboard/keys/${keyId}`, 303, 'do=revoke&confirm=old'],
  ] as const) {
    const form = { ...ownOrigin, 'Content-Type': 'application/x-www-form-urlencoded' }
    const reply = await ask(asRole.base, { method: 'POST', path, headers: form, body })
    assert.equal(reply.status, status, body)
  }
  for (const drives of [accountDrives, creditDrives])
    for (const [operation, question] of Object.entries((await drives(service)).good)) {
      const { status, body } = await ask(asRole.base, question)
      assert.ok(status < 300, `${operation}: ${status} ${String(body)}`)
    }
})

async function endedWell(server: ServerProcess): Promise<void> {
  server.signal('SIGINT')
  assert.equal(await server.ended, 0)
  assert.doesNotMatch(server.out(), /permission denied/)
}

test('a server with the role counts and charges every paid read, with and without an Idempotency-Key', async () => {
  await register(indexed(db), [publicLine()])
  const scoreId = 'ada0'.repeat(16)
  await giveScore(db, 'ada', scoreId)
  const { base } = asRole
  const live = await newKey(db, { credits: 100 })
  const poor = await newKey(db)
  const reads = [
    '/api/v1/candidates/search?q=ada',
    '/api/v1/candidates/ada',
    `/api/v1/scores/${scoreId}`,
  ]
  for (const [i, path] of reads.entries()) {
    const read = (headers: Record<string, string>) => ask(base, { path, headers })
    const named = (key: TestKey) => ({ ...key.headers, 'Idempotency-Key': `a-named-purchase-${i}` })
    const charged = async (headers: Record<string, string>) => {
      const reply = await read(headers)
      assert.equal(reply.status, 200, path)
      return reply.headers['service-credits-charged']
    }
    // The first use of a key and its second use take different paths.
    assert.deepEqual([await charged(live.headers), await charged(live.headers)], ['1', '1'])
    assert.deepEqual([await charged(named(live)), await charged(named(live))], ['1', '0'])
    assert.equal((await read(poor.headers)).status, 402)
    assert.equal((await read(named(poor))).status, 402)
  }
  const missing = await ask(base, { path: '/api/v1/candidates/nobody', headers: live.headers })
  assert.equal(missing.status, 404)
  const { headers } = await newSession(db, { accountId: live.accountId })
  await eventually('the dashboard shows the call of the other database', {
    see: async () => {
      const path = `/dashboard/requests/${String(missing.headers['x-request-id'])}`
      return (await ask(base, { path, headers })).status === 200
    },
  })
  const { calls } = await report(['api-keys', 'calls', live.keyId], owner)
  const [last] = calls as [object]
  assert.equal((calls as object[]).length, 13)
  const requestId = String(missing.headers['x-request-id'])
  assert.partialDeepStrictEqual(last, { requestId, operation: 'getCandidate', status: 404 })
  const logged = (of: Db) => of.rows(sql`select from request_log limit 1`)
  assert.deepEqual([(await logged(db)).length, (await logged(callsDatabase.db)).length], [0, 1])
})

test('calls are answered while the database of the request log is away, and doctor names its setting', async () => {
  const away = { ...owner, REQUEST_LOG_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
  const doctor = await assay(['doctor'], away)
  assert.match(doctor.out, /^fail +request log .*Check REQUEST_LOG_DATABASE_URL/m)
  const live = await newKey(db, { credits: 1 })
  await callsDatabase.takeAway()
  const read = await ask(asRole.base, { path: '/api/v1/candidates/ada', headers: live.headers })
  assert.equal(read.status, 200)
  const { headers } = await newSession(db, { accountId: live.accountId })
  const page = await ask(asRole.base, { path: '/dashboard/requests', headers })
  assert.equal(page.status, 503)
  await onServer(database.url, `alter database ${callsName} allow_connections true`)
})

test('503: a server whose database takes no writes is not ready, says why in its log, and is ready again without a restart', async () => {
  const checks = async () => {
    const { status, body } = await get<{ checks: Record<string, string> }>(asRole.base, '/readyz')
    return `${status} ${body.checks.database}`
  }
  assert.equal(await checks(), '200 ok')
  const cut = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role.name}' and application_name like 'assay%'`
  await onServer(database.url, `alter role ${role.name} set default_transaction_read_only = on`)
  await onServer(database.url, cut)
  await eventually('the server is not ready', {
    see: async () => (await checks()) === '503 takes no write (SQLSTATE 25006)',
  })
  await eventually('the log names the cause', {
    see: async () => /"sqlstate":"25006","why":"cannot execute .* read-only/.test(asRole.out()),
  })
  // Nobody cuts the connections now: the server closes those that met 25006.
  await onServer(database.url, `alter role ${role.name} reset all`)
  await eventually('the server is ready again', {
    see: async () => (await checks()) === '200 ok',
  })
  await endedWell(asRole)
})

test('assay jobs refuses a role that does not own the tables, and says which role to use', async () => {
  const refused = await assay(['jobs'], { ...owner, DATABASE_URL: role.url })
  assert.equal(refused.ended, 1)
  assert.match(refused.out, /does not own .* cannot run background jobs/)
})

test('a server without jobs shows that no process, or only one without keys, does the background work', async () => {
  const server = await startServer({ ...owner, ...everyMetric, DATABASE_URL: role.url }, [
    '--no-jobs',
  ])
  const metrics = await metricsBase(server.out)
  assert.match((await jobsCheck(server.base)) ?? '', /^degraded: no process runs background jobs/)
  const gauges = () => metricsText(metrics)
  assert.match(await gauges(), /^processes\{does="jobs"\} 0$/m)
  const lines = (await gauges()).split('\n').length
  assert.ok(lines <= 1_500, `an idle node shows ${lines} lines`)
  const without = await assay(['doctor'], owner)
  assert.equal(without.ended, 1)
  assert.match(without.out, /^fail +jobs +no process runs background jobs/m)

  // Another folder: it holds neither the signing key nor a keyring.
  const env = { ...owner, ...everyMetric, ASSAY_DATA_DIR: temporaryFolder() }
  const child = spawnAssay(['jobs'], env)
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const out = () => Buffer.concat(chunks).toString('utf8')
  const jobs = await metricsBase(out)
  assert.equal((await get(jobs, '/healthz')).status, 200)
  const ready = await get<{ checks: Record<string, string> }>(jobs, '/readyz')
  assert.deepEqual([ready.status, ready.body.checks.database], [200, 'ok'])
  await db.run(sql`
    insert into score_recomputations select id, now() - interval '1 hour', 'operator' from workers`)
  await eventually('the jobs process says why it scores nobody', {
    see: async () => /wait to be scored, but the file of the active signing key/.test(out()),
  })
  assert.match(out(), /This process has no SECRETS_KEYRING/)
  const keyless = await assay(['doctor'], owner)
  assert.equal(keyless.ended, 1)
  assert.match(keyless.out, /^fail +jobs .*holds the file of the active signing key/m)
  assert.match(keyless.out, /^fail +jobs .*holds a keyring/m)
  await eventually('the server shows the jobs process', {
    see: async () => /^processes\{does="jobs"\} 1$/m.test(await gauges()),
  })
  assert.match(await gauges(), /^processes\{does="jobs_with_key"\} 0$/m)
  await eventually('the server shows the last success of a job', {
    withinMs: 2 * testWaitMs,
    see: async () => lastSuccess.test(await gauges()),
  })
  assert.ok(Number(/^scores_oldest_due_seconds (.*)$/m.exec(await gauges())?.[1]) > 3_000)
  assert.match(await gauges(), /^scores_without_credential 0$/m)

  const served = await gauges()
  const page = readFileSync(join(import.meta.dirname, '../../docs/monitor.md'), 'utf8')
  const listed = new Set(
    [...page.matchAll(/^\|(.*?)\|/gm)].flatMap(([, cell = '']) => namesIn(cell)),
  )
  const known = new Set([...namesOf(served), ...namesOf(await metricsText(jobs))])
  const own = [...known].filter((name) => !/^(process|nodejs)_/.test(name))
  assert.deepEqual(
    own.filter((name) => !listed.has(name)).sort(),
    [],
    'add these to docs/monitor.md',
  )
  assert.deepEqual([...listed].filter((name) => !known.has(name)).sort(), [], 'these do not exist')
  assert.deepEqual(
    namesInQueries().filter((name) => !known.has(name.replace(/_bucket$/, ''))),
    [],
    'no process exports these',
  )
  assert.ok(served.split('\n').length < 1_500, 'a scrape is short')

  child.kill('SIGKILL')
  await once(child, 'close')
  // It was last seen two minutes ago.
  await db.run(sql`
    update process_heartbeats set seen_at = seen_at - interval '2 minutes' where jobs is not null`)
  await eventually('the server shows that the jobs process died', {
    see: async () => /^processes\{does="jobs"\} 0$/m.test(await gauges()),
  })
  assert.match(await gauges(), lastSuccess)
  assert.match((await jobsCheck(server.base)) ?? '', /no process runs background jobs since/)
  await endedWell(server)
})

/** Settings without which some metrics do not exist. */
const everyMetric = {
  DATABASE_READ_URLS: 'postgres://127.0.0.1:1/none',
  METRICS_PORT: '0',
  TRACES_URL: 'http://127.0.0.1:1/v1/traces',
  SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'assay@scores.example.org',
  X402_PAY_TO: '0x000000000000000000000000000000000000dEaD',
}

async function metricsText(base: string): Promise<string> {
  return (await ask(base, { path: '/metrics' })).body.toString()
}

function namesOf(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name)
}

/** Returns the metrics that the alerts and the dashboard read. */
function namesInQueries(): string[] {
  const rules = readFileSync('deploy/prometheus/assay.rules.yaml', 'utf8')
  const { panels } = JSON.parse(readFileSync('deploy/grafana/assay.json', 'utf8'))
  const queries = [
    ...[...rules.matchAll(/expr: (.*)/g)].map(([, query = '']) => query),
    ...panels.flatMap((panel: { targets: { expr: string }[] }) =>
      panel.targets.map(({ expr }) => expr),
    ),
  ]
  const names = queries.flatMap((query) =>
    [
      ...query
        .replaceAll(/\{[^}]*\}|\[[^\]]*\]|\b(by|on) \([^)]*\)/g, '')
        .matchAll(/(?<![\w:$])[a-z]\w*(?![\w:]|\s*\()/g),
    ].map(([name]) => name),
  )
  return [...new Set(names)].filter((name) => name !== 'up' && name !== 'or')
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([a-z0-9_]+)`/g)].flatMap(([, name = '']) =>
    name.includes('_') || name === 'processes' ? [name] : [],
  )
}

const lastSuccess = /^job_last_success_timestamp_seconds\{name="fan out events"\} 1\d{9}/m

async function jobsCheck(base: string): Promise<string | undefined> {
  const { status, body } = await get<{ checks: Record<string, string> }>(base, '/readyz')
  assert.equal(status, 200)
  return body.checks.jobs
}

async function metricsBase(out: () => string): Promise<string> {
  const { value: port } = await eventually('the metrics listen', {
    see: async () => /"metricsPort":(\d+)/.exec(out())?.[1],
  })
  return `http://127.0.0.1:${port}`
}

/**
 * Measures what one operation costs as the service grows: processor time of the server and the
 * database. Each size has people with four items of evidence, a score and a credential, and for
 * each person ten ledger entries, ten logged calls and ten waiting events. Commands import up to
 * 100,000 people; larger sizes are copies of these. Prints what an imported person takes in the
 * database, too. GROWTH_PEOPLE sets the sizes, 1,000, 10,000 and 100,000 by default.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { findEntries, makeDay } from '../src/accounts/request-log/store.ts'
import { migrate } from '../src/database/migrate.ts'
import { type Db, openDb, sql } from '../src/platform/db/db.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import { claimDeliveries } from '../src/webhooks/delivery/leasing-store.ts'
import { eventTypeNames } from '../src/webhooks/events/event-types.ts'
import { startPostgres } from './children.ts'
import { type Account, makeAccount } from './credits-setup.ts'
import {
  assay,
  dataDir,
  evidenceLines,
  folder,
  importLines,
  peopleLines,
  personOf,
  sourceLines,
} from './first-people.ts'
import { copyWorkers, usernameOfCopy, withoutIndexes } from './growth-copies.ts'
import { type Finding, report } from './measure.ts'
import { cpuSeconds, databaseSeconds, fetchAnswer, type Question, startService } from './serving.ts'

const sizes = (process.env.GROWTH_PEOPLE ?? '1000,10000,100000').split(',').map(Number)
const timesEach = 900
const growthMax = 1.3
/** Items of evidence a person. */
const items = 4
const importedMax = 100_000
const imported = Math.max(...sizes.filter((size) => size <= importedMax))
if (sizes.some((size) => size > imported && size % imported > 0))
  throw new Error(`a size above ${importedMax} must be a multiple of the largest one below`)
/** Of people of the smallest size. */
const credentialsFile = join(folder, 'credentials.ndjson')

/** Adds what the people of this step cause: entries of the ledger, logged calls, deliveries. */
async function addTraffic(
  client: Client,
  { account: { id: accountId, keyIds }, from, to }: { account: Account; from: number; to: number },
): Promise<void> {
  const rows = 'generate_series($1::bigint + 1, $2::bigint) n'
  const insert = (target: string, values: string, more: unknown[] = []) =>
    client.query(`insert into ${target} select ${values} from ${rows}`, [
      from * 10,
      to * 10,
      ...more,
    ])
  const paid = [accountId, keyIds[0]]
  await client.query(
    `insert into webhook_endpoints (id, user_id, url, event_types, created_at, updated_at)
    values ($1, $2, 'https://hooks.example.com/', $3, now(), now()) on conflict do nothing`,
    [endpointId, accountId, eventTypeNames],
  )
  const filled = ['credit_entries', 'request_log', 'webhook_events', 'webhook_deliveries']
  await withoutIndexes(client, filled, async () => {
    await insert(
      'credit_entries (account_id, kind, delta, reference, key_id, meter, operation)',
      `$3::uuid, 'charge', -1, to_char(now(), 'YYYY-MM') || ':growth' || n, $4::uuid, 'score_lookup',
        'getScore'`,
      paid,
    )
    await client.query(
      'update credit_accounts set balance = balance - 10 * $2::int where account_id = $1',
      [accountId, to - from],
    )
    await insert(
      'request_log (at, request_id, account_id, key_id, operation, status, credits, duration_us, network)',
      `now(), lpad(n::text, 16, 'g'), $3::uuid, $4::uuid, 'getScore', 200, 1, 2000, '192.0.2.0/24'`,
      paid,
    )
    // As those of the service, the ids ascend. They continue after the events of the import.
    const event = `1000000000 + n, 'evt_' || lpad(to_hex(n), 32, '0'), 'score.updated'`
    await insert(
      'webhook_events (seq, id, type, worker_id, created_at, body, position) overriding system value',
      `${event}, md5((n / 10)::text)::uuid, now(), '{}', n`,
    )
    await insert(
      'webhook_deliveries (endpoint_id, event_seq, event_id, event_type, trigger, due_at, created_at)',
      `$3::uuid, ${event}, 'event', now(), now()`,
      [endpointId],
    )
  })
}

const endpointId = uuidV7(new Date())

/** Returns the microseconds of each operation. */
async function costs(db: Db, account: Account, people: number): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  const scores = await db.rows<{ scoreId: string }>(sql`
    select encode(snapshot_id, 'hex') as "scoreId" from public_scores limit 500`)
  const credentials = readFileSync(credentialsFile, 'utf8').split('\n', 500)
  const service = await startService(
    {
      ASSAY_DATA_DIR: dataDir,
      METERING: 'on',
      KEY_CALLS_PER_MINUTE: '60000',
      TRUSTED_PROXIES: '127.0.0.1',
    },
    ['--no-jobs'],
  )
  const used = () => cpuSeconds(service.pids) + databaseSeconds(dataDir)
  const timed = async (name: string, run: (i: number) => Promise<unknown>) => {
    for (let i = 0; i < 50; i++) await run(i)
    const before = used()
    for (let i = 50; i < 50 + timesEach; i++) await run(i)
    found.set(name, ((used() - before) * 1e6) / timesEach)
  }
  const ask = async (question: Question) => {
    const headers = { Authorization: `Bearer ${account.keys[0]}`, ...question.headers }
    const { head } = await fetchAnswer(service.port, { ...question, headers })
    if (head.statusCode !== 200) throw new Error(`${question.path}: ${head.statusCode}`)
  }
  const get = (path: string) => ask({ method: 'GET', path })
  const someone = (i: number) => personAt((i * 7_919) % people)
  try {
    await timed('search, three letters', (i) =>
      get(`/api/v1/candidates/search?q=${encodeURIComponent(someone(i).displayName.slice(0, 3))}`),
    )
    await timed('one candidate', (i) => get(`/api/v1/candidates/${someone(i).username}`))
    await timed('one score', (i) => get(`/api/v1/scores/${scores[i % scores.length]?.scoreId}`))
    await timed('verify', (i) =>
      ask({
        method: 'POST',
        path: '/api/v1/score-vc/verify',
        body: credentials[i % (credentials.length - 1)] ?? '',
      }),
    )
    await timed('a page of the request log', () =>
      findEntries(db, { accountId: account.id, limit: 50, before: null, ...anyCall }),
    )
    await timed('lease ten deliveries', () =>
      claimDeliveries(db, [{ endpointId, count: 10, secretVersion: 1 }], {
        ids: Array.from({ length: 10 }, () => uuidV7(new Date())),
        now: new Date(),
        until: new Date(Date.now() + 600_000),
      }),
    )
  } finally {
    await service.stop()
  }
  return found
}

const anyCall = {
  status: null,
  operation: null,
  keyId: null,
  error: null,
  from: null,
  to: null,
} as const

try {
  const server = await startPostgres({ dataDir, durable: true })
  const options = {
    connectionsMax: 4,
    statementTimeoutMs: 0,
    applicationName: 'bench',
    onError: (error: Error) => process.stderr.write(`${error.message}\n`),
  }
  const db = openDb({ url: server.url, ...options })
  const client = new Client({ connectionString: server.url })
  try {
    await client.connect()
    // Vacuums and checkpoints run between the measurements, not within.
    await client.query('alter system set autovacuum = off')
    await client.query('select pg_reload_conf()')
    await migrate(server.url, join(import.meta.dirname, '../migrations'), new Date())
    await assay('keys', 'create')
    await importLines('sources', 'register', sourceLines())
    const account = await makeAccount(db, 1)
    const measured: Map<string, number>[] = []
    const findings: Finding[] = []
    let from = 0
    for (const people of sizes) {
      if (people <= imported) findings.push(...(await importPeople(db, from, people)))
      else await copyWorkers(client, people / imported - 1)
      await db.transaction((tx) => makeDay(tx, new Date().toISOString().slice(0, 10)))
      await addTraffic(client, { account, from, to: people })
      await client.query('vacuum analyze')
      await client.query('checkpoint')
      if (from === 0) await assay('credentials', 'export', '--out', credentialsFile)
      measured.push(await costs(db, account, people))
      from = people
    }
    for (const name of measured[0]?.keys() ?? []) {
      const values = measured.map((one) => one.get(name) ?? Number.NaN)
      for (const [i, people] of sizes.entries())
        findings.push({ name: `${name}, ${people} people`, value: values[i] ?? NaN, unit: 'µs' })
      const last = values.at(-1) ?? Number.NaN
      for (const [i, people] of sizes.slice(0, -1).entries())
        findings.push({
          name: `${name}: growth since ${people} people`,
          value: last / (values[i] ?? Number.NaN),
          unit: '×',
          target: { max: growthMax },
        })
    }
    report(`growth, ${sizes.join(' to ')} people`, findings)
  } finally {
    await client.end()
    await db.close()
    await server.stop()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Returns what a person took. */
async function importPeople(db: Db, from: number, to: number): Promise<Finding[]> {
  const before = await marksOf(db)
  const began = performance.now()
  await importLines('workers', 'import', peopleLines(from, to))
  await importLines('evidence', 'import', evidenceLines(from, to, items))
  await assay('recompute')
  const seconds = (performance.now() - began) / 1_000
  const after = await marksOf(db)
  const each = (name: keyof Marks) => (after[name] - before[name]) / (to - from)
  const step = `${from} to ${to} people`
  return [
    { name: `${step}: imported, scored, issued`, value: (to - from) / seconds, unit: 'people/s' },
    { name: `${step}: stored, each`, value: each('bytes'), unit: 'bytes' },
    { name: `${step}: write-ahead log, each`, value: each('walBytes'), unit: 'bytes' },
    { name: `${step}: transactions, each`, value: each('transactions'), unit: '' },
  ]
}

function personAt(n: number) {
  const { username, displayName } = personOf(n % imported)
  return { username: usernameOfCopy(username, Math.trunc(n / imported)), displayName }
}

interface Marks {
  bytes: number
  walBytes: number
  transactions: number
}

async function marksOf(db: Db): Promise<Marks> {
  const [row] = await db.rows<Marks>(sql`
    select pg_database_size(current_database())::float8 as bytes,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as "walBytes",
      xact_commit::float8 as transactions
    from pg_stat_database where datname = current_database()`)
  if (row === undefined) throw new Error('the database has no statistics')
  return row
}

/**
 * Measures public pages (`pages-public.ts`), and the pages of the dashboard for one busy account:
 * 10,000 delivery attempts in 24 hours at one endpoint, 1,000 API keys, 100,000 ledger entries in
 * 30 days, 100,000 logged calls, 10,000 entries of the audit log. The pages of the console are those
 * of a service with a million workers. Each page is requested by one caller at a time. Limits: 15 ms
 * at p95 from the request to the whole answer, 50 ms for the overview of the console; 120 KB gzip
 * for a page with its style sheet and scripts, 20 KB of them scripts.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createAccount } from '../src/accounts/access/manage.ts'
import { sessionCookieName } from '../src/accounts/cookies.ts'
import { makeDay } from '../src/accounts/request-log/store.ts'
import { beginSession } from '../src/accounts/sessions.ts'
import { insertMembership, insertUser } from '../src/accounts/store.ts'
import { migrate } from '../src/database/migrate.ts'
import { rollUpAllUsage } from '../src/main/jobs/all.ts'
import { openDb, sql, type Tx } from '../src/platform/db/db.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import { newSecret, sealSecret, secretPrefix } from '../src/webhooks/delivery/secret.ts'
import { eventTypeNames } from '../src/webhooks/events/event-types.ts'
import { startPostgres } from './children.ts'
import { report } from './measure.ts'
import { benchPublicPages } from './pages-public.ts'
import { fetchAnswer, publicUrl, startService } from './serving.ts'

const limitMs = 15
const overviewLimitMs = 50
const limitBytes = 120 * 1_024
const scriptLimitBytes = 20 * 1_024
/** Below the 300 calls a minute of one session. */
const requestsPerPage = 200
const warmUps = 20

const dataDir = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(dataDir, 0o755)
const postgres = await startPostgres({ dataDir, durable: true })
const db = openDb({
  url: postgres.url,
  connectionsMax: 2,
  applicationName: 'bench',
  statementTimeoutMs: 120_000,
  onError: () => {},
})
try {
  await migrate(postgres.url, join(import.meta.dirname, '../migrations'), new Date())
  const account = await db.transaction(makeAccount)
  await db.transaction((tx) => makeWorkers(tx, account.userId))
  await rollUpAllUsage(db)
  // Autovacuum would begin while the first pages are measured.
  await db.run(sql`vacuum analyze`)
  const service = await startService({ DATABASE_URL: postgres.url, ASSAY_DATA_DIR: dataDir })
  try {
    const endpoint = `/dashboard/webhooks/${account.endpointId}`
    for (const path of [
      '/dashboard',
      '/dashboard/usage',
      '/dashboard/usage?days=30',
      '/dashboard/requests',
      '/dashboard/requests?status=5xx',
      '/dashboard/requests/rrrrrrrrrrrrrrr1',
      '/dashboard/keys',
      `/dashboard/keys/${account.keyId}`,
      '/dashboard/webhooks',
      endpoint,
      `${endpoint}?state=undelivered`,
      `${endpoint}/events/${account.eventId}`,
      '/dashboard/webhooks/new',
      '/dashboard/sandbox',
      '/dashboard/decisions',
      '/dashboard/team',
      '/dashboard/sessions',
      '/dashboard/audit',
      '/console',
      '/console/workers',
      '/console/workers/worker-1000000',
      '/console/disputes',
      '/console/disputes/do/open?username=worker-1000000',
      '/console/webhooks',
      `/console/webhooks/${account.endpointId}`,
      '/console/accounts',
      '/console/operators',
      '/console/audit',
    ])
      await measure(service.port, { path, Cookie: await signIn(account) })
  } finally {
    await service.stop()
  }
  await benchPublicPages({ db, url: postgres.url, folder: dataDir })
} finally {
  await db.close()
  await postgres.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

async function measure(
  port: number,
  { path, Cookie }: { path: string; Cookie: string },
): Promise<void> {
  const get = (path: string) => fetchAnswer(port, { method: 'GET', path, headers: { Cookie } })
  const times: number[] = []
  let page = ''
  for (let i = -warmUps; i < requestsPerPage; i++) {
    const began = performance.now()
    const { head, body } = await get(path)
    if (head.statusCode !== 200) throw new Error(`${path}: ${head.statusCode}`)
    if (i >= 0) times.push(performance.now() - began)
    page = String(body)
  }
  times.sort((a, b) => a - b)
  const assets = new Set([...page.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, url = '']) => url))
  let scriptBytes = 0
  let bytes = gzipSync(page).length
  for (const asset of assets) {
    const size = gzipSync((await get(asset)).body).length
    bytes += size
    if (asset.endsWith('.ts')) scriptBytes += size
  }
  const name = path.replace(/[0-9a-f-]{36}/, '{id}').replace(/evt_\w+/, '{eventId}')
  report('pages', [
    {
      name: `${name} p95`,
      value: times[Math.ceil(times.length * 0.95) - 1] ?? Number.NaN,
      unit: 'ms',
      target: { max: path === '/console' ? overviewLimitMs : limitMs },
    },
    { name: `${name} gzip`, value: bytes / 1_024, unit: 'KB', target: { max: limitBytes / 1_024 } },
    {
      name: `${name} scripts gzip`,
      value: scriptBytes / 1_024,
      unit: 'KB',
      target: { max: scriptLimitBytes / 1_024 },
    },
  ])
}

interface BenchAccount {
  userId: string
  accountId: string
  endpointId: string
  keyId: string
  eventId: string
}

function signIn({ userId, accountId }: BenchAccount): Promise<string> {
  return db.transaction(async (tx) => {
    const of = { userId, accountId, browser: 'Bench', network: '192.0.2.0/24' }
    const rules = { idleDays: 7, days: 30 }
    const { value } = await beginSession(tx, of, { rules, now: new Date() })
    return `${sessionCookieName(publicUrl)}=${value}`
  })
}

/** A million workers, of whom the last thousand have profiles, and an operator. */
async function makeWorkers(tx: Tx, operatorId: string): Promise<void> {
  await tx.run(sql`
    insert into workers (id, registered_at)
    select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now()
    from generate_series(1, 1000000) n`)
  await tx.run(sql`
    insert into usernames (username_sha256, worker_id, taken_at)
    select sha256(convert_to('worker-' || n, 'UTF8')),
      ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now()
    from generate_series(999001, 1000000) n`)
  await tx.run(sql`
    insert into profiles (worker_id, username, username_sha256, display_name, member_since, updated_at)
    select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'worker-' || n,
      sha256(convert_to('worker-' || n, 'UTF8')), 'Worker ' || n, '2026-01', now()
    from generate_series(999001, 1000000) n`)
  await tx.run(sql`
    insert into operators (user_id, role, granted_at, granted_by)
    values (${operatorId}, 'admin', now(), 'bench')`)
}

async function makeAccount(tx: Tx): Promise<BenchAccount> {
  const now = new Date()
  const account = await createAccount(tx, 'bench', now)
  if (account === null) throw new Error('the account was not made')
  const accountId = account.id
  const userId = uuidV7(now)
  await insertUser(tx, { id: userId, email: 'bench@example.com', name: null, createdAt: now })
  await insertMembership(tx, { userId, accountId, role: 'owner', createdAt: now })
  await tx.run(sql`
    insert into api_keys (id, account_id, environment, digest, shown, name, scopes,
      created_at, revoked_at)
    select gen_random_uuid(), ${accountId}, 'live', sha256(n::text::bytea),
      'svc_live_aB3d…x9Yz', 'key ' || n, '{scores:read}', ${now},
      case when n > 20 then ${now}::timestamptz end
    from generate_series(1, 1000) n`)
  await tx.run(sql`
    insert into credit_accounts (account_id, balance) values (${accountId}, 900000)`)
  await tx.run(sql`
    insert into credit_entries (account_id, kind, delta, reference, key_id, meter, operation, at)
    select ${accountId}, 'charge', -1, to_char(at, 'YYYY-MM') || ':bench' || n,
      (select id from api_keys limit 1), 'score_lookup', 'getScore', at
    from generate_series(1, 100000) n
    cross join lateral (select ${now}::timestamptz - n * interval '26 seconds' as at) t`)
  // The job of the service makes the partition of each day.
  for (let daysAgo = 7; daysAgo >= 0; daysAgo--)
    await makeDay(tx, new Date(now.getTime() - daysAgo * 86_400_000).toISOString().slice(0, 10))
  await tx.run(sql`
    insert into request_log (at, request_id, account_id, key_id, operation, status, error, credits,
      duration_us, network)
    select ${now}::timestamptz - (100000 - n) * interval '6 seconds', lpad(n::text, 16, 'r'),
      ${accountId}, (select id from api_keys limit 1), 'getScore',
      case when n % 1000 = 0 then 503 else 200 end, null, 1, 2000 + n % 500, '192.0.2.0/24'
    from generate_series(1, 100000) n`)
  const endpointId = uuidV7(now)
  await tx.run(sql`
    insert into webhook_endpoints (id, user_id, url, event_types, created_at, updated_at)
    values (${endpointId}, ${accountId}, 'https://hooks.example.com/', ${eventTypeNames}::text[],
      ${now}, ${now})`)
  const secret = newSecret()
  const ring = new Map([['k1', Buffer.alloc(32, 1)]])
  const { kid, sealed } = sealSecret(secret, { endpointId, version: 1 }, ring)
  await tx.run(sql`
    insert into webhook_secrets (endpoint_id, version, prefix, sealed, kid, signs_from)
    values (${endpointId}, 1, ${secretPrefix(secret)}, ${sealed}, ${kid}, ${new Date(0)})`)
  await tx.run(sql`
    with sent as (
      insert into webhook_deliveries (endpoint_id, event_id, event_type, body, trigger, trigger_ref,
        status, attempts, due_at, created_at, finished_at)
      select ${endpointId}, 'evt_test_' || md5(n::text), 'score.updated', '{}', 'test', n::text,
        'succeeded', 1, at, at, at
      from generate_series(1, 10000) n
      cross join lateral (select ${now}::timestamptz - n * interval '8 seconds' as at) t
      returning id, event_id, created_at
    )
    insert into webhook_attempts (id, delivery_id, endpoint_id, event_id, event_type, attempt,
      trigger, result, started_at, duration_ms, response_status, response_body)
    select gen_random_uuid(), id, ${endpointId}, event_id, 'score.updated', 1, 'test',
      case when id % 50 = 0 then 'failed' else 'succeeded' end, created_at, 150 + id % 200,
      case when id % 50 = 0 then 503 else 200 end, 'ok'
    from sent`)
  await tx.run(sql`
    with head as (select seq, hash from audit_log order by seq desc limit 1),
    written as (
      insert into audit_log (seq, at, actor, action, subjects, details, prev_hash, hash)
      select seq + n, ${now.toISOString()}, 'user ' || ${userId}::text, 'webhooks.paused',
        json_build_array(${endpointId}::text)::text, '{}',
        case when n = 1 then hash else sha256((n - 1)::text::bytea) end, sha256(n::text::bytea)
      from head cross join generate_series(1, 10000) n
      returning seq
    )
    insert into account_audit (account_id, seq) select ${accountId}::uuid, seq from written`)
  const [shown] = await tx.rows<{ keyId: string; eventId: string }>(sql`
    select k.id as "keyId", d.event_id as "eventId" from api_keys k, webhook_deliveries d
    where k.account_id = ${accountId} and k.revoked_at is null and d.endpoint_id = ${endpointId}
    limit 1`)
  if (shown === undefined) throw new Error('the account has no key and no delivery')
  return { userId, accountId, endpointId, ...shown }
}

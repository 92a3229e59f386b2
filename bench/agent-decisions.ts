/**
 * Measures how many agent decision reports 64 callers store a second, on an embedded database that
 * waits for its disk. Two limits run beside it: the bare INSERT of the same row into a table with
 * the same indexes, one a statement and many a statement. Neither limit reads a request, makes a
 * fingerprint, authenticates a key or checks the report lock.
 */
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReporting } from '../src/agent-decisions/report.ts'
import { readReportRequest } from '../src/agent-decisions/report-request.ts'
import { migrate } from '../src/database/migrate.ts'
import { batched } from '../src/platform/batching.ts'
import { type Db, openDb, sql } from '../src/platform/db/db.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import { startPostgres } from './children.ts'
import { median, report } from './measure.ts'

const callers = 64
const accounts = Array.from({ length: 100 }, () => randomUUID())
const roundMs = 1_000
const rounds = 5

const body = {
  subject: { kind: 'candidate', username: 'ada-lovelace' },
  decision: 'shortlisted',
  agentName: 'Scout',
  agentVersion: '2.1',
  jobRef: 'backend-2026-14',
  reasonCodes: ['skills.match', 'score:strong'],
  notes: 'Strong in distributed systems; ask about on-call.',
  metadata: { run: 'r-1842', shortlist: { place: 3, of: 12 } },
}
const metadata = JSON.stringify(body.metadata)
let made = 0
const nextAccount = () => accounts[made++ % accounts.length] as string

/** Calls a second. */
async function rateOf(call: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  let calls = 0
  const caller = async (): Promise<void> => {
    for (; performance.now() - startedAt < roundMs; calls++) await call()
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (calls * 1_000) / (performance.now() - startedAt)
}

function bareInsert(db: Db, userId: string): Promise<number> {
  return db.run(sql`
    insert into bare_reports (id, user_id, idempotency_key, api_key_id, subject_kind, subject,
      decision, outcome, agent_name, agent_version, job_ref, reason_codes, notes, metadata, created_at)
    values (${uuidV7(new Date())}, ${userId}, ${randomUUID()}, ${userId}, 'candidate',
      ${body.subject.username}, ${body.decision}, 'pending', ${body.agentName},
      ${body.agentVersion}, ${body.jobRef}, ${body.reasonCodes}::text[], ${body.notes},
      ${metadata}::json, ${new Date()})`)
}

async function groupedInsert(db: Db, userIds: readonly string[]): Promise<null[]> {
  await db.run(sql`
    insert into bare_reports (id, user_id, idempotency_key, api_key_id, subject_kind, subject,
      decision, outcome, agent_name, agent_version, job_ref, reason_codes, notes, metadata, created_at)
    select id, user_id, key, user_id, 'candidate', ${body.subject.username}, ${body.decision},
      'pending', ${body.agentName}, ${body.agentVersion}, ${body.jobRef},
      ${body.reasonCodes}::text[], ${body.notes}, ${metadata}::json, ${new Date()}
    from unnest(${userIds.map(() => uuidV7(new Date()))}::uuid[], ${userIds}::uuid[],
      ${userIds.map(() => randomUUID())}::text[]) as new(id, user_id, key)`)
  return userIds.map(() => null)
}

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)
const server = await startPostgres({
  dataDir: join(folder, 'data'),
  durable: true,
})
try {
  await migrate(server.url, join(import.meta.dirname, '../migrations'), new Date())
  const options = { connectionsMax: 10, applicationName: 'bench', onError: () => {} }
  const db = openDb({ url: server.url, ...options })
  await db.run(sql`create table bare_reports (like agent_decision_reports including all)`)
  const reporting = openReporting(db, 'unlocked')
  const grouped = batched({
    name: 'bare',
    run: (userIds: readonly string[]) => groupedInsert(db, userIds),
  })
  const contestants = {
    bare: () => bareInsert(db, nextAccount()),
    grouped: () => grouped(nextAccount()),
    ours: () => {
      const read = readReportRequest(body)
      if ('fault' in read) throw new Error(read.fault)
      const userId = nextAccount()
      const request = { userId, apiKeyId: userId, idempotencyKey: randomUUID(), now: new Date() }
      return reporting({ ...request, content: read.content })
    },
  }
  const rates: Record<keyof typeof contestants, number[]> = { bare: [], grouped: [], ours: [] }
  for (let round = 0; round <= rounds; round++)
    for (const name of ['bare', 'grouped', 'ours'] as const) {
      const rate = await rateOf(contestants[name])
      // The first round warms up.
      if (round > 0) rates[name].push(rate)
    }
  await db.close()
  const ratio = (limit: number[]) =>
    median(rates.ours.map((rate, round) => rate / (limit[round] ?? Number.NaN)))
  report(`agent decision reports, ${callers} callers`, [
    { name: 'bare INSERT, one a statement', value: median(rates.bare), unit: '/s' },
    { name: 'bare INSERT, many a statement', value: median(rates.grouped), unit: '/s' },
    { name: 'reports taken in', value: median(rates.ours), unit: '/s' },
    {
      name: 'reports / bare, one a statement',
      value: ratio(rates.bare),
      unit: '×',
      target: { min: 0.5 },
    },
    { name: 'reports / bare, many a statement', value: ratio(rates.grouped), unit: '×' },
  ])
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** Searches everything that leaves the service for the private data of 500 workers. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { sql } from '../../src/platform/db/db.ts'
import { publicLine } from '../support/build/workers.ts'
import { ask } from '../support/start/ask.ts'
import { installation } from '../support/start/installation.ts'
import { startServer } from '../support/start/processes.ts'

const count = 500
const canary = /CANARY/i

/** Every second worker has consented to nothing, so the whole profile is private. */
const isShown = (n: number): boolean => n % 2 === 0
const username = (n: number): string => `person-${n}`

function workerOf(n: number): Record<string, unknown> {
  const line = publicLine({ username: username(n), externalId: `CANARY-external-${n}` })
  if (isShown(n)) return line
  return {
    ...line,
    displayName: `CANARY name ${n}`,
    title: `CANARY title ${n}`,
    bio: `CANARY bio ${n}`,
    avatarUrl: `https://CANARY.example/${n}.png`,
    skills: [{ name: `CANARY skill ${n}` }],
    consents: [],
  }
}

function evidenceOf(n: number): Record<string, unknown>[] {
  return [1, 2, 3].map((i) => ({
    username: username(n),
    sourceId: i === 1 ? 'exams' : 'reviews',
    externalId: `CANARY-item-${n}-${i}`,
    skillId: 'hss:typescript',
    type: i === 1 ? 'assessment' : 'work_product',
    value: 400 + i * 100,
    observedOn: '2026-04-30',
    private: {
      artifactUrl: `https://CANARY.example/${n}`,
      submitter: `CANARY submitter ${n}`,
      notes: `CANARY notes ${n}`,
    },
  }))
}

test('no private word of 500 workers is in any public answer, event, log line or metric', async () => {
  const line = await installation()
  const outputs: string[] = []
  const run = async (...args: string[]) => {
    const { code, out, err } = await line.run([...args, '--json'])
    outputs.push(out, err)
    assert.equal(code, 0, `${args.join(' ')}: ${out}${err}`)
    return JSON.parse(out)
  }
  const { key, workers } = await fillDatabase(run, line.file)

  const server = await startServer({
    ...line.env,
    METERING: 'off',
    METRICS_PORT: '0',
    LOG_LEVEL: 'debug',
    KEY_CALLS_PER_MINUTE: '60000',
    KEY_NOT_FOUND_PER_MINUTE: '60000',
  })
  const statuses = new Map<number, number>()
  const read = async (path: string): Promise<string> => {
    const { status, headers, body } = await ask(server.base, {
      path,
      headers: { Authorization: `Bearer ${key}` },
    })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const text = `${path}\n${JSON.stringify(headers)}\n${body.toString('utf8')}`
    outputs.push(text)
    return body.toString('utf8')
  }
  for (const q of ['person', 'type', 'ca', 'na', 'ti', 'bi', '@person', 'Ada'])
    await read(`/api/v1/candidates/search?limit=50&q=${encodeURIComponent(q)}`)
  for (let n = 0; n < count; n++) await read(`/api/v1/candidates/${username(n)}`)
  const scores = await line.db.rows<{ id: string; token: string | null }>(sql`
    select encode(snapshot_id, 'hex') as id, encode(status_token, 'hex') as token
    from score_snapshots`)
  assert.ok(scores.length >= count, `${scores.length} scores`)
  for (const { id, token } of scores) {
    await read(`/api/v1/scores/${id}`)
    await read(`/api/v1/scores/${id}/credential`)
    if (token !== null) await read(`/standard/v1/score-vc-status/${token}`)
  }
  for (const path of [
    '/api/v1/openapi.json',
    '/.well-known/service-engine.json',
    '/.well-known/service-score-core-release-manifest.json',
    '/api/v1/webhooks/endpoints',
    '/readyz',
    '/nowhere',
  ])
    await read(path)
  assert.ok((statuses.get(200) ?? 0) > count, JSON.stringify([...statuses]))
  assert.ok((statuses.get(404) ?? 0) >= count / 2, JSON.stringify([...statuses]))

  const metricsPort = Number(/"metricsPort":(\d+)/.exec(server.out())?.[1])
  const metrics = await ask(`http://127.0.0.1:${metricsPort}`, { path: '/metrics' })
  const events = await line.db.rows<{ body: string }>(sql`select body from webhook_events`)
  assert.ok(events.length > count)
  server.signal('SIGTERM')
  await server.ended
  outputs.push(metrics.body.toString('utf8'), server.out(), server.err())
  outputs.push(...events.map(({ body }) => body))
  const leak = outputs.find((text) => canary.test(text))
  assert.equal(leak, undefined)
  // The canaries exist in the private data, so the search can find them.
  assert.match(readFileSync(workers, 'utf8'), canary)
  const [kept] = await line.db.rows<{ payload: string }>(sql`
    select payload from evidence_private limit 1`)
  assert.match(kept?.payload ?? '', canary)
})

/** The parts that this test reads of what commands print. */
interface Report {
  key: string
  dispute: { id: string }
}

/** Writes canaries into the database by every command that takes private data. */
async function fillDatabase(
  run: (...args: string[]) => Promise<Report>,
  file: (name: string, lines: readonly unknown[]) => string,
): Promise<{ key: string; workers: string }> {
  const numbers = Array.from({ length: count }, (_, n) => n)
  await run('keys', 'create')
  const sources = [
    { id: 'exams', name: 'CANARY exams', kind: 'accredited', group: 'exams' },
    { id: 'reviews', name: 'CANARY reviews', kind: 'organisation', group: 'acme' },
  ]
  await run('sources', 'register', '--from', file('s.ndjson', sources), '--by', 'CANARY clerk')
  const workers = file('w.ndjson', numbers.map(workerOf))
  await run('workers', 'import', '--from', workers, '--by', 'CANARY clerk')
  await run('evidence', 'import', '--from', file('e.ndjson', numbers.flatMap(evidenceOf)))
  await run('recompute')
  await run(
    'evidence',
    'revoke',
    'exams/CANARY-item-0-1',
    '--reason',
    'policy',
    '--yes',
    '--by',
    'CANARY clerk',
  )
  const dispute = await run(
    'disputes',
    'open',
    username(6),
    '--kind',
    'score',
    '--by',
    'CANARY clerk',
  )
  await run('disputes', 'review', dispute.dispute.id, '--by', 'CANARY clerk')
  await run('consent', 'withdraw', username(2), 'score_sharing', '--by', 'CANARY clerk')
  await run(
    'workers',
    'erase',
    username(4),
    '--reason',
    'worker_request',
    '--yes',
    '--by',
    'CANARY clerk',
  )
  await run('accounts', 'create', 'customer')
  const scopes = ['candidates:read', 'scores:read', 'webhooks:write']
  const { key } = await run('api-keys', 'create', 'customer', '--scope', ...scopes)
  await run('audit', 'list', '--limit', '100')
  return { key, workers }
}

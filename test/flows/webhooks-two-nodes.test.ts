/**
 * Two processes serve, fan out and deliver on one database at full load. No delivery is sent twice,
 * and no deadlock occurs.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { openDb, sql } from '../../src/platform/db/db.ts'
import { testRingText } from '../support/build/webhooks.ts'
import {
  assertArrived,
  isDrained,
  noneYet,
  publishBatch,
  startArrivals,
} from '../support/fault/event-load.ts'
import { roundsOf } from '../support/fault/rounds.ts'
import { ask } from '../support/start/ask.ts'
import {
  type Env,
  eventually,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'
import { testAuthority } from '../support/start/receiver.ts'

const loadSeconds = roundsOf('CHAOS_LOAD_SECONDS', 1)
const endpointCount = 20
/** Number of deliveries that wait at any time. */
const backlog = 1_000
const nothingWasSent = new Set(['not_begun', 'connect_timeout'])

test(`two processes with jobs under ${loadSeconds} seconds of full load: one of them sends each delivery once, without deadlock`, async (t) => {
  // Registered before the folder, because hooks run in order and the folder's own hook removes it.
  after(async () => {
    await db.close()
    await postgres.stop()
  })
  const folder = temporaryFolder()
  const postgres = await startEmbeddedPostgres({ dataDir: folder, durable: true, log: () => {} })
  const db = openDb({
    url: postgres.url,
    connectionsMax: 4,
    applicationName: 'load',
    statementTimeoutMs: 60_000,
    onError: () => {},
  })
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, testAuthority().cert)
  const env: Env = {
    ASSAY_DATA_DIR: folder,
    PUBLIC_URL: 'https://scores.example.org',
    SECRETS_KEYRING: testRingText,
    METRICS_PORT: '0',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
    WEBHOOK_PORTS: 'any',
    WEBHOOK_CA_FILE: caFile,
  }
  await report(['migrate'], env)
  const arrivals = await startArrivals(db, endpointCount)
  after(() => arrivals.close())
  const nodes = await Promise.all([startServer(env), startServer(env)])

  const published = noneYet()
  const began = performance.now()
  while (performance.now() - began < loadSeconds * 1_000) {
    const waiting = published.committed.size * endpointCount - arrivals.count()
    if (waiting > backlog) await pause(5)
    else await publishBatch(db, published, { count: 50, isRolledBack: false })
  }
  await eventually('every delivery has ended', { withinMs: 240_000, see: () => isDrained(db) })
  const seconds = (performance.now() - began) / 1_000

  const { repeats, summary } = await assertArrived(db, published, arrivals)
  const failed = await db.rows<{ code: string; count: number }>(sql`
    select error_code as code, count(*)::int as count from webhook_attempts
    where result <> 'succeeded' group by 1`)
  // On a slow machine an attempt may exceed its deadline and be repeated.
  const unsure = failed.filter(({ code }) => !nothingWasSent.has(code))
  const mayRepeat = unsure.reduce((sum, { count }) => sum + count, 0)
  assert.ok(repeats <= mayRepeat, `${repeats} repeats, ${JSON.stringify(failed)}`)
  const shares = await Promise.all(nodes.map(succeededBy))
  assert.equal(
    shares.reduce((sum, share) => sum + share, 0),
    arrivals.times.size,
  )
  for (const share of shares) assert.ok(share > 0, 'both deliver')
  for (const node of nodes) {
    node.signal('SIGTERM')
    assert.equal(await node.ended, 0, node.err())
    assert.doesNotMatch(node.out(), /a job fails|is not acknowledged/)
  }
  assert.doesNotMatch(readFileSync(join(folder, 'postgres.log'), 'utf8'), /deadlock/)
  t.diagnostic(
    `${loadSeconds} s of full load and the rest: ${(arrivals.count() / seconds).toFixed(0)} deliveries a second, ` +
      `${shares.join(' and ')} by the two processes; no deadlock; attempts that failed: ${JSON.stringify(failed)}. ${summary}`,
  )
})

async function succeededBy({ out }: ServerProcess): Promise<number> {
  const port = Number(/"metricsPort":(\d+).*"msg":"listening"/.exec(out())?.[1])
  const { body } = await ask(`http://127.0.0.1:${port}`, { path: '/metrics' })
  const counted = /^webhook_deliveries_total\{result="succeeded"\} (\d+)$/m.exec(body.toString())
  return Number(counted?.[1])
}

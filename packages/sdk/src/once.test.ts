/**
 * Behind a network that fails 30 % of all calls, each call is charged and created exactly once.
 * `npm run chaos -- clients` makes 100,000 calls.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../../src/platform/db/db.ts'
import { newKey } from '../../../test/support/build/keys.ts'
import { faults, startFaultyProxy } from '../../../test/support/fault/faulty-proxy.ts'
import { roundsOf } from '../../../test/support/fault/rounds.ts'
import { startService } from '../../../test/support/start/service.ts'
import { Client } from './index.ts'

const calls = roundsOf('CHAOS_CLIENT_CALLS', 250)
const seed = roundsOf('CHAOS_CLIENT_SEED', 20_260_514)
const atOnce = 50
/** A call that hangs costs this time. Fifty calls at once must all end in it, also under load. */
const timeoutMs = 4_000

const service = await startService('https://scores.example.org', undefined, {
  env: {
    KEY_CALLS_PER_MINUTE: '60000',
    KEY_CALLS_PER_DAY: '100000000',
    AGENT_REPORTS_PER_DAY: '100000000',
  },
})
after(() => service.stop())
const { db } = service.database

/** Returns the next number below 1 of a sequence that the seed decides (mulberry32). */
function randomNumbers(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

test(`of ${calls} calls through a proxy that fails 30 %, each is charged and created exactly once`, async (t) => {
  const random = randomNumbers(seed)
  const names = Object.keys(faults)
  const failed = new Map<string, number>()
  let requests = 0
  const baseUrl = await startFaultyProxy(service.base, (request, response, forward) => {
    requests++
    const name = random() < 0.3 ? names[Math.floor(random() * names.length)] : undefined
    const fault = name === undefined ? undefined : faults[name]
    if (name === undefined || fault === undefined) return forward()
    failed.set(name, (failed.get(name) ?? 0) + 1)
    fault(request, response, forward)
  })
  const granted = calls + 1_000
  const { key, accountId } = await newKey(db, {
    scopes: ['candidates:read', 'agent-decisions:write'],
    credits: granted,
  })
  const client = new Client({ baseUrl, apiKey: key, maxRetries: 100, timeoutMs })
  const subject = { kind: 'candidate', username: 'ada-lovelace' } as const
  const reportIds = new Set<string>()
  let [next, searches, reports] = [0, 0, 0]
  const rssBefore = process.memoryUsage().rss
  const worker = async (): Promise<void> => {
    for (let call = next++; call < calls; call = next++) {
      if (call % 5 > 0) {
        searches++
        await client.candidates.search({ q: `query ${call}` })
        continue
      }
      reports++
      const { report } = await client.agentDecisions.report({ subject, decision: 'no_action' })
      reportIds.add(report.id)
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: atOnce }, worker))
  const seconds = (performance.now() - startedAt) / 1_000
  const { creditsRemaining } = await client.candidates.search({ q: 'last one' }).withResponse()
  assert.equal(creditsRemaining, granted - searches - 1, `seed ${seed}`)
  const [stored] = await db.rows<{ n: number }>(sql`
    select count(*)::int as n from agent_decision_reports where user_id = ${accountId}`)
  assert.deepEqual([reportIds.size, stored?.n], [reports, reports], `seed ${seed}`)
  assert.deepEqual([...failed.keys()].sort(), names.toSorted(), 'every fault occurred')
  const grownMb = (process.memoryUsage().rss - rssBefore) / 2 ** 20
  assert.ok(grownMb < 400, `${grownMb} MB more`)
  t.diagnostic(
    `${calls} calls in ${Math.round(seconds)} s: ${requests} requests, ${Math.round((100 * [...failed.values()].reduce((sum, n) => sum + n, 0)) / requests)} % failed; ${Math.round(grownMb)} MB more in client, proxy and service`,
  )
})

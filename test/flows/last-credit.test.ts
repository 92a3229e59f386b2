/**
 * Two processes and one account: exactly one call gets the last credit, and both processes reject a
 * revoked key at once.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { enterCredits } from '../../src/credits/credits.ts'
import { newKey, revokeKey, type TestKey } from '../support/build/keys.ts'
import { paidPath } from '../support/fault/paying-load.ts'
import { roundsOf } from '../support/fault/rounds.ts'
import { ask } from '../support/start/ask.ts'
import { testDatabase } from '../support/start/database.ts'
import { childrenOf, type Env, startServer, temporaryFolder } from '../support/start/processes.ts'

const races = roundsOf('CHAOS_RACES', 5)
const revocations = roundsOf('CHAOS_REVOCATIONS', 20)
const readers = 200

const database = await testDatabase()
const { db } = database
after(() => database.drop())
const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: temporaryFolder(),
  PUBLIC_URL: 'https://scores.example.org',
  TRUSTED_PROXIES: '127.0.0.1',
  KEY_CALLS_PER_MINUTE: '60000',
  KEY_CALLS_PER_DAY: '10000000',
}

test('one credit and 200 concurrent reads on two processes: one 200 and 199 times 402', async (t) => {
  const server = await startServer(env, ['--processes', '2'])
  assert.equal((await childrenOf(server.pid)).length, 2)
  const { accountId, headers } = await newKey(db)
  for (let race = 0; race < races; race++) {
    const credit = { accountId, kind: 'grant', delta: 1, reason: 'the last one' } as const
    await db.transaction((tx) => enterCredits(tx, credit))
    const replies = await Promise.all(
      Array.from({ length: readers }, () => ask(server.base, { path: paidPath, headers })),
    )
    const outcomes = replies.map(({ status, body }) => JSON.parse(body.toString()).error ?? status)
    const [short, others] = partition(outcomes, 'insufficient_credits')
    assert.deepEqual([short, others], [readers - 1, [200]], `race ${race}`)
  }
  server.signal('SIGTERM')
  assert.equal(await server.ended, 0, server.err())
  t.diagnostic(
    `${races} races of ${readers} reads for one credit through two processes: each one 200 and ${readers - 1} times 402.`,
  )
})

/** Returns the number of outcomes that are `expected`, and the other outcomes. */
function partition(outcomes: readonly unknown[], expected: unknown): [number, unknown[]] {
  const others = outcomes.filter((outcome) => outcome !== expected)
  return [outcomes.length - others.length, others]
}

test('401: both nodes reject a revoked key in every call that starts after the revocation', async (t) => {
  const nodes = [await startServer(env), await startServer(env)]
  const statusesOf = ({ headers }: TestKey, trial: number) => {
    // Each trial uses another address, because failed keys are limited by address.
    const from = { 'X-Forwarded-For': `10.7.${trial >> 8}.${trial & 255}` }
    const question = { path: paidPath, headers: { ...headers, ...from } }
    return nodes.flatMap(({ base }) =>
      [base, base].map(async () => (await ask(base, question)).status),
    )
  }
  const { accountId } = await newKey(db, { credits: 1_000_000 })
  for (let trial = 0; trial < revocations; trial++) {
    const key = await newKey(db, { accountId })
    assert.deepEqual(await Promise.all(statusesOf(key, trial)), [200, 200, 200, 200])
    const meanwhile = statusesOf(key, trial)
    await revokeKey(db, key.keyId)
    assert.deepEqual(await Promise.all(statusesOf(key, trial)), [401, 401, 401, 401], `${trial}`)
    for (const status of await Promise.all(meanwhile)) assert.ok([200, 401].includes(status))
  }
  t.diagnostic(
    `${revocations} keys revoked under load: not one was served afterwards by either of two nodes.`,
  )
})

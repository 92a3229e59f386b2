/**
 * The server or its PostgreSQL is killed while callers make charged reads. Every answered call is
 * charged once, and at most the calls in progress are charged without an answer.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/database/embedded/embedded-postgres.ts'
import { type Db, openDb } from '../../src/platform/db/db.ts'
import { newKey } from '../support/build/keys.ts'
import { assertCharged, type Calls, payingLoad, sumOf } from '../support/fault/paying-load.ts'
import { roundsOf } from '../support/fault/rounds.ts'
import {
  type Env,
  eventually,
  killPostgres,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const serverKills = roundsOf('CHAOS_SERVER_KILLS', 2)
const postgresKills = roundsOf('CHAOS_POSTGRES_KILLS', 1)
const credits = 1_000_000

let db: Db
let postgres: EmbeddedPostgres
// Registered before the folder, because hooks run in order and the folder's own hook removes it.
after(async () => {
  await db.close()
  await postgres.stop()
})

const folder = temporaryFolder()
const env: Env = {
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: 'https://scores.example.org',
  KEY_CALLS_PER_MINUTE: '60000',
  KEY_CALLS_PER_DAY: '10000000',
}

before(async () => {
  // The first server creates the database. This process then holds it open as well, so that it
  // outlives every server.
  const server = await startServer(env)
  postgres = await startEmbeddedPostgres({ dataDir: folder, durable: true, log: () => {} })
  const options = { connectionsMax: 2, applicationName: 'chaos', onError: () => {} }
  db = openDb({ url: postgres.url, ...options })
  server.signal('SIGTERM')
  assert.equal(await server.ended, 0, server.err())
})

/**
 * Waits for a number of answers that differs each round, and some milliseconds more, so that kills
 * hit every step of a call.
 */
async function answersBeforeKill(calls: Calls, round: number): Promise<void> {
  const count = calls.answered.length + 20 + ((round * 37) % 200)
  await eventually(`${count} answers with 200`, {
    see: async () => calls.answered.length >= count,
  })
  await pause((round * 5) % 24)
}

test('SIGKILL of the server: every 200 is charged once; at most the calls in progress are charged without an answer', async (t) => {
  const key = await newKey(db, { credits })
  const rounds: Calls[] = []
  for (let round = 0; round < serverKills; round++) {
    const server = await startServer(env)
    const { calls, ended } = payingLoad(server.base, key)
    await answersBeforeKill(calls, round)
    server.signal('SIGKILL')
    await Promise.all([server.ended, ended])
    rounds.push(calls)
  }
  const calls = sumOf(rounds)
  // A killed server loses its pending refunds, so calls answered with 503 may stay charged.
  const summary = await assertCharged(db, key, { calls, credits, refusedMax: calls.refused.length })
  t.diagnostic(`${serverKills} times SIGKILL of the server under load. ${summary}`)
})

test('SIGKILL of PostgreSQL: every 200 is charged once, every 503 is free, and the server recovers', async (t) => {
  const key = await newKey(db, { credits })
  const server = await startServer(env)
  const { calls, ended, stop } = payingLoad(server.base, key)
  for (let round = 0; round < postgresKills; round++) {
    await answersBeforeKill(calls, round)
    await killPostgres(folder)
  }
  await answersBeforeKill(calls, postgresKills)
  stop()
  await ended
  server.signal('SIGTERM')
  assert.equal(await server.ended, 0, server.err())
  assert.equal(calls.unanswered, 0)
  const summary = await assertCharged(db, key, { calls, credits, refusedMax: 0 })
  t.diagnostic(`${postgresKills} times SIGKILL of PostgreSQL under load. ${summary}`)
})

/**
 * No POST starts after DELETE has answered, and no POST uses a replaced secret: two processes at
 * full load, slow connections.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from '../../src/platform/db/db.ts'
import { untilNothingStarts } from '../../src/webhooks/delivery/send.ts'
import { disableEndpoint } from '../../src/webhooks/endpoints/enable.ts'
import { replaceSecret } from '../../src/webhooks/endpoints/rotate-secret.ts'
import {
  createEndpoint,
  happen,
  testRing,
  testRingText,
  verifies,
} from '../support/build/webhooks.ts'
import type { LoopSettings } from '../support/fault/deliver-loop.ts'
import { testDatabase } from '../support/start/database.ts'
import { listening, startReceiver, testAuthority } from '../support/start/receiver.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

function startLoop(): ChildProcess {
  const settings: LoopSettings = {
    url: database.url,
    ca: testAuthority().cert,
    ring: testRingText,
  }
  const child = spawn(
    process.execPath,
    ['test/support/fault/deliver-loop.ts', JSON.stringify(settings)],
    { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  )
  after(() => child.kill('SIGKILL'))
  return child
}

const endpointCount = 6

/** A request that began in time may be read here so much later, if no process was held up. */
const transitMs = 50

/** If a busy machine holds the processes up for longer, the round is repeated, up to six times. */
const stallMsMax = 200

const stalls = monitorEventLoopDelay({ resolution: 1 })

/** Returns for how long a request was held up at most since the last call, by sender and test. */
async function longestStallMs(senders: readonly ChildProcess[]): Promise<number> {
  const ofSenders = senders.map(async (sender) => {
    sender.send('')
    const [ms]: number[] = await once(sender, 'message')
    return ms ?? 0
  })
  const stallMs = Math.max(...(await Promise.all(ofSenders))) + stalls.max / 1e6
  stalls.reset()
  return stallMs
}

test('after a replacement answers, the old secret signs nothing; after a DELETE answers, no POST starts: two processes under load, slow connections', async () => {
  const arrivals = new Map<string, { last: number; count: number; lastByOldSecret: number }>()
  const oldSecrets = new Map<string, string>()
  const receiver = await startReceiver(['127.0.0.1'], (response, received) => {
    const { path } = received
    const { count, lastByOldSecret } = arrivals.get(path) ?? { count: 0, lastByOldSecret: 0 }
    const last = performance.now()
    const isByOldSecret = verifies(received, oldSecrets.get(path) ?? '')
    arrivals.set(path, {
      last,
      count: count + 1,
      lastByOldSecret: isByOldSecret ? last : lastByOldSecret,
    })
    // Closes every fourth connection, so that new connections are made all the time.
    response.writeHead(200, count % 4 === 0 ? { Connection: 'close' } : {}).end()
  })
  after(() => receiver.close())
  // A proxy delays the first bytes of a connection by 0 to 500 ms.
  let made = 0
  const slow = await listening(
    createServer((near) => {
      const delayMs = (made++ % 6) * 100
      const far = connect(receiver.port, '127.0.0.1')
      far.on('error', () => near.destroy()).on('close', () => near.destroy())
      near.on('close', () => far.destroy())
      setTimeout(() => near.pipe(far).pipe(near), delayMs)
    }),
  )
  after(() => slow.close())

  const began = new Date(Date.now() - 1_000)
  const addEndpoint = async (_: unknown, i: number) => {
    const url = `https://127.0.0.1:${slow.port}/${i}`
    const { id, secret } = await createEndpoint(db, url, { at: began })
    oldSecrets.set(`/${i}`, secret)
    return { id, path: `/${i}` }
  }
  const endpoints = await Promise.all(Array.from({ length: endpointCount }, addEndpoint))
  const feeding = new AbortController()
  const fed = feed(feeding.signal)
  const senders = [startLoop(), startLoop()]
  stalls.enable()
  const rounds = []
  for (const { id, path } of endpoints) {
    const arrived = () => arrivals.get(path)?.count ?? 0
    while (arrived() < 10) await pause(5)
    await longestStallMs(senders)
    const replacedAt = new Date()
    await db.transaction((tx) =>
      replaceSecret(tx, { endpointId: id, owner: 'any', ring: testRing, now: replacedAt }),
    )
    await untilNothingStarts(replacedAt, replacedAt)
    const replacementAt = performance.now()
    for (const enough = arrived() + 10; arrived() < enough; ) await pause(5)
    let now: Date
    do now = new Date()
    while (!(await disabledAtWork(id, now)))
    await untilNothingStarts(now, now)
    const answerAt = performance.now()
    await pause(500)
    const stallMs = await longestStallMs(senders)
    const arrival = arrivals.get(path) ?? assert.fail('nothing arrived at all')
    if (stallMs <= stallMsMax || endpoints.length === 2 * endpointCount)
      rounds.push({ path, replacementAt, answerAt, stallMs, ...arrival })
    else endpoints.push(await addEndpoint(null, endpoints.length))
  }
  feeding.abort()
  await fed
  await pause(500)
  for (const { path, replacementAt, answerAt, stallMs, last, lastByOldSecret, count } of rounds) {
    const lateMs = Math.round(lastByOldSecret - replacementAt)
    assert.ok(lastByOldSecret > 0, `${path}: nothing was signed with the old secret`)
    assert.ok(
      lateMs <= transitMs + stallMs,
      `${path}: the old secret signed ${lateMs} ms after it was replaced`,
    )
    assert.ok(
      last <= answerAt + transitMs + stallMs,
      `${path}: one arrived ${Math.round(last - answerAt)} ms after the answer`,
    )
    if (stallMs <= stallMsMax)
      assert.equal(arrivals.get(path)?.count, count, `${path}: one arrived after the round`)
  }
})

/** Publishes events so that there are always deliveries to send. */
async function feed(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const [open] = await db.rows<{ count: number }>(sql`
      select count(*) as count from webhook_deliveries where finished_at is null`)
    if ((open?.count ?? 0) < 3_000)
      await happen(db, 'score.updated', { count: 250, at: new Date() })
    else await pause(5)
  }
}

/**
 * Disables the endpoint while a delivery is due. Returns false and changes nothing if none is due
 * at this moment.
 */
function disabledAtWork(endpointId: string, now: Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    const waiting = await tx.rows(sql`
      select id from webhook_deliveries
      where endpoint_id = ${endpointId} and finished_at is null and lease_id is null
      limit 1 for update skip locked`)
    if (waiting.length === 0) return false
    await disableEndpoint(tx, { endpointId, owner: 'any', reason: 'owner', now })
    return true
  })
}

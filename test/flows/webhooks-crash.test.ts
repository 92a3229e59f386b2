/** Workers that are killed while they deliver: every committed event reaches every endpoint, and what comes twice has the same id. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { sql } from '../../src/platform/db.ts'
import { eventTypes } from '../../src/webhooks/event-types.ts'
import { publishEvents } from '../../src/webhooks/outbox.ts'
import { testDatabase } from '../support/database.ts'
import type { LoopSettings } from '../support/deliver-loop.ts'
import { startReceiver, testAuthority } from '../support/receiver.ts'
import { createEndpoint, testRing } from '../support/webhooks.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const ring = [...testRing]
  .map(([kid, key]) => `${kid}:${Buffer.from(key).toString('base64')}`)
  .join(',')

function startLoop(turn: number): ChildProcess {
  const settings: LoopSettings = {
    url: database.url,
    ca: testAuthority().cert,
    ring,
    forwardMs: turn * 61_000,
  }
  const child = spawn(
    process.execPath,
    ['test/support/deliver-loop.ts', JSON.stringify(settings)],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  after(() => child.kill('SIGKILL'))
  return child
}

async function until(met: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await met())) await new Promise((resolve) => setTimeout(resolve, 5))
}

const kills = 10
const endpointCount = 3
const batch = 40

test('SIGKILL ten times while delivering: every committed event at every endpoint, none that was rolled back', async () => {
  const { port, received, close } = await startReceiver(['127.0.0.1'], (response) => response.end())
  after(close)
  const began = new Date(Date.now() - 1_000)
  for (let i = 0; i < endpointCount; i++)
    await createEndpoint(db, `https://127.0.0.1:${port}/${i}`, { at: began })

  const publish = (count: number, fails: boolean) =>
    db
      .transaction(async (tx) => {
        const events = Array.from({ length: count }, () => {
          const workerId = randomUUID()
          const data = { ...eventTypes['score.updated'].example, workerId }
          return { type: 'score.updated', workerId, data } as const
        })
        await publishEvents(tx, events, new Date())
        if (fails) throw new Error('rolled back')
      })
      .catch((error: Error) => assert.equal(error.message, 'rolled back'))

  for (let turn = 0; turn < kills; turn++) {
    const loop = startLoop(turn)
    await publish(batch, false)
    await publish(5, true)
    const enough = received.length + batch + turn * 7
    await until(() => received.length >= enough)
    loop.kill('SIGKILL')
  }
  startLoop(kills)
  await until(async () => {
    const [row] = await db.rows<{ open: number; placed: boolean }>(sql`
      select (select count(*)::int from webhook_deliveries where finished_at is null) as open,
        not exists (select from webhook_events where position is null) as placed`)
    return row?.open === 0 && row.placed
  })

  const events = await db.rows<{ id: string; body: string }>(
    sql`select id, body from webhook_events`,
  )
  assert.equal(events.length, kills * batch)
  const bodies = new Map(events.map(({ id, body }) => [id, body]))
  const arrived = new Set<string>()
  for (const { path, headers, body } of received) {
    const id = String(headers['service-webhook-id'])
    assert.equal(body, bodies.get(id), 'an event that was never committed, or other bytes')
    arrived.add(`${path} ${id}`)
  }
  assert.equal(arrived.size, events.length * endpointCount)
  const attempts = received.map(({ headers }) => headers['service-webhook-delivery'])
  assert.equal(new Set(attempts).size, attempts.length, 'an attempt has an id of its own')
  const statuses = await db.rows(sql`select distinct status from webhook_deliveries`)
  assert.deepEqual(statuses, [{ status: 'succeeded' }])
})

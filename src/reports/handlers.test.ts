/** The route over HTTP, on a real database. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { Compile } from 'typebox/compile'
import { reportPerformer } from '../../test/support/build/reports.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { type Call, startKeyed, uuidOf } from '../../test/support/start/keyed.ts'
import { agentDecisionContract } from './contract.ts'
import { agentDecisionHandlers } from './handlers.ts'
import { agentDecisionReportCreated } from './schema.ts'
import { findReportsOf } from './store.ts'

const database = await testDatabase()
const { db } = database
const handlers = agentDecisionHandlers({
  performer: reportPerformer(db),
  publicUrl: 'https://scores.example.org',
})
const edge = await startKeyed(agentDecisionContract, handlers)
after(async () => {
  await edge.stop()
  await database.drop()
})

const body = { subject: { kind: 'candidate', username: '@ada-lovelace' }, decision: 'shortlisted' }
const shape = Compile(agentDecisionReportCreated)
const path = '/api/v1/agent-decisions'

function post(account: string, changes: Partial<Call> = {}) {
  const call = { method: 'POST', path, body, idempotencyKey: randomUUID(), ...changes }
  return edge.call(account, call)
}

const countOf = async (account: string) =>
  (await findReportsOf(db, uuidOf(account), { before: null, limit: 1_000 })).length

test('201, then 200: a repeat with the same Idempotency-Key returns the same report', async () => {
  const idempotencyKey = randomUUID()
  const first = await post('ada', { idempotencyKey })
  assert.equal(first.status, 201)
  assert.equal(first.headers['cache-control'], 'private, no-store')
  assert.ok(shape.Check(first.json), JSON.stringify(first.json))
  const { report, replayed } = first.json
  assert.equal(replayed, false)
  assert.equal(report.userId, uuidOf('ada'))
  assert.equal(report.apiKeyId, uuidOf('key of ada'))
  assert.deepEqual(report.subject, { kind: 'candidate', username: 'ada-lovelace' })
  const again = await post('ada', { idempotencyKey })
  assert.equal(again.status, 200)
  assert.deepEqual(again.json, { ...first.json, replayed: true })
  assert.equal(await countOf('ada'), 1)
})

test('50 parallel duplicates get one 201 and 49 times 200, all with one report', async () => {
  const idempotencyKey = randomUUID()
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => post('duplicates', { idempotencyKey })),
  )
  assert.equal(replies.filter(({ status }) => status === 201).length, 1)
  assert.equal(replies.filter(({ status }) => status === 200).length, 49)
  const reports = new Set(replies.map(({ json }) => JSON.stringify(json.report)))
  assert.equal(reports.size, 1)
})

test('409: an Idempotency-Key that was used for other content is rejected', async () => {
  const idempotencyKey = randomUUID()
  await post('other', { idempotencyKey })
  const reply = await post('other', { idempotencyKey, body: { ...body, decision: 'hired' } })
  assert.equal(reply.status, 409)
  assert.equal(reply.json.error, 'idempotency_key_reused')
})

test('400: an invalid field is named, and its request does not use the key', async () => {
  const idempotencyKey = randomUUID()
  for (const [changes, says] of [
    [{ subject: { kind: 'worker' } }, /^subject/],
    [{ decision: 'maybe' }, /^decision must be one of/],
    [{ outcome: null }, /^outcome must be one of/],
    [{ metadata: [] }, /^metadata must be an object/],
    [{ reasonCodes: ['a', 'a'] }, /^reasonCodes must be/],
    [{ workerId: randomUUID() }, /^workerId is not a known field/],
  ] as const) {
    const reply = await post('invalid', { idempotencyKey, body: { ...body, ...changes } })
    assert.equal(reply.status, 400)
    assert.equal(reply.json.error, 'invalid_field')
    assert.match(String(reply.json.message), says)
  }
  assert.equal((await post('invalid', { idempotencyKey })).status, 201)
})

test('429: a report over the daily limit is rejected and does not use its key', async () => {
  const limits = { perMinute: 1_000, perDay: 3 }
  const tight = await startKeyed(agentDecisionContract, handlers, limits)
  const call = () => ({ method: 'POST', path, body, idempotencyKey: randomUUID() })
  for (let i = 0; i < 3; i++) assert.equal((await tight.call('busy', call())).status, 201)
  const last = call()
  const refused = await tight.call('busy', last)
  await tight.stop()
  assert.equal(refused.status, 429)
  assert.match(String(refused.headers['retry-after']), /^\d+$/)
  assert.equal((await post('busy', last)).status, 201)
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { line, now, register, workerNamed } from '../../test/support/build/workers.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { sql } from '../platform/db/db.ts'
import { type Move, recordIdentityMove } from './identity.ts'
import { identityAt } from './identity-state.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const day = (text: string) => new Date(`${text}T00:00:00Z`)
const verify = (until: Date): Move => ({ move: 'verify', until })

async function moved(username: string, move: Move, at = now) {
  return movedById((await workerNamed(db, username)).workerId, move, at)
}

function movedById(workerId: string, move: Move, at = now) {
  return db.transaction((tx) => recordIdentityMove(tx, { workerId, ...move }, { by: 'test', at }))
}

async function historyOf(username: string): Promise<string[]> {
  const { workerId } = await workerNamed(db, username)
  const rows = await db.rows<{ change: number; state: string }>(sql`
    select change, state from identity_changes where worker_id = ${workerId} order by change`)
  return rows.map(({ change, state }) => `${change} ${state}`)
}

function outcomeOf(answer: object): string {
  if ('refusal' in answer) return String(answer.refusal)
  return 'to' in answer && answer.to !== null ? 'changed' : 'unchanged'
}

test('an identity is begun, verified, renewed, revoked and begun again: every state is recorded as a row', async () => {
  await register(db, [line({ username: 'walker' })])
  const outcomes = []
  for (const move of [
    { move: 'begin' as const },
    { move: 'begin' as const },
    verify(day('2027-01-01')),
    verify(day('2027-01-01')),
    verify(day('2028-01-01')),
    { move: 'begin' as const },
    { move: 'revoke' as const },
    { move: 'revoke' as const },
    { move: 'begin' as const },
    { move: 'revoke' as const },
    verify(day('2029-01-01')),
  ]) {
    outcomes.push(outcomeOf(await moved('walker', move)))
  }
  assert.deepEqual(outcomes, [
    'changed',
    'unchanged',
    'changed',
    'unchanged',
    'changed',
    'identity_state',
    'changed',
    'unchanged',
    'changed',
    'changed',
    'changed',
  ])
  assert.deepEqual(await historyOf('walker'), [
    '1 pending',
    '2 verified',
    '3 verified',
    '4 revoked',
    '5 pending',
    '6 revoked',
    '7 pending',
    '8 verified',
  ])
})

test('a revocation is refused if no verification was begun; an unknown worker id gives worker_not_found', async () => {
  await register(db, [line({ username: 'fresh' })])
  assert.deepEqual(await moved('fresh', { move: 'revoke' }), {
    refusal: 'identity_state',
    message: 'There is nothing to revoke: the identity is none.',
  })
  assert.deepEqual(await historyOf('fresh'), [])
  assert.deepEqual(await movedById(randomUUID(), { move: 'revoke' }), {
    refusal: 'worker_not_found',
  })
})

test('an end in the past, or too far ahead, is refused', async () => {
  await register(db, [line({ username: 'ends' })])
  const past = await moved('ends', verify(now))
  const message = 'until must be in the future.'
  assert.deepEqual(past, { refusal: 'invalid_field', message })
  assert.equal(outcomeOf(await moved('ends', verify(day('2036-05-15')))), 'invalid_field')
  assert.deepEqual(await historyOf('ends'), [])
})

test('an expired verification is verified again through pending', async () => {
  await register(db, [line({ username: 'expiring' })])
  await moved('expiring', verify(day('2026-06-01')))
  const { identity } = await workerNamed(db, 'expiring')
  assert.equal(identityAt(identity, day('2026-05-31')), 'verified')
  assert.equal(identityAt(identity, day('2026-06-01')), 'expired')
  const again = await moved('expiring', verify(day('2027-06-01')), day('2026-06-02'))
  assert.deepEqual(again, { from: 'expired', to: 'verified' })
  assert.deepEqual(await historyOf('expiring'), [
    '1 pending',
    '2 verified',
    '3 pending',
    '4 verified',
  ])
})

test('20 concurrent moves of one worker run one after the other, and their rows are numbered without a gap', async () => {
  await register(db, [line({ username: 'crowd' })])
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      moved('crowd', i % 2 === 0 ? verify(day(`2027-01-${10 + i}`)) : { move: 'revoke' }),
    ),
  )
  const changed = answers.filter((answer) => outcomeOf(answer) === 'changed').length
  const history = await historyOf('crowd')
  assert.ok(history.length >= changed && changed > 0)
  assert.deepEqual(
    history.map((row) => Number(row.split(' ')[0])),
    history.map((_, i) => i + 1),
  )
  assert.equal((await workerNamed(db, 'crowd')).identity?.state, history.at(-1)?.split(' ')[1])
})

test('an import verifies only workers without any verification', async () => {
  const one = line({ username: 'imported', identity: { verifiedUntil: '2028-01-01T00:00:00Z' } })
  await register(db, [one])
  assert.deepEqual(await historyOf('imported'), ['1 pending', '2 verified'])
  await moved('imported', { move: 'revoke' })
  await register(db, [one])
  assert.deepEqual(await historyOf('imported'), ['1 pending', '2 verified', '3 revoked'])
})

test('the identity history cannot be rewritten', async () => {
  for (const statement of [
    sql`update identity_changes set state = 'pending', verified_until = null`,
    sql`update identity_changes set actor = 'erased', changed_at = changed_at - interval '1 day'`,
    sql`delete from identity_changes`,
    sql`update identities set state = 'pending', verified_until = null where state = 'revoked'`,
  ])
    await assert.rejects(db.run(statement), /append-only|stays taken|violates/, statement.text)
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { Type } from 'typebox'
import { testRegistry } from '../../test/support/build/registry.ts'
import { addScoredWorker, addSources, daysAfter, scoring } from '../../test/support/build/scores.ts'
import { everythingStored } from '../../test/support/oracle/everything-stored.ts'
import { sql } from '../platform/db/db.ts'
import { refuse } from '../platform/errors.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import {
  disputesList,
  disputesOpen,
  disputesResolve,
  disputesReview,
  disputesShow,
} from '../scoring/disputes/operations.ts'
import { findWorkerFacts } from '../workers/store.ts'
import { moreField, orNull } from './fields.ts'
import { type Ingest, ingestLines } from './ingest.ts'
import { changed, operationsFor, unchanged } from './operation.ts'
import { operatorEndpoints } from './operator-routes.ts'
import { type OperationCaller, perform, performAny, whyForbidden } from './perform.ts'
import { deleteOldReplays, eraseReplays, insertReplay } from './replay-store.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

const now = daysAfter(1)
const services = {
  disputes: { hidesScore: true, dueDays: 30 },
  scoring: () => Promise.resolve(scoring),
}
const performer = { db, clock: () => now, services }
const admin = { kind: 'operator', role: 'admin', actor: 'ada@vm', by: 'Ada' } as const

async function scoredWorker(): Promise<string> {
  const { workerId } = await addScoredWorker(db, {})
  const [worker] = await findWorkerFacts(db, [workerId])
  assert.ok(worker)
  return worker.username
}

async function entriesOf(action: string, subject: string) {
  return db.rows<{ actor: string; details: string }>(sql`
    select actor, details::text from audit_log
    where action = ${action} and subjects::text like ${`%${subject}%`}`)
}

function outputOf<Output>(performed: { output: Output } | { refusal: string }): Output {
  assert.ok('output' in performed, JSON.stringify(performed))
  return performed.output
}

test('a change writes one audit entry with its actor, and a refused change writes none', async () => {
  const username = await scoredWorker()
  const { dispute } = outputOf(
    await perform(performer, disputesOpen, admin, { username, kind: 'score', exclude: false }),
  )
  assert.equal(dispute.username, username)
  assert.deepEqual(await entriesOf('disputes.opened', dispute.id), [
    { actor: 'ada@vm', details: '{"excluded":0,"kind":"score","restricted":true}' },
  ])
  const shown = outputOf(await perform(performer, disputesShow, admin, { disputeId: dispute.id }))
  assert.deepEqual(
    shown.dispute.moves.map(({ by }) => by),
    ['Ada'],
  )
  const before = await everythingStored(registry.url)
  const early = { disputeId: dispute.id, as: 'upheld' } as const
  assert.partialDeepStrictEqual(await perform(performer, disputesResolve, admin, early), {
    refusal: 'dispute_state',
  })
  assert.equal(await everythingStored(registry.url), before)
})

test('a dry run returns the result, runs nothing after it, and leaves every table as it was', async () => {
  const username = await scoredWorker()
  const input = { username, kind: 'score', exclude: false } as const
  const before = await everythingStored(registry.url)
  const { dispute } = outputOf(
    await perform(performer, disputesOpen, admin, input, { isDryRun: true }),
  )
  assert.equal(dispute.state, 'open')
  assert.equal(await everythingStored(registry.url), before)
  const noted: string[] = []
  const change = noteTaking(noted)
  await performAny({ ...performer, services: {} }, change, admin, {}, { isDryRun: true })
  assert.deepEqual(noted, [])
  await performAny({ ...performer, services: {} }, change, admin, {})
  assert.deepEqual(noted, ['after'])
})

function noteTaking(noted: string[]) {
  return operationsFor<object>().change({
    name: 'notes take',
    http: 'POST /notes',
    summary: 'Take a note after the commit',
    who: { operator: 'admin' },
    output: closedObject({}),
    audit: { none: 'a test' },
    run: () =>
      Promise.resolve({
        output: {},
        entries: [],
        after: async () => {
          noted.push('after')
        },
      }),
  })
}

test('an unknown member, a wrong type and a missing field are refused with the name of the field', async () => {
  const username = await scoredWorker()
  for (const [input, message] of [
    [{ username, kind: 'score', userId: 'x' }, 'userId is not a known field.'],
    [{ username, kind: 'mood' }, 'kind must be one of score, evidence, identity.'],
    [{ username }, 'kind is missing.'],
    [
      { username: 'A', kind: 'score' },
      'username must have 3 to 30 of the characters a-z, 0-9, _ and -, with a letter or digit at both ends.',
    ],
  ] as const)
    assert.deepEqual(await performAny(performer, disputesOpen, admin, input), {
      refusal: 'invalid_field',
      message,
    })
})

test('a value is taken in its one spelling, and an absent one by its default', async () => {
  const username = await scoredWorker()
  const { dispute } = outputOf(
    await perform(performer, disputesOpen, admin, {
      username: `@${username}`,
      kind: 'score',
      exclude: false,
    }),
  )
  const disputeId = dispute.id.toUpperCase()
  assert.deepEqual(outputOf(await perform(performer, disputesReview, admin, { disputeId })), {
    disputeId: dispute.id,
    state: 'under_review',
  })
  const { disputes } = outputOf(await performAny(performer, disputesList, admin, {})) as {
    disputes: { id: string }[]
  }
  assert.ok(disputes.some(({ id }) => id === dispute.id))
})

test('each caller reaches only the operations of its role, scope or membership', () => {
  const operator = (role: 'viewer' | 'support' | 'admin' | 'ingest'): OperationCaller => ({
    ...admin,
    role,
  })
  const at = { actor: 'x', by: 'x', accountId: 'a' }
  const member: OperationCaller = { kind: 'member', role: 'member', userId: 'u', ...at }
  const owner: OperationCaller = { kind: 'member', role: 'owner', userId: 'u', ...at }
  const key: OperationCaller = { kind: 'key', scopes: ['webhooks:write'], ...at }
  const cases = [
    [{ operator: 'support' }, operator('viewer'), 'operator_role_required'],
    [{ operator: 'support' }, operator('support'), null],
    [{ operator: 'support' }, operator('admin'), null],
    [{ operator: 'viewer' }, operator('ingest'), 'operator_role_required'],
    [{ operator: 'viewer', ingest: true }, operator('ingest'), null],
    [{ operator: 'viewer' }, member, 'operator_role_required'],
    [{ operator: 'viewer', member: 'owner' }, member, 'owner_required'],
    [{ operator: 'viewer', member: 'owner' }, owner, null],
    [{ operator: 'viewer', member: 'member' }, member, null],
    [{ operator: 'viewer', key: 'scores:read' }, key, 'insufficient_scope'],
    [{ operator: 'viewer' }, key, 'insufficient_scope'],
    [{ operator: 'viewer', key: 'webhooks:write' }, key, null],
  ] as const
  for (const [who, caller, expected] of cases)
    assert.equal(whyForbidden(who, caller), expected, JSON.stringify([who, caller]))
})

test('the same Idempotency-Key gets the same answer from one change, also at the same time; other content is refused', async () => {
  const username = await scoredWorker()
  const input = { username, kind: 'score', exclude: false } as const
  const options = { idempotencyKey: 'retry-0123456789abcdef' }
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => perform(performer, disputesOpen, admin, input, options)),
  )
  const [first] = answers
  assert.ok(first)
  const { id } = outputOf(first).dispute
  for (const answer of answers) assert.deepEqual(answer, first)
  assert.equal((await entriesOf('disputes.opened', id)).length, 1)
  const other = { ...input, restrict: false }
  assert.deepEqual(await perform(performer, disputesOpen, admin, other, options), {
    refusal: 'idempotency_key_reused',
  })
  const bob = { ...admin, actor: 'bob@vm' }
  assert.partialDeepStrictEqual(await perform(performer, disputesOpen, bob, input, options), {
    refusal: 'dispute_already_open',
  })
  await deleteOldReplays(db, new Date(now.getTime() + 86_400_001))
  assert.partialDeepStrictEqual(await perform(performer, disputesOpen, admin, input, options), {
    refusal: 'dispute_already_open',
  })
})

test('an answer with a secret is not stored: the repeat is refused', async () => {
  const make = operationsFor<object>().change({
    name: 'secrets make',
    http: 'POST /secrets',
    summary: 'Make a secret',
    who: { operator: 'admin' },
    output: closedObject({ secret: Type.String({ 'x-secret': true }) }),
    audit: { none: 'a test' },
    run: () => Promise.resolve({ output: { secret: 'drowssap' }, entries: [] }),
  })
  const secretive = { ...performer, services: {} }
  const options = { idempotencyKey: 'secret-0123456789abc' }
  assert.deepEqual(await performAny(secretive, make, admin, {}, options), {
    output: { secret: 'drowssap' },
  })
  assert.partialDeepStrictEqual(await performAny(secretive, make, admin, {}, options), {
    refusal: 'idempotency_key_spent',
  })
  assert.doesNotMatch(await everythingStored(registry.url), /drowssap/)
})

/** Works on three batches, which count ten each. */
function threeBatches() {
  let left = 3
  return operationsFor<object>().change({
    name: 'batches work',
    http: 'POST /batches',
    summary: 'Work in batches',
    who: { operator: 'admin' },
    output: closedObject({ moved: Type.Integer(), last: Type.String(), more: moreField }),
    audit: 'disputes.withdrawn',
    run() {
      left--
      const output = { moved: 10, last: `batch ${3 - left}` }
      return Promise.resolve(changed(output, { subjects: [randomUUID()] }, { more: left > 0 }))
    },
  })
}

const plain = { ...performer, services: {} }

test('a long change runs batch by batch, each in its own transaction, and adds up what it did', async () => {
  const batches: object[] = []
  const options = { onBatch: (output: object) => batches.push(output) }
  const performed = await performAny(plain, threeBatches(), admin, {}, options)
  assert.deepEqual(performed, { output: { moved: 30, last: 'batch 3' } })
  assert.equal(batches.length, 3)
})

test('a long change begins no batch after its time, and says that more is left', async () => {
  const work = threeBatches()
  const outputs: object[] = []
  for (let i = 0; i < 3; i++)
    outputs.push(outputOf(await performAny(plain, work, admin, {}, { batchesMsMax: 0 })))
  assert.deepEqual(outputs, [
    { moved: 10, last: 'batch 1', more: true },
    { moved: 10, last: 'batch 2', more: true },
    { moved: 10, last: 'batch 3' },
  ])
})

test('POST: the route of a long change answers with more after its time, and a repeat with the same Idempotency-Key goes on', async () => {
  const work = threeBatches()
  const caller = { kind: 'operator', role: 'admin', tokenId: randomUUID(), name: 'HR' } as const
  const idempotencyKey = 'batch-0123456789abcdef'
  const bodies: unknown[] = []
  for (const batchesMsMax of [0, 60_000]) {
    const [route] = operatorEndpoints([work], plain, batchesMsMax)
    const request = { path: {}, query: {}, body: {}, caller, idempotencyKey }
    const answer = await route?.answer(request as never)
    assert.ok(answer && 'body' in answer)
    bodies.push(answer.body)
  }
  assert.deepEqual(bodies, [
    { moved: 10, last: 'batch 1', more: true },
    { moved: 30, last: 'batch 3' },
  ])
})

test('a refusal rolls back what the change wrote before it', async () => {
  const write = operationsFor<object>().change({
    name: 'writes refuse',
    http: 'POST /writes',
    summary: 'Write, then refuse',
    who: { operator: 'admin' },
    output: closedObject({}),
    refusals: ['score_absent'],
    audit: { none: 'a test' },
    async run(tx) {
      await tx.run(sql`update sources set name = 'Written'`)
      return refuse('score_absent')
    },
  })
  const before = await everythingStored(registry.url)
  assert.deepEqual(await performAny(plain, write, admin, {}), { refusal: 'score_absent' })
  assert.equal(await everythingStored(registry.url), before)
})

test('erasing a text deletes the stored answers that hold it as a word, not those with a member of that name', async () => {
  const at = new Date()
  const answers: Record<string, object> = {
    value: { username: 'changed' },
    link: { url: 'https://scores.example/u/changed' },
    member: { changed: true },
    longer: { username: 'unchanged' },
    mail: { email: 'ada.b@example.com' },
  }
  await db.transaction(async (tx) => {
    for (const [key, output] of Object.entries(answers)) {
      const call = { actor: 'erase', key, fingerprint: Buffer.alloc(32) }
      await insertReplay(tx, call, { output }, at)
    }
    await eraseReplays(tx, ['changed', 'ada.b@example.com'])
  })
  const left = await db.rows<{ key: string }>(sql`
    select idempotency_key as key from operation_replays where actor = 'erase' order by 1`)
  assert.deepEqual(
    left.map(({ key }) => key),
    ['longer', 'member'],
  )
})

test('a dry run shows no secret and no id of a record that it makes', async () => {
  const output = {
    secret: 'a-secret',
    owner: 'ada',
    records: [
      { id: 'new', name: 'one' },
      { id: null, name: 'two' },
    ],
  }
  const make = operationsFor<object>().change({
    name: 'secrets make',
    http: 'POST /secrets',
    summary: 'Make a secret',
    who: { operator: 'admin' },
    output: closedObject({
      secret: Type.String({ 'x-secret': true }),
      owner: Type.String(),
      records: Type.Array(
        closedObject({ id: { ...orNull(Type.String()), 'x-made': true }, name: Type.String() }),
      ),
    }),
    audit: { none: 'a test' },
    run: () => Promise.resolve(unchanged(output)),
  })
  assert.deepEqual(await performAny(plain, make, admin, {}, { isDryRun: true }), {
    output: {
      secret: '(not made)',
      owner: 'ada',
      records: [
        { id: '(not made)', name: 'one' },
        { id: null, name: 'two' },
      ],
    },
  })
  assert.deepEqual(await performAny(plain, make, admin, {}), { output })
})

/** Applies two batches of one line each, and returns what happened in their order. */
async function applyTwo(names: readonly [string, string]): Promise<string[]> {
  const happened: string[] = []
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  const ingest: Ingest<object, { line: number; name: string }, 'done', 'workers.imported'> = {
    name: 'test import',
    http: 'POST /test',
    summary: 'Test',
    who: { operator: 'admin' },
    audit: 'workers.imported',
    line: Type.Any(),
    lineBytesMax: 100,
    batchMax: 1,
    results: ['done'],
    example: {},
    read: (value) => value as { line: number; name: string },
    namesOf: ({ name }) => [name],
    async apply(tx, [item]) {
      const isFirst = item?.line === 1
      if (isFirst) first.resolve()
      // Its connection may be there before that of the first batch.
      else await first.promise
      happened.push(`${isFirst ? 'first' : 'second'} begins`)
      if (isFirst && names[0] !== names[1]) {
        await second.promise
        throw new Error('the first batch fails')
      }
      second.resolve()
      await tx.rows(sql`select 1`)
      happened.push(`${isFirst ? 'first' : 'second'} ends`)
      return unchanged([{ result: 'done' as const }])
    },
  }
  const batches = names.map((name, i) => ({
    lines: [{ number: i + 1, bytes: Buffer.from(`${i + 1} ${name}`), isTooLong: false }],
    bytesRead: i,
  }))
  const parseLine = (bytes: Uint8Array) => {
    const [line, name] = Buffer.from(bytes).toString().split(' ')
    return { value: { line: Number(line), name } }
  }
  const context = { db, clock: () => now, actor: 'test' }
  await ingestLines(context, ingest, { by: 'test', services: {} }, { batches, parseLine }, () => {
    happened.push('reported')
  }).catch((error: Error) => happened.push(error.message))
  return happened
}

test('an import begins a batch beside the one before, and after an error ends it before the import fails', async () => {
  assert.deepEqual(await applyTwo(['ada', 'grace']), [
    'first begins',
    'second begins',
    'second ends',
    'the first batch fails',
  ])
})

test('an import begins a batch that names the same worker after the one before', async () => {
  assert.deepEqual(await applyTwo(['ada', 'ada']), [
    'first begins',
    'first ends',
    'reported',
    'second begins',
    'second ends',
    'reported',
  ])
})

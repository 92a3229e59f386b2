import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  addSource,
  addWorkers,
  evidenceLineOf,
  evidenceNow as now,
  smallVocabulary as vocabulary,
  workerIdOf,
} from '../../../test/support/build/evidence.ts'
import { crossing, inTurn } from '../../../test/support/fault/in-turn.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql, type Tx } from '../../platform/db/db.ts'
import { score } from '../core/score.ts'
import { excludeEvidence, expireDueEvidence, restoreEvidence } from './exclude-evidence.ts'
import { type Ingested, ingestEvidence } from './ingest-evidence.ts'
import {
  deleteRecomputations,
  lockRecomputations,
  markForRecomputation,
} from './recomputation-store.ts'
import { registerSource } from './register-source.ts'
import { revokeEvidence } from './revoke-evidence.ts'
import type { EvidenceLine, SourceLine } from './schema.ts'
import { findWorkerEvidence } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
await addWorkers(db, 40)
await addSource(db)

const rules = { vocabulary, now }
let items = 0

/** Returns a line with an external id of its own. */
function line(over: Partial<EvidenceLine> = {}): EvidenceLine {
  return evidenceLineOf(++items, over)
}

function ingest(lines: readonly EvidenceLine[], over: { now?: Date } = {}) {
  return db.transaction((tx) => ingestEvidence(tx, lines, { ...rules, ...over }))
}

const outcomes = (answers: readonly Ingested[]) =>
  answers.map((answer) => ('refused' in answer ? 'refused' : answer.result))

async function idOf(over: Partial<EvidenceLine> = {}): Promise<string> {
  const [answer] = await ingest([line(over)])
  assert.ok(answer !== undefined && 'evidenceId' in answer)
  return answer.evidenceId
}

interface Row {
  state: string
  reason: string | null
  actor: string | null
}

async function stateOf(id: string): Promise<Row> {
  const [row] = await db.rows<Row>(sql`
    select state, revoked_reason as reason, revoked_by as actor from evidence where evidence_id = ${id}`)
  assert.ok(row !== undefined)
  return row
}

async function counts() {
  const [row] = await db.rows<{ evidence: number; private: number; due: number }>(sql`
    select (select count(*) from evidence) as evidence, (select count(*) from evidence_private) as private,
      (select count(*) from score_recomputations) as due`)
  return row
}

/** Returns the marked workers with the reason of each, and removes all marks. */
async function due() {
  const rows = await db.rows<{ workerId: string; reason: string }>(sql`
    delete from score_recomputations returning worker_id as "workerId", reason`)
  return Object.fromEntries(rows.map(({ workerId, reason }) => [workerId, reason]))
}

async function take(tx: Tx): Promise<string[]> {
  const taken = await lockRecomputations(tx, { limit: 10, now })
  await deleteRecomputations(tx, taken)
  return taken
}

test('a new item is added once; the same line again changes nothing', async () => {
  const sent = [
    line(),
    line({ private: { notes: 'seen at work' } }),
    line({ digest: 'ab'.repeat(32) }),
  ]
  const first = await ingest(sent)
  assert.deepEqual(outcomes(first), ['added', 'added', 'added'])
  const before = await counts()
  const again = await ingest(sent, { now: new Date('2026-06-01T00:00:00Z') })
  assert.deepEqual(outcomes(again), ['unchanged', 'unchanged', 'unchanged'])
  assert.deepEqual(
    again.map((answer) => 'evidenceId' in answer && answer.evidenceId),
    first.map((answer) => 'evidenceId' in answer && answer.evidenceId),
  )
  assert.deepEqual(await counts(), before)
})

test('an external id in use is refused for different content, whichever field differs, also within one batch', async () => {
  const sent = line({ private: { notes: 'one', submitter: 'Ada' }, expiresOn: '2030-01-01' })
  await ingest([sent])
  const { private: _, ...withoutPrivate } = sent
  const { expiresOn: __, ...withoutEnd } = sent
  const others: EvidenceLine[] = [
    { ...sent, value: sent.value + 1 },
    { ...sent, workerId: workerIdOf(30) },
    { ...sent, skillId: 'hss:welding', type: 'credential' },
    { ...sent, type: 'work_product' },
    { ...sent, observedOn: '2026-05-02' },
    { ...sent, expiresOn: '2030-01-02' },
    { ...sent, digest: 'cd'.repeat(32) },
    { ...sent, private: { notes: 'one' } },
    withoutPrivate,
    withoutEnd,
  ]
  for (const other of others) {
    const [answer] = await ingest([other])
    assert.deepEqual(answer, {
      refused: { field: 'externalId', reason: 'is in use for another content' },
    })
  }
  const bare = line()
  await ingest([bare])
  const [more] = await ingest([{ ...bare, private: { notes: 'one' } }])
  assert.ok(more !== undefined && 'refused' in more, 'what is private would be lost')
  const fresh = line()
  const batch = await ingest([fresh, { ...fresh, value: 999 }, fresh])
  assert.deepEqual(outcomes(batch), ['added', 'refused', 'unchanged'])
  // The order of the private fields does not matter.
  const turned = { ...sent, private: { submitter: 'Ada', notes: 'one' } }
  assert.deepEqual(outcomes(await ingest([turned])), ['unchanged'])
})

test('two sources may use the same external id', async () => {
  await addSource(db, { id: 'second' })
  const sent = line({ workerId: workerIdOf(39) })
  assert.deepEqual(outcomes(await ingest([sent, { ...sent, sourceId: 'second' }])), [
    'added',
    'added',
  ])
  const evidence = await findWorkerEvidence(db, [workerIdOf(39)])
  const { evidenceCount } = score({ evidence, vocabulary, asOfDay: 20_587 })
  assert.equal(evidenceCount, 2, 'they are two artefacts, although the sources are of one group')
})

const wrong: readonly [field: string, reason: RegExp, over: Partial<EvidenceLine>][] = [
  ['sourceId', /not a registered source/, { sourceId: 'nobody' }],
  ['workerId', /not a registered worker/, { workerId: workerIdOf(999) }],
  ['skillId', /no skill of the vocabulary/, { skillId: 'hss:unheard-of' }],
  ['skillId', /no skill of the vocabulary/, { skillId: 'hss:constructor' }],
  ['type', /no evidence type of this skill/, { type: 'credential' }],
  ['type', /no evidence type of this skill/, { type: 'constructor' }],
  ['observedOn', /in the future/, { observedOn: '2026-05-15' }],
  ['observedOn', /no date of the calendar/, { observedOn: '2026-02-29' }],
  ['observedOn', /no date of the calendar/, { observedOn: '9999-12-32' }],
  ['observedOn', /before 1900-01-01/, { observedOn: '1899-12-31' }],
  ['expiresOn', /no date of the calendar/, { expiresOn: '2026-13-01' }],
  ['expiresOn', /no date of the calendar/, { expiresOn: '9999-12-32' }],
  ['expiresOn', /no date of the calendar/, { expiresOn: '9999-13-01' }],
  ['expiresOn', /not after observedOn/, { expiresOn: '2026-05-01' }],
]

test('each faulty line has its own message, and the valid lines of the batch are added', async () => {
  const before = await counts()
  const sent = wrong.flatMap(([, , over]) => [line(over), line()])
  const answers = await ingest(sent)
  for (const [i, [field, reason]] of wrong.entries()) {
    const answer = answers[2 * i]
    assert.ok(answer !== undefined && 'refused' in answer, `${field} ${reason}`)
    assert.equal(answer.refused.field, field)
    assert.match(answer.refused.reason, reason)
    assert.equal(outcomes(answers)[2 * i + 1], 'added')
  }
  assert.equal((await counts())?.evidence, (before?.evidence ?? 0) + wrong.length)
})

test('evidence of the first and of the last accepted date is added', async () => {
  const ends = [{ observedOn: '1900-01-01' }, { expiresOn: '9999-12-31' }]
  assert.deepEqual(outcomes(await ingest(ends.map((over) => line(over)))), ['added', 'added'])
})

test('evidence of today is added; a worker id in capitals names the same worker', async () => {
  const workerId = 'aBcDefAB-0000-7000-8000-00000000000a'
  const sent = line({ observedOn: '2026-05-14', workerId })
  await db.run(sql`insert into workers (id, registered_at) values (${workerId}, ${now})`)
  assert.deepEqual(outcomes(await ingest([sent])), ['added'])
  const lower = { ...sent, workerId: workerId.toLowerCase() }
  assert.deepEqual(outcomes(await ingest([lower])), ['unchanged'])
})

test('a line names its worker by id, by external id or by username, and exactly one of them is needed', async () => {
  const workerId = workerIdOf(37)
  await db.run(sql`update workers set external_id = 'HR-37' where id = ${workerId}`)
  await db.run(sql`
    insert into usernames values (sha256(convert_to('ada-37', 'UTF8')), ${workerId}, ${now})`)
  await db.run(sql`
    insert into profiles (worker_id, username, username_sha256, display_name, member_since, updated_at)
    values (${workerId}, 'ada-37', sha256(convert_to('ada-37', 'UTF8')), 'Ada', '2026-05', ${now})`)
  const { workerId: _, ...unnamed } = line()
  const names = [{ workerId }, { workerExternalId: 'HR-37' }, { username: 'ada-37' }]
  const answers = await ingest(names.map((name) => ({ ...unnamed, ...name })))
  assert.deepEqual(outcomes(answers), ['added', 'unchanged', 'unchanged'])
  const fields = (
    await ingest([
      unnamed,
      { ...unnamed, workerId, username: 'ada-37' },
      { ...unnamed, workerExternalId: 'HR-38' },
      { ...unnamed, username: 'ada-38' },
    ])
  ).map((answer) => 'refused' in answer && answer.refused.field)
  assert.deepEqual(fields, ['workerId', 'username', 'workerExternalId', 'username'])
})

test('eight imports of the same lines at once, in different orders: each item is added once, without a deadlock', async () => {
  const sent = Array.from({ length: 200 }, () => line({ private: { notes: 'n' } }))
  const orders = Array.from({ length: 8 }, (_, turn) => (turn % 2 === 0 ? sent : sent.toReversed()))
  const before = await counts()
  const runs = await Promise.all(orders.map((order) => ingest(order)))
  const added = runs.flatMap(outcomes).filter((outcome) => outcome === 'added')
  assert.equal(added.length, 200)
  assert.equal(runs.flatMap(outcomes).filter((outcome) => outcome === 'unchanged').length, 1_400)
  const after = await counts()
  assert.equal(after?.evidence, (before?.evidence ?? 0) + 200)
  assert.equal(after?.private, (before?.private ?? 0) + 200)
})

test('two imports of the same items in opposite orders wait for each other and do not deadlock', async () => {
  const [a, b] = [line({ externalId: 'both-a' }), line({ externalId: 'both-b' })]
  const one = {
    first: (tx: Tx) => ingestEvidence(tx, [a], rules),
    second: (tx: Tx) => ingestEvidence(tx, [b], rules),
  }
  const other = await crossing(db, one, (tx) => ingestEvidence(tx, [b, a], rules))
  assert.deepEqual(outcomes(other), ['unchanged', 'unchanged'])
})

test('one external id with two contents at once: one line is added, the other refused', async () => {
  const sent = Array.from({ length: 20 }, () => line())
  const [one, other] = await Promise.all([
    ingest(sent),
    ingest(sent.map((each) => ({ ...each, value: 1_000 }))),
  ])
  for (const i of sent.keys())
    assert.deepEqual(new Set([outcomes(one)[i], outcomes(other)[i]]), new Set(['added', 'refused']))
})

test('an item whose private part was erased is unchanged by the same line, and the private part stays erased', async () => {
  const sent = line({ private: { notes: 'erase me' } })
  const [answer] = await ingest([sent])
  assert.ok(answer !== undefined && 'evidenceId' in answer)
  await db.run(
    sql`update evidence_private set payload = null where evidence_id = ${answer.evidenceId}`,
  )
  assert.deepEqual(outcomes(await ingest([sent])), ['unchanged'])
  const [row] = await db.rows<{ payload: string | null }>(
    sql`select payload from evidence_private where evidence_id = ${answer.evidenceId}`,
  )
  assert.equal(row?.payload, null)
})

test('the engine receives the numbers of the item and of its source, and no personal data', async () => {
  const workerId = workerIdOf(31)
  const id = await idOf({ workerId, value: 820, digest: 'ef'.repeat(32), private: { notes: 'x' } })
  const [item] = await findWorkerEvidence(db, [workerId])
  assert.deepEqual(item, {
    workerId,
    id,
    skillId: 'hss:typescript',
    type: 'assessment',
    group: 'examiners',
    assurance: 1_000,
    value: 820,
    observedDay: 20_574,
    digest: 'ef'.repeat(32),
    state: 'active',
  })
  assert.ok(item !== undefined)
  const result = score({ evidence: [item], vocabulary, asOfDay: 20_587 })
  assert.deepEqual([result.evidenceCount, result.sourceCount], [1, 1])
})

test('revoked evidence keeps its row, its first reason and its actor, and stays revoked', async () => {
  const id = await idOf({ expiresOn: '2027-05-01' })
  const missing = workerIdOf(5)
  const revoke = (reason: 'policy' | 'source_invalid', actor: string) =>
    db.transaction((tx) => revokeEvidence(tx, [id, missing], { reason, actor, now }))
  assert.deepEqual(await revoke('policy', 'ada'), {
    revoked: [id],
    alreadyRevoked: [],
    notFound: [missing],
  })
  assert.deepEqual(await revoke('source_invalid', 'bob'), {
    revoked: [],
    alreadyRevoked: [id],
    notFound: [missing],
  })
  assert.deepEqual(await stateOf(id), { state: 'revoked', reason: 'policy', actor: 'ada' })
  for (const state of ['active', 'excluded', 'expired'])
    await assert.rejects(
      db.run(sql`
        update evidence set state = ${state}, revoked_reason = null, revoked_by = null
        where evidence_id = ${id}`),
      /stays revoked/,
    )
})

test('excluded evidence can be restored; revoked evidence is neither excluded nor restored', async () => {
  const [one, two] = [await idOf(), await idOf()]
  const exclude = () => db.transaction((tx) => excludeEvidence(tx, [one, two], now))
  const restore = () => db.transaction((tx) => restoreEvidence(tx, [one, two], now))
  assert.deepEqual(await exclude(), [one, two].sort())
  assert.deepEqual(await exclude(), [])
  await db.transaction((tx) =>
    revokeEvidence(tx, [two], { reason: 'dispute_upheld', actor: 'ada', now }),
  )
  assert.deepEqual(await restore(), [one])
  assert.equal((await stateOf(one)).state, 'active')
  assert.equal((await stateOf(two)).state, 'revoked')
})

test('evidence that expires while it is excluded is restored as expired', async () => {
  const id = await idOf({ expiresOn: '2026-05-20' })
  await db.transaction((tx) => excludeEvidence(tx, [id], now))
  const then = new Date('2026-05-20T00:00:00Z')
  assert.deepEqual(await db.transaction((tx) => restoreEvidence(tx, [id], then)), [id])
  assert.equal((await stateOf(id)).state, 'expired')
})

test('evidence counts through the day before expiresOn, and not from that day on', async () => {
  const workerId = workerIdOf(32)
  const id = await idOf({ workerId, expiresOn: '2026-05-20' })
  await due()
  assert.equal(await expireDueEvidence(db, new Date('2026-05-19T23:59:59Z')), 0)
  assert.equal(await expireDueEvidence(db, new Date('2026-05-20T00:00:00Z')), 1)
  assert.equal(await expireDueEvidence(db, new Date('2026-05-21T00:00:00Z')), 0)
  assert.equal((await stateOf(id)).state, 'expired')
  assert.deepEqual(await due(), { [workerId]: 'evidence_expired' })
  const [item] = await findWorkerEvidence(db, [workerId])
  assert.equal(item?.state, 'expired')
  const over = await idOf({ workerId, expiresOn: '2026-05-14' })
  assert.equal((await stateOf(over)).state, 'expired')
})

test('each call expires at most `limit` of the due items', async () => {
  for (let i = 0; i < 3; i++) await idOf({ expiresOn: '2026-06-01' })
  const then = new Date('2026-06-01T00:00:00Z')
  const expired: number[] = []
  for (let turn = 0; turn < 3; turn++) expired.push(await expireDueEvidence(db, then, 2))
  assert.deepEqual(expired, [2, 1, 0])
})

test('each change marks its workers once, with the first reason; a line that changes nothing marks no worker', async () => {
  await due()
  const [a, b] = [workerIdOf(33), workerIdOf(34)]
  const sent = [line({ workerId: a }), line({ workerId: a }), line({ workerId: b })]
  const answers = await ingest(sent)
  assert.deepEqual(await due(), { [a]: 'evidence_added', [b]: 'evidence_added' })
  await ingest(sent)
  assert.deepEqual(await due(), {})
  const ids = answers.flatMap((answer) => ('evidenceId' in answer ? answer.evidenceId : []))
  await db.transaction((tx) => excludeEvidence(tx, ids.slice(0, 1), now))
  await db.transaction((tx) =>
    revokeEvidence(tx, ids, { reason: 'source_invalid', actor: 'ada', now }),
  )
  assert.deepEqual(await due(), { [a]: 'evidence_excluded', [b]: 'evidence_revoked' })
})

async function mark(tx: Tx, workerIds: readonly string[], at: Date): Promise<void> {
  await markForRecomputation(tx, workerIds, { reason: 'operator', now: at })
}

test('the worker marked first is returned first, even after it is marked again', async () => {
  await due()
  const [first, second] = [workerIdOf(8), workerIdOf(7)]
  const minutesLater = (minutes: number) => new Date(now.getTime() + minutes * 60_000)
  await db.transaction((tx) => mark(tx, [first], now))
  await db.transaction((tx) => mark(tx, [second], minutesLater(1)))
  await db.transaction((tx) => mark(tx, [first], minutesLater(2)))
  assert.deepEqual(await db.transaction((tx) => lockRecomputations(tx, { limit: 1, now })), [first])
})

test('two transactions that mark the same workers in opposite orders wait for each other and do not deadlock', async () => {
  await due()
  const [low, high] = [workerIdOf(1), workerIdOf(2)]
  const one = {
    first: (tx: Tx) => mark(tx, [low], now),
    second: (tx: Tx) => mark(tx, [high], now),
  }
  await crossing(db, one, (tx) => mark(tx, [high, low], now))
  assert.deepEqual(Object.keys(await due()).sort(), [low, high])
})

test('a registration that changes only the name marks the workers again if a concurrent one changed the trust', async () => {
  const workerId = workerIdOf(38)
  const moody = { id: 'moody', kind: 'accredited', name: 'The Moody', group: 'moods' } as const
  await addSource(db, moody)
  await idOf({ workerId, sourceId: 'moody' })
  const register = (tx: Tx, over: Partial<SourceLine>) =>
    registerSource(tx, { ...moody, ...over }, { actor: 'test', now })
  await inTurn(
    db,
    async (tx) => {
      await register(tx, { assurance: 500 })
      // The worker it marked is scored before the other change is visible.
      await deleteRecomputations(tx, [workerId])
    },
    () => db.transaction((tx) => register(tx, { name: 'Another name' })),
  )
  assert.equal((await due())[workerId], 'source_changed')
})

test("a change of a source's trust or group marks every worker with evidence of it; a change of its name marks none", async () => {
  const workerId = workerIdOf(35)
  await addSource(db, { id: 'third', group: 'thirds' })
  await idOf({ workerId, sourceId: 'third' })
  await due()
  const third = { id: 'third', kind: 'accredited', name: 'Another name', group: 'thirds' } as const
  const register = (source: SourceLine) =>
    db.transaction((tx) => registerSource(tx, source, { actor: 'test', now }))
  await register(third)
  assert.deepEqual(await due(), {})
  for (const other of [{ assurance: 600 }, { assurance: 600, group: 'others' }]) {
    await register({ ...third, ...other })
    assert.deepEqual(await due(), { [workerId]: 'source_changed' })
  }
})

test('a change that commits while its worker is being scored is never lost: the run waits for it, or it marks the worker again', async () => {
  const workerId = workerIdOf(36)
  await idOf({ workerId })
  await due()
  await idOf({ workerId })
  // The mark exists, and an import locks it while it adds another item.
  const taken = await db.transaction(async (tx) => {
    await db.transaction(async (other) => {
      await other.rows(sql`
        insert into score_recomputations as due (worker_id, since, reason)
        values (${workerId}, ${now}, 'evidence_added')
        on conflict (worker_id) do update set since = due.since`)
      assert.deepEqual(await take(tx), [], 'what an import holds is skipped')
    })
    return take(tx)
  })
  assert.equal(taken.length, 1)
  // The mark is taken but not committed: a concurrent import waits and then marks the worker again.
  await idOf({ workerId })
  await inTurn(db, take, () => ingest([line({ workerId })]))
  assert.deepEqual(await due(), { [workerId]: 'evidence_added' })
})

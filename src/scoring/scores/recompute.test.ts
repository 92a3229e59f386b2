import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  addSource,
  evidenceLineOf,
  examiner,
  smallVocabulary,
} from '../../../test/support/build/evidence.ts'
import { testRegistry } from '../../../test/support/build/registry.ts'
import {
  addEvidence,
  addPublicWorkers,
  addSources,
  daysAfter,
  enough,
  eventsOf,
  isMarked,
  scoredAt,
  scoresOf,
  scoring,
} from '../../../test/support/build/scores.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { perform } from '../../operations/perform.ts'
import { sql, type Tx } from '../../platform/db/db.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { lockWorkers } from '../../workers/store.ts'
import { endImport, ingestEvidence } from '../evidence/ingest-evidence.ts'
import { markForRecomputation } from '../evidence/recomputation-store.ts'
import { registerSource } from '../evidence/register-source.ts'
import { sourcesResume, sourcesSuspend } from '../evidence/source-operations.ts'
import { countDue, markFaded, markOutdated, recomputeSome, scoresMark } from './recompute.ts'
import { type Scoring, scoringRulesOf } from './scoring.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

function recompute(limit = 100, now = scoredAt, by: Scoring = scoring) {
  return db.transaction((tx) => recomputeSome(tx, by, { limit, now }))
}

async function workersWithEvidence(count: number): Promise<string[]> {
  const workerIds = await addPublicWorkers(db, count)
  for (const workerId of workerIds) await addEvidence(db, workerId, enough)
  return workerIds
}

test('each due worker is scored once, in batches, until none is due', async () => {
  const workerIds = await workersWithEvidence(5)
  assert.deepEqual(await countDue(db, scoredAt), { due: 5, waiting: 0 })
  assert.equal((await recompute(3)).length, 3)
  assert.equal((await recompute(3)).length, 2)
  assert.deepEqual(await recompute(3), [])
  for (const workerId of workerIds) assert.equal((await eventsOf(db, workerId)).length, 1)
})

test('several processes share the queue: each worker is scored by one process, and no process waits', async () => {
  const workerIds = await workersWithEvidence(12)
  const lanes = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const scored: string[] = []
      for (let some = await recompute(2); some.length > 0; some = await recompute(2))
        scored.push(...some.map(({ workerId }) => workerId))
      return scored
    }),
  )
  assert.deepEqual(lanes.flat().sort(), [...workerIds].sort())
  for (const workerId of workerIds) assert.equal((await scoresOf(db, workerId)).length, 1)
})

test('a worker locked by another transaction is skipped and stays due', async () => {
  const [held = '', free = ''] = await workersWithEvidence(2)
  await db.transaction(async (tx) => {
    await lockWorkers(tx, [held])
    const scored = await recompute()
    assert.deepEqual(
      scored.map(({ workerId }) => workerId),
      [free],
    )
  })
  assert.equal(await isMarked(db, held), true)
  assert.equal((await recompute()).length, 1)
})

test('a score that runs during an import or a change of a source includes that change', async () => {
  const slow = { ...examiner, id: 'slow', group: 'slow' }
  await addSource(db, slow)
  const [workerId = ''] = await workersWithEvidence(1)
  const item = evidenceLineOf(0, { workerId, sourceId: 'slow' })
  const changes = [
    (tx: Tx) => ingestEvidence(tx, [item], { vocabulary: smallVocabulary, now: scoredAt }),
    (tx: Tx) => registerSource(tx, { ...slow, assurance: 0 }, { actor: 'test', now: scoredAt }),
  ]
  const counts: unknown[] = []
  for (const change of changes) {
    await addEvidence(db, workerId, [{ value: 500 }])
    await db.transaction(async (tx) => {
      await change(tx)
      assert.deepEqual(await recompute(), [])
    })
    const scored = await recompute()
    counts.push(scored.map(({ result }) => result?.evidenceCount))
  }
  assert.deepEqual(counts, [[6], [6]])
})

test('evidence of a suspended source counts for nothing, also if the source changes, until the source is resumed', async () => {
  const doubted = { ...examiner, id: 'doubted', group: 'doubted' }
  await addSource(db, doubted)
  const [workerId = ''] = await workersWithEvidence(1)
  await addEvidence(db, workerId, [{ sourceId: 'doubted', value: 500 }])
  const performer = { db, clock: () => scoredAt, services: {} }
  const admin = { kind: 'operator', role: 'admin', actor: 'ada@vm', by: 'Ada' } as const
  const changedBy = async (
    operation: typeof sourcesSuspend | typeof sourcesResume,
    sourceId: string,
  ) => {
    const performed = await perform(performer, operation, admin, { sourceId })
    return 'output' in performed ? performed.output.changed : performed.refusal
  }
  const count = async () => (await recompute()).map(({ result }) => result?.evidenceCount)
  const before = await count()
  assert.equal(await changedBy(sourcesSuspend, 'doubted'), true)
  assert.equal(await changedBy(sourcesSuspend, 'doubted'), false)
  const suspended = await count()
  await db.transaction((tx) =>
    registerSource(tx, { ...doubted, assurance: 900 }, { actor: 'test', now: scoredAt }),
  )
  const stillSuspended = await count()
  assert.equal(await changedBy(sourcesResume, 'doubted'), true)
  assert.equal(await changedBy(sourcesResume, 'doubted'), false)
  assert.deepEqual([before, suspended, stillSuspended, await count()], [[5], [4], [4], [5]])
  assert.equal(await changedBy(sourcesSuspend, 'unknown'), 'source_not_found')
  const history = await db.rows<{ actor: string; suspended: boolean }>(sql`
    select actor, suspended from source_changes where source_id = 'doubted' order by number`)
  assert.deepEqual(
    history.slice(1).map(({ actor, suspended: isSo }) => [actor, isSo]),
    [
      ['Ada', true],
      ['test', true],
      ['Ada', false],
    ],
  )
  const audited = await db.rows<{ action: string }>(sql`
    select action from audit_log where subjects::text like '%doubted%' order by seq`)
  assert.deepEqual(
    audited.map(({ action }) => action),
    ['sources.suspended', 'sources.resumed'],
  )
})

const secondsAfter = (seconds: number) => new Date(scoredAt.getTime() + seconds * 1_000)

let imported = 0

/** Imports one item of each worker as a batch of the import. */
function importBatch(
  workerIds: readonly string[],
  { importId, at = scoredAt }: { importId: string; at?: Date },
) {
  const lines = workerIds.map((workerId) =>
    evidenceLineOf(0, {
      workerId,
      externalId: `imported-${++imported}`,
      sourceId: imported % 2 === 0 ? 'employer' : 'examiner',
      type: 'work_product',
      value: imported % 1_001,
    }),
  )
  const rules = { vocabulary: smallVocabulary, importId, now: at }
  return db.transaction((tx) => ingestEvidence(tx, lines, rules))
}

const scoredIds = async (at: Date) =>
  (await recompute(1_000, at)).map(({ workerId }) => workerId).sort()

test('an import of 20 items a worker in random order gives each worker one score, once it has ended', async () => {
  const workerIds = await addPublicWorkers(db, 30)
  const lines = workerIds.flatMap((workerId) => Array.from({ length: 20 }, () => workerId))
  const shuffled = fc.sample(fc.shuffledSubarray(lines, { minLength: 600 }), {
    numRuns: 1,
    seed: 22,
  })[0] as string[]
  const importId = uuidV7(scoredAt)
  for (let i = 0; i < 600; i += 50) {
    const at = secondsAfter(i / 10)
    await importBatch(shuffled.slice(i, i + 50), { importId, at })
    assert.deepEqual(await recompute(1_000, at), [])
  }
  assert.deepEqual(await countDue(db, secondsAfter(60)), { due: 0, waiting: 30 })
  await endImport(db, importId, secondsAfter(60))
  assert.deepEqual(await scoredIds(secondsAfter(60)), [...workerIds].sort())
  for (const workerId of workerIds) {
    assert.equal((await scoresOf(db, workerId)).length, 1)
    assert.equal((await eventsOf(db, workerId)).length, 1)
  }
})

test('a crashed import delays its workers for ten seconds, and its repetition scores the others with theirs', async () => {
  const [first = '', second = ''] = await addPublicWorkers(db, 2)
  await importBatch([first], { importId: uuidV7(scoredAt) })
  assert.deepEqual(await scoredIds(secondsAfter(9)), [])
  assert.deepEqual(await scoredIds(secondsAfter(11)), [first])
  const importId = uuidV7(scoredAt)
  await importBatch([first, second], { importId, at: secondsAfter(12) })
  await endImport(db, importId, secondsAfter(12))
  assert.deepEqual(await scoredIds(secondsAfter(12)), [first, second].sort())
  assert.deepEqual(await db.rows(sql`select from evidence_imports`), [], 'the crash leaves no row')
})

test('a worker of two imports at once is scored after the end of both', async () => {
  const [both = '', alone = ''] = await addPublicWorkers(db, 2)
  const [one, other] = [uuidV7(scoredAt), uuidV7(scoredAt)]
  await importBatch([both, alone], { importId: one })
  await importBatch([both], { importId: other })
  await importBatch([both], { importId: one })
  await endImport(db, one, scoredAt)
  assert.deepEqual(await scoredIds(scoredAt), [alone])
  await endImport(db, other, scoredAt)
  assert.deepEqual(await scoredIds(scoredAt), [both])
})

test('an import that never ends delays each worker for at most ten minutes', async () => {
  const [worker = ''] = await addPublicWorkers(db, 1)
  const importId = uuidV7(scoredAt)
  const scoredAfter: number[] = []
  for (let seconds = 0; seconds <= 1_200; seconds += 8) {
    await importBatch([worker], { importId, at: secondsAfter(seconds) })
    if ((await recompute(1_000, secondsAfter(seconds))).length > 0) scoredAfter.push(seconds)
  }
  assert.deepEqual(scoredAfter, [600])
  await endImport(db, importId, secondsAfter(1_200))
  assert.deepEqual(await scoredIds(secondsAfter(1_200)), [worker])
})

test('a worker that waits for an import is scored at once if its evidence changes in another way', async () => {
  const [worker = ''] = await addPublicWorkers(db, 1)
  const importId = uuidV7(scoredAt)
  await importBatch([worker], { importId })
  await db.transaction((tx) =>
    markForRecomputation(tx, [worker], { reason: 'evidence_revoked', now: scoredAt }),
  )
  await importBatch([worker], { importId })
  assert.deepEqual(await scoredIds(scoredAt), [worker])
  await endImport(db, importId, scoredAt)
})

test('every score is evaluated again after 30 days, and issued anew if it faded enough', async () => {
  await addSource(db, { id: 'peer-1', kind: 'verified_peer', group: 'peer-1' })
  await addSource(db, { id: 'peer-2', kind: 'verified_peer', group: 'peer-2' })
  const [workerId = ''] = await addPublicWorkers(db, 1)
  const weak = ['peer-1', 'peer-2', 'peer-2'].map((sourceId) => ({ sourceId, value: 900 }))
  await addEvidence(db, workerId, weak)
  await recompute()
  await markFaded(db, daysAfter(30))
  assert.equal(await isMarked(db, workerId), false)
  await markFaded(db, daysAfter(31))
  assert.equal(await isMarked(db, workerId), true)
  const outcomes: (string | undefined)[] = []
  for (let month = 1; month <= 8; month++) {
    const now = daysAfter(31 * month)
    await markFaded(db, now)
    const scored = await recompute(100, now)
    outcomes.push(scored.find((one) => one.workerId === workerId)?.effect)
  }
  const kept = outcomes.filter((outcome) => outcome === 'kept').length
  const issued = outcomes.filter((outcome) => outcome === 'issued').length
  assert.equal(kept + issued, 8, String(outcomes))
  assert.ok(kept >= 1 && issued >= 1, String(outcomes))
  await markFaded(db, daysAfter(31 * 8 + 30))
  assert.equal(await isMarked(db, workerId), false, 'who was looked at is left alone for a month')
  const scores = await scoresOf(db, workerId)
  assert.ok(scores.every(({ vcRevokedAt }) => vcRevokedAt === null))
})

test('after a change of the vocabulary each worker is evaluated once, and an equal score keeps its credential', async () => {
  const [same = '', moved = ''] = await addPublicWorkers(db, 2)
  const welding = { skillId: 'hss:welding', type: 'credential' }
  await addEvidence(db, same, [welding, welding, { ...welding, sourceId: 'employer' }])
  await addEvidence(db, moved, enough)
  await recompute()
  await markOutdated(db, scoring, daysAfter(1))
  assert.equal((await countDue(db, daysAfter(1))).due, 0)
  const vocabulary = {
    ...scoring.vocabulary,
    'hss:typescript': { halfLifeMonths: 24, weightPermille: { assessment: 35, work_product: 300 } },
  }
  const next = scoringRulesOf(scoring.engine, vocabulary, scoring.issueRule)
  await markOutdated(db, next, daysAfter(1))
  assert.equal(await isMarked(db, same), true)
  await recompute(1_000, daysAfter(1), { ...next, issuer: scoring.issuer })
  const changes = async (workerId: string) =>
    (await scoresOf(db, workerId)).map(({ change }) => change)
  assert.deepEqual(await changes(moved), ['first', 'updated'])
  assert.deepEqual(await changes(same), ['first'])
  await markOutdated(db, next, daysAfter(2))
  assert.equal((await countDue(db, daysAfter(1))).due, 0, 'who was kept is not due again')
  const [row] = await db.rows<{ count: number }>(
    sql`select count(*) as count from scoring_vocabularies`,
  )
  assert.equal(row?.count, 2, 'both vocabularies are kept')
})

test('a score that fades out is withdrawn on the day that was known, without an event; its credential stays valid and is superseded', async () => {
  const [workerId = ''] = await addPublicWorkers(db, 1)
  const line = { type: 'work_product', observedOn: '2025-03-01' }
  await addEvidence(db, workerId, [line, { ...line, sourceId: 'employer' }])
  const endsOn = async () => {
    const [row] = await db.rows<{ endsOn: string | null }>(sql`
      select to_char(ends_on, 'YYYY-MM-DD') as "endsOn" from score_evaluations
      where worker_id = ${workerId}`)
    return row?.endsOn ?? null
  }
  const evaluate = async (now: Date) => {
    await markFaded(db, now)
    const scored = await recompute(100, now)
    return scored.find((one) => one.workerId === workerId)?.effect ?? 'not due'
  }
  await recompute()
  let now = scoredAt
  while ((await endsOn()) === null) {
    now = daysAfter(31, now)
    assert.notEqual(await evaluate(now), 'withdrawn')
  }
  const day = new Date(`${await endsOn()}T00:00:00Z`)
  const eventsBefore = (await eventsOf(db, workerId)).length
  assert.equal(await evaluate(new Date(day.getTime() - 1)), 'not due')
  assert.equal(await evaluate(day), 'withdrawn')
  assert.equal((await eventsOf(db, workerId)).length, eventsBefore)
  const last = (await scoresOf(db, workerId)).at(-1)
  assert.partialDeepStrictEqual(last, { state: 'withdrawn', vcRevokedAt: null })
  assert.deepEqual(
    await db.rows(sql`
      select count(*) as current from score_credentials c join score_snapshots s using (vc_sha256)
      where s.worker_id = ${workerId} and c.superseded_at is null`),
    [{ current: 0 }],
  )
  assert.equal(await endsOn(), null)
})

test('more workers than one page holds: exactly the workers evaluated under other rules are marked', async () => {
  const [present = '', outdated = ''] = await addPublicWorkers(db, 2)
  await recompute(1_000)
  await db.run(sql`
    insert into workers (id, registered_at)
    select ('c0c0c0c0-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${scoredAt}
    from generate_series(1, 2000) n`)
  const other = scoringRulesOf(scoring.engine, {}, scoring.issueRule)
  await db.run(sql`delete from score_evaluations`)
  await db.run(sql`
    insert into score_evaluations (worker_id, evaluated_at, rules_sha256)
    select id, ${scoredAt}::timestamptz, case when id = ${present}::uuid then ${scoring.sha256}::bytea
      else ${other.sha256}::bytea end
    from workers where id::text like 'c0c0c0c0-%' or id in (${present}, ${outdated})`)
  await markOutdated(db, scoring, daysAfter(1))
  assert.deepEqual(
    await db.rows(sql`select reason, count(*) as count from score_recomputations group by reason`),
    [{ reason: 'rules_changed', count: 2_001 }],
  )
  assert.equal(await isMarked(db, present), false)
  await db.run(sql`delete from score_recomputations`)
})

test('at most `limit` fading scores are evaluated, the longest unevaluated first', async () => {
  const workers = await addPublicWorkers(db, 3)
  await db.run(sql`delete from score_evaluations`)
  for (const [i, workerId] of workers.entries())
    await db.run(sql`
      insert into score_evaluations (worker_id, evaluated_at, rules_sha256)
      values (${workerId}, ${daysAfter(3 - i)}, ${scoring.sha256})`)
  await markFaded(db, daysAfter(100), 2)
  assert.deepEqual(await Promise.all(workers.map((workerId) => isMarked(db, workerId))), [
    false,
    true,
    true,
  ])
  await db.run(sql`delete from score_recomputations`)
})

test('an operator can mark every worker with evidence; a worker that was due already is scored once', async () => {
  const [first = ''] = await workersWithEvidence(2)
  const [nobody = ''] = await addPublicWorkers(db, 1)
  await recompute()
  await addEvidence(db, first, [{ value: 500 }])
  const services = { scoring: () => Promise.reject(new Error('nothing is scored')) }
  const caller = { kind: 'operator', role: 'admin', actor: 'test', by: 'test' } as const
  const performer = { db, clock: () => daysAfter(1), services }
  const marked = await perform(performer, scoresMark, caller, {})
  const due = 'output' in marked ? marked.output.count : assert.fail(marked.refusal)
  assert.equal((await countDue(db, daysAfter(1))).due, due + 1)
  assert.equal(await isMarked(db, nobody), false)
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { names } from '../../../test/support/build/candidates.ts'
import {
  end,
  opened,
  resolved,
  review,
  tryTo,
  tryToOpen,
} from '../../../test/support/build/disputes.ts'
import { addSource, examiner } from '../../../test/support/build/evidence.ts'
import { issuer, testRegistry } from '../../../test/support/build/registry.ts'
import {
  addEvidence,
  addPublicWorkers,
  addScoredWorker,
  addSources,
  daysAfter,
  eventsOf,
  forgetEvents,
  isMarked,
  score,
  scoresOf,
  scoring,
} from '../../../test/support/build/scores.ts'
import { inTurn } from '../../../test/support/fault/in-turn.ts'
import { everythingStored } from '../../../test/support/oracle/everything-stored.ts'
import { perform, performAny } from '../../operations/perform.ts'
import { sql, type Tx } from '../../platform/db/db.ts'
import { readsOfPrimary } from '../../platform/db/replicas.ts'
import { candidateReads } from '../../workers/candidates/reads.ts'
import { findWorkerFacts } from '../../workers/store.ts'
import { moveIdentity } from '../scores/keep-sharing.ts'
import { revokeAndRescore } from '../scores/revoke-evidence.ts'
import { evidenceList, evidenceRevokeSource } from './evidence-operations.ts'
import { findChanges, findDisputes } from './store.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

/** Creates a worker with a score of four items and discards its events. */
async function workerWithScore(over: Record<string, unknown> = {}) {
  const { workerId, evidence } = await addScoredWorker(db, { over })
  await forgetEvents(db, workerId)
  const [first] = await scoresOf(db, workerId)
  assert.ok(first)
  return { workerId, evidence: evidence.toSorted(), scoreId: first.id }
}

function alreadyOpen(id: string) {
  const message = `The dispute ${id} about the same is open. End it first.`
  return { refusal: 'dispute_already_open', message }
}

async function typesOf(workerId: string): Promise<string[]> {
  return (await eventsOf(db, workerId)).map(({ type }) => type)
}

async function stateOf(evidenceId: string) {
  const [row] = await db.rows(sql`
    select state, revoked_reason as reason, revoked_by as actor from evidence
    where evidence_id = ${evidenceId}`)
  return row
}

test('a dispute about the score: each move is recorded with actor and time, and sent as an event', async () => {
  const { workerId, scoreId } = await workerWithScore()
  const { id } = await opened(db, { workerId, restricted: true })
  assert.partialDeepStrictEqual(await review(db, id), { state: 'under_review' })
  assert.partialDeepStrictEqual(await end(db, id, { ending: 'rejected' }), {
    scoreChanged: false,
    resultingSnapshotId: scoreId,
  })
  assert.partialDeepStrictEqual(await findDisputes(db, [id]), [
    {
      kind: 'score',
      state: 'resolved',
      resolution: 'rejected',
      snapshotId: scoreId,
      resultingSnapshotId: scoreId,
      openedAt: daysAfter(1),
      dueAt: daysAfter(31),
      endedAt: daysAfter(3),
      items: [],
    },
  ])
  assert.deepEqual(await findChanges(db, id), [
    { state: 'open', changedAt: daysAfter(1), actor: 'ada' },
    { state: 'under_review', changedAt: daysAfter(2), actor: 'bob' },
    { state: 'resolved', changedAt: daysAfter(3), actor: 'cyd' },
  ])
  const disputed = {
    workerId,
    disputeId: id,
    kind: 'score',
    snapshotId: scoreId,
    restricted: true,
    openedAt: '2026-05-15T09:00:00Z',
  }
  assert.deepEqual(await eventsOf(db, workerId), [
    { type: 'dispute.opened', data: disputed },
    {
      type: 'dispute.resolved',
      data: {
        ...disputed,
        resolution: 'rejected',
        scoreChanged: false,
        resultingSnapshotId: scoreId,
        resolvedAt: '2026-05-17T09:00:00Z',
      },
    },
  ])
})

test("upheld evidence is revoked, the score is corrected with the dispute's id, and dispute.resolved comes last", async () => {
  const { workerId, evidence, scoreId } = await workerWithScore()
  const [id = ''] = evidence
  const { dispute, resultingSnapshotId, scoreChanged } = await resolved(
    db,
    { workerId, kind: 'evidence', evidenceIds: [id] },
    { ending: 'upheld' },
  )
  assert.deepEqual(await stateOf(id), { state: 'revoked', reason: 'dispute_upheld', actor: 'cyd' })
  const [first, second] = await scoresOf(db, workerId)
  assert.partialDeepStrictEqual(first, { state: 'superseded', vcRevokedAt: daysAfter(3) })
  assert.partialDeepStrictEqual(second, { change: 'revised', reason: 'dispute_upheld' })
  assert.deepEqual([resultingSnapshotId, scoreChanged], [second?.id, true])
  assert.partialDeepStrictEqual(await eventsOf(db, workerId), [
    { type: 'dispute.opened', data: { kind: 'evidence', restricted: false } },
    { type: 'evidence.revoked', data: { evidenceId: id, reason: 'dispute_upheld' } },
    { type: 'score.revised', data: { reason: 'dispute_upheld', disputeId: dispute.id } },
    {
      type: 'dispute.resolved',
      data: {
        resolution: 'upheld',
        snapshotId: scoreId,
        scoreChanged: true,
        resultingSnapshotId: second?.id,
      },
    },
  ])
  assert.equal(await isMarked(db, workerId), false)
})

test('partly upheld: the named items are revoked and the other excluded items count again, in one new score', async () => {
  const { workerId, evidence } = await workerWithScore()
  const [wrong = '', right = ''] = evidence
  const request = {
    workerId,
    kind: 'evidence',
    evidenceIds: [wrong, right],
    exclude: true,
  } as const
  const { dispute } = await resolved(db, request, { ending: 'partly_upheld', upheldIds: [wrong] })
  assert.partialDeepStrictEqual(await stateOf(wrong), { state: 'revoked' })
  assert.partialDeepStrictEqual(await stateOf(right), { state: 'active' })
  const [found] = await findDisputes(db, [dispute.id])
  assert.deepEqual(found?.items, [
    { evidenceId: wrong, excluded: true, upheld: true },
    { evidenceId: right, excluded: true, upheld: false },
  ])
  assert.deepEqual(
    (await scoresOf(db, workerId)).map(({ state }) => state),
    ['superseded', 'active'],
  )
  assert.deepEqual(await typesOf(workerId), [
    'dispute.opened',
    'evidence.revoked',
    'score.revised',
    'dispute.resolved',
  ])
})

test('excluded evidence does not count in the next score; after a rejection it counts again at once', async () => {
  const { workerId, evidence, scoreId } = await workerWithScore()
  const [id = ''] = evidence
  const dispute = await opened(db, { workerId, kind: 'evidence', evidenceIds: [id], exclude: true })
  assert.partialDeepStrictEqual(await stateOf(id), { state: 'excluded' })
  assert.equal(await isMarked(db, workerId), true)
  await score(db, workerId, { at: daysAfter(2) })
  await review(db, dispute.id)
  await end(db, dispute.id, { ending: 'rejected' })
  assert.partialDeepStrictEqual(await stateOf(id), { state: 'active' })
  const scores = await scoresOf(db, workerId)
  assert.deepEqual(
    scores.map(({ change, vcRevokedAt }) => [change, vcRevokedAt]),
    [
      ['first', null],
      ['updated', null],
      ['updated', null],
    ],
  )
  assert.deepEqual(await typesOf(workerId), [
    'dispute.opened',
    'score.updated',
    'score.updated',
    'dispute.resolved',
  ])
  assert.partialDeepStrictEqual((await eventsOf(db, workerId)).at(-1), {
    data: { snapshotId: scoreId, scoreChanged: true, resultingSnapshotId: scores[2]?.id },
  })
})

test('upheld evidence that was excluded and scored without: evidence.revoked names the wrong score, and score.revised the last one sent', async () => {
  const { workerId, evidence, scoreId } = await workerWithScore()
  const [id = ''] = evidence
  const dispute = await opened(db, { workerId, kind: 'evidence', evidenceIds: [id], exclude: true })
  await score(db, workerId, { at: daysAfter(2) })
  await review(db, dispute.id)
  await end(db, dispute.id, { ending: 'upheld' })
  const scores = await scoresOf(db, workerId)
  assert.partialDeepStrictEqual(scores, [
    { state: 'superseded', vcRevokedAt: daysAfter(3) },
    { state: 'superseded', change: 'updated', vcRevokedAt: daysAfter(3) },
    { state: 'active', change: 'revised', reason: 'dispute_upheld', vcRevokedAt: null },
  ])
  const [wrong, held, right] = scores
  assert.partialDeepStrictEqual(await eventsOf(db, workerId), [
    { type: 'dispute.opened' },
    { type: 'score.updated' },
    { type: 'evidence.revoked', data: { snapshotId: scoreId, scoreVcSha256: wrong?.vc } },
    {
      type: 'score.revised',
      data: {
        snapshotId: right?.id,
        previousSnapshotId: held?.id,
        previousScoreVcSha256: held?.vc,
        reason: 'dispute_upheld',
        disputeId: dispute.id,
      },
    },
    { type: 'dispute.resolved', data: { scoreChanged: true } },
  ])
})

test('a withdrawn dispute restores the excluded evidence and is sent as withdrawn', async () => {
  const { workerId, evidence, scoreId } = await workerWithScore()
  const [id = ''] = evidence
  const dispute = await opened(db, { workerId, kind: 'evidence', evidenceIds: [id], exclude: true })
  await end(db, dispute.id, { ending: 'withdrawn' })
  assert.partialDeepStrictEqual(await stateOf(id), { state: 'active' })
  assert.equal(await isMarked(db, workerId), false)
  assert.partialDeepStrictEqual(await findDisputes(db, [dispute.id]), [
    { state: 'withdrawn', resolution: null },
  ])
  assert.partialDeepStrictEqual(await eventsOf(db, workerId), [
    { type: 'dispute.opened' },
    {
      type: 'dispute.resolved',
      data: { resolution: 'withdrawn', scoreChanged: false, resultingSnapshotId: scoreId },
    },
  ])
})

test('an upheld score is recomputed from the current evidence as a correction', async () => {
  const { workerId, evidence } = await workerWithScore()
  const dispute = await opened(db, { workerId })
  await addEvidence(db, workerId, [{ value: 100 }])
  await review(db, dispute.id)
  await end(db, dispute.id, { ending: 'upheld' })
  const [first, second] = await scoresOf(db, workerId)
  assert.partialDeepStrictEqual(first, { vcRevokedAt: daysAfter(3) })
  assert.partialDeepStrictEqual(second, { change: 'revised', reason: 'dispute_upheld' })
  assert.deepEqual(await typesOf(workerId), ['dispute.opened', 'score.revised', 'dispute.resolved'])
  for (const id of evidence) assert.partialDeepStrictEqual(await stateOf(id), { state: 'active' })
})

test('an upheld score that was replaced meanwhile: its credential is revoked, and score.revised goes from it to the active score', async () => {
  const { workerId } = await workerWithScore()
  const dispute = await opened(db, { workerId })
  await addEvidence(db, workerId, [{ value: 100 }])
  await score(db, workerId, { at: daysAfter(2) })
  await review(db, dispute.id)
  await end(db, dispute.id, { ending: 'upheld' })
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'superseded', vcRevokedAt: daysAfter(3) },
    { state: 'active', change: 'updated', vcRevokedAt: null },
  ])
  const [wrong, active] = await scoresOf(db, workerId)
  const { snapshotId, previousSnapshotId, previousScoreVcSha256, disputeId, issuedAt } =
    (await eventsOf(db, workerId)).find(({ type }) => type === 'score.revised')?.data ?? {}
  assert.deepEqual([snapshotId, issuedAt], [active?.id, '2026-05-16T09:00:00Z'])
  assert.deepEqual([previousSnapshotId, previousScoreVcSha256], [wrong?.id, wrong?.vc])
  assert.equal(disputeId, dispute.id)
})

test('an upheld score with an equal result is kept, and the event says so', async () => {
  const { workerId, scoreId } = await workerWithScore()
  const { scoreChanged } = await resolved(db, { workerId }, { ending: 'upheld' })
  assert.equal(scoreChanged, false)
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { id: scoreId, state: 'active', vcRevokedAt: null },
  ])
})

test('an upheld identity dispute ends the verification and revokes the credential; a rejected one changes neither', async () => {
  for (const ending of ['upheld', 'rejected'] as const) {
    const { workerId } = await workerWithScore()
    await resolved(db, { workerId, kind: 'identity' }, { ending })
    const [worker] = await findWorkerFacts(db, [workerId])
    assert.equal(worker?.identity?.state, ending === 'upheld' ? 'revoked' : 'verified')
    const [row] = await db.rows<{ open: number }>(sql`
      select count(*)::int as open from score_snapshots
      where worker_id = ${workerId} and vc_sha256 is not null`)
    assert.equal(row?.open, ending === 'upheld' ? 0 : 1)
    assert.deepEqual(await typesOf(workerId), ['dispute.opened', 'dispute.resolved'])
  }
})

test('an upheld identity dispute takes nothing back if the verification was revoked or begun again before', async () => {
  const { workerId } = await workerWithScore()
  const by = { by: 'ada', at: daysAfter(1) }
  for (const [move, state] of [
    ['revoke', 'revoked'],
    ['begin', 'pending'],
  ] as const) {
    await db.transaction((tx) => moveIdentity(tx, { workerId, move }, by))
    await resolved(db, { workerId, kind: 'identity' }, { ending: 'upheld' })
    const [worker] = await findWorkerFacts(db, [workerId])
    assert.equal(worker?.identity?.state, state)
  }
})

test('a restricted dispute hides score, detail and credential until it ends, even if the score changes meanwhile', async () => {
  const reads = candidateReads({
    reads: readsOfPrimary(db),
    names,
    origin: issuer.origin,
    formerOrigins: [],
    signers: { of: () => Promise.resolve(undefined) },
    clock: () => daysAfter(2),
  })
  const { workerId, evidence, scoreId } = await workerWithScore()
  const [worker] = await findWorkerFacts(db, [workerId])
  const shown = async (id: string) => {
    const detail = (await reads.candidate(worker?.username ?? ''))?.detail
    assert.ok(detail)
    const isCredentialShown = 'credential' in (await reads.credential({ scoreId: id }, 'native'))
    return [(await reads.score(id)) !== null, detail.score !== null, isCredentialShown]
  }
  const evidenceIds = evidence.slice(0, 1)
  const open = await opened(db, { workerId, kind: 'identity' })
  assert.deepEqual(await shown(scoreId), [true, true, true])
  const { id } = await opened(db, { workerId, kind: 'evidence', evidenceIds, restricted: true })
  assert.deepEqual(await shown(scoreId), [false, false, false])
  await review(db, id)
  await addEvidence(db, workerId, [{ value: 100 }])
  await score(db, workerId, { at: daysAfter(2) })
  const [, { id: next } = { id: '' }] = await scoresOf(db, workerId)
  assert.deepEqual(await shown(next), [false, false, false])
  await end(db, open.id, { ending: 'withdrawn' })
  assert.deepEqual(await shown(next), [false, false, false])
  await end(db, id, { ending: 'rejected' })
  assert.deepEqual(await shown(next), [true, true, true])
})

test('a dispute of a worker that does not share its score sends no event', async () => {
  const consents = [{ permission: 'public_profile', textVersion: '1' }]
  const { workerId, evidence } = await workerWithScore({ consents })
  const request = { workerId, kind: 'evidence', evidenceIds: evidence.slice(0, 1) } as const
  await resolved(db, request, { ending: 'upheld' })
  assert.deepEqual(
    (await scoresOf(db, workerId)).map(({ state }) => state),
    ['superseded', 'active'],
  )
  assert.deepEqual(await eventsOf(db, workerId), [])
})

test('a dispute is refused for an unknown worker, a missing score, foreign evidence and revoked evidence', async () => {
  const nobody = '00000000-0000-4000-8000-000000000000'
  assert.deepEqual(await tryToOpen(db, { workerId: nobody }), { refusal: 'worker_not_found' })
  const [unscored = ''] = await addPublicWorkers(db, 1)
  assert.partialDeepStrictEqual(await tryToOpen(db, { workerId: unscored }), {
    refusal: 'score_absent',
  })
  const { evidence } = await workerWithScore()
  const { workerId, evidence: own } = await workerWithScore()
  const [first = '', second = ''] = own
  const about = (evidenceIds: string[]) =>
    tryToOpen(db, { workerId, kind: 'evidence', evidenceIds, exclude: true })
  const refused = await about([first, nobody, ...evidence.slice(0, 1)])
  assert.ok('refusal' in refused)
  assert.equal(refused.refusal, 'evidence_not_theirs')
  assert.ok(refused.message?.endsWith(`: ${nobody}, ${evidence[0]}.`), refused.message)
  const revocation = { reason: 'policy', actor: 'ada', now: daysAfter(1) } as const
  await db.transaction((tx) => revokeAndRescore(tx, scoring, [first], revocation))
  assert.deepEqual(await about([first, second]), {
    refusal: 'evidence_revoked',
    message: `Revoked already, for ever: ${first}.`,
  })
  assert.partialDeepStrictEqual(await stateOf(second), { state: 'active' })
  assert.deepEqual(await findChangesOf(workerId), [])
})

async function findChangesOf(workerId: string) {
  return db.rows(sql`
    select c.state from dispute_changes c join disputes d on d.id = c.dispute_id
    where d.worker_id = ${workerId}`)
}

test('each item, the score and the identity have at most one open dispute; after its end another can be opened', async () => {
  const { workerId, evidence } = await workerWithScore()
  const [one = '', two = '', three = ''] = evidence
  const requests = [
    { kind: 'evidence', evidenceIds: [one, two], again: [two, three] },
    { kind: 'score', evidenceIds: [], again: [] },
    { kind: 'identity', evidenceIds: [], again: [] },
  ] as const
  for (const { again, ...request } of requests) {
    const first = await opened(db, { workerId, ...request })
    const second = { workerId, ...request, evidenceIds: again }
    const refused = alreadyOpen(first.id)
    assert.deepEqual(await tryToOpen(db, second), refused)
    await review(db, first.id)
    assert.deepEqual(await tryToOpen(db, second), refused)
    await end(db, first.id, { ending: 'rejected' })
    await opened(db, second)
  }
})

test('the database rejects a second open dispute about the same subject, and any change of an ended one', async () => {
  const { workerId, evidence } = await workerWithScore()
  const [item = ''] = evidence
  const first = await opened(db, { workerId, kind: 'evidence', evidenceIds: [item] })
  const scoreDispute = await opened(db, { workerId })
  const other = await opened(db, { workerId, kind: 'evidence', evidenceIds: evidence.slice(1, 2) })
  const another = (kind: string, id: string | null) =>
    db.run(sql`
      insert into dispute_targets (dispute_id, state, worker_id, kind, evidence_id, excluded)
      values (${other.id}, 'open', ${workerId}, ${kind}, ${id}, false)`)
  await assert.rejects(another('evidence', item), /dispute_targets_one_open/)
  await assert.rejects(another('score', null), /dispute_targets_one_open/)
  await review(db, first.id)
  await assert.rejects(another('evidence', item), /dispute_targets_one_open/)
  await end(db, first.id, { ending: 'rejected' })
  assert.equal(await another('evidence', item), 1)
  await assert.rejects(
    db.run(sql`update disputes set state = 'open' where id = ${first.id}`),
    /stays ended/,
  )
  await end(db, scoreDispute.id, { ending: 'withdrawn' })
  await assert.rejects(
    db.run(sql`update disputes set due_at = now() where id = ${scoreDispute.id}`),
    /stays ended/,
  )
  await assert.rejects(
    db.run(sql`update dispute_changes set actor = 'eve' where dispute_id = ${first.id}`),
    /never changes/,
  )
})

test('an impossible move is refused and changes nothing', async () => {
  const { workerId } = await workerWithScore()
  const { id } = await opened(db, { workerId })
  const message = `Dispute ${id} cannot be resolved: it is open, review it first.`
  assert.deepEqual(await end(db, id, { ending: 'upheld' }), { refusal: 'dispute_state', message })
  await review(db, id)
  const isRefused = (answer: object) =>
    assert.partialDeepStrictEqual(answer, { refusal: 'dispute_state' })
  isRefused(await review(db, id))
  assert.partialDeepStrictEqual(await end(db, id, { ending: 'partly_upheld' }), {
    refusal: 'dispute_decision',
  })
  await end(db, id, { ending: 'rejected' })
  for (const ending of ['upheld', 'rejected', 'withdrawn'] as const)
    isRefused(await end(db, id, { ending }))
  isRefused(await review(db, id))
  assert.deepEqual(await typesOf(workerId), ['dispute.opened', 'dispute.resolved'])
  const nobody = '00000000-0000-4000-8000-000000000000'
  const unknown = { refusal: 'dispute_not_found', message: `No dispute has the id ${nobody}.` }
  assert.deepEqual(await review(db, nobody), unknown)
  assert.deepEqual(await end(db, nobody, { ending: 'upheld' }), unknown)
})

test('a dispute whose evidence was revoked for another reason still ends, and the other items count again', async () => {
  const { workerId, evidence } = await workerWithScore()
  const [gone = '', kept = ''] = evidence
  const request = { workerId, kind: 'evidence', evidenceIds: [gone, kept], exclude: true } as const
  const { id } = await opened(db, request)
  const revocation = { reason: 'source_invalid', actor: 'ada', now: daysAfter(2) } as const
  await db.transaction((tx) => revokeAndRescore(tx, scoring, [gone], revocation))
  await review(db, id)
  await end(db, id, { ending: 'partly_upheld', upheldIds: [gone] })
  assert.partialDeepStrictEqual(await stateOf(gone), { state: 'revoked', reason: 'source_invalid' })
  assert.partialDeepStrictEqual(await stateOf(kept), { state: 'active' })
  assert.equal(await isMarked(db, workerId), false)
  const active = (await scoresOf(db, workerId)).filter(({ state }) => state === 'active')
  assert.equal(active.length, 1)
})

test('two concurrent resolutions: one succeeds, the other is refused, and the effect happens once', async () => {
  for (let round = 0; round < 5; round++) {
    const { workerId, evidence } = await workerWithScore()
    const { id } = await opened(db, { workerId, kind: 'evidence', evidenceIds: evidence.slice(1) })
    await review(db, id)
    const answers = await Promise.all([
      end(db, id, { ending: 'upheld' }),
      end(db, id, { ending: 'rejected' }),
      end(db, id, { ending: 'withdrawn' }),
    ])
    const refusals = answers.flatMap((answer) => ('refusal' in answer ? answer.refusal : []))
    assert.deepEqual(refusals, ['dispute_state', 'dispute_state'])
    const types = await typesOf(workerId)
    assert.equal(types.filter((type) => type === 'dispute.resolved').length, 1)
  }
})

test('two concurrent openings about the same subject: one succeeds, and the other is given its id', async () => {
  const { workerId, evidence } = await workerWithScore()
  const request = { workerId, kind: 'evidence', exclude: true } as const
  const openings = await Promise.all([
    tryToOpen(db, { ...request, evidenceIds: evidence.slice(0, 2) }),
    tryToOpen(db, { ...request, evidenceIds: evidence.slice(1, 3) }),
  ])
  const [won, lost] = openings.toSorted((a) => ('refusal' in a ? 1 : -1))
  assert.ok(won !== undefined && !('refusal' in won))
  assert.deepEqual(lost, alreadyOpen(won.id))
})

test('an opening waits for a concurrent one about the same subject and is given its id', async () => {
  const { workerId } = await workerWithScore()
  const open = (tx: Tx) => tryTo(tx, { workerId })
  const [first, second] = await inTurn(db, open, () => tryToOpen(db, { workerId }))
  assert.ok(!('refusal' in first))
  assert.deepEqual(second, alreadyOpen(first.id))
})

const performer = {
  db,
  clock: () => daysAfter(2),
  services: { scoring: () => Promise.resolve(scoring) },
}
const admin = { kind: 'operator', role: 'admin', actor: 'ada@vm', by: 'Ada' } as const

test('evidence of a source is revoked in batches; a dry run of the first one changes nothing', async () => {
  await addSource(db, { ...examiner, id: 'gone', group: 'gone' })
  const { workerId } = await workerWithScore()
  const ids = await addEvidence(
    db,
    workerId,
    Array.from({ length: 150 }, () => ({ sourceId: 'gone' })),
  )
  const input = { sourceId: 'gone', reason: 'source_removed' } as const
  const before = await everythingStored(registry.url)
  assert.deepEqual(
    await perform(performer, evidenceRevokeSource, admin, input, { isDryRun: true }),
    { output: { sourceId: 'gone', revoked: 100, rescored: 1, more: true } },
  )
  assert.equal(await everythingStored(registry.url), before)
  assert.deepEqual(await perform(performer, evidenceRevokeSource, admin, input), {
    output: { sourceId: 'gone', revoked: 150, rescored: 2 },
  })
  assert.deepEqual(await perform(performer, evidenceRevokeSource, admin, input), {
    output: { sourceId: 'gone', revoked: 0, rescored: 0 },
  })
  const states = await Promise.all(ids.map(stateOf))
  const expected = { state: 'revoked', reason: 'source_removed', actor: 'Ada' }
  assert.deepEqual(
    states,
    ids.map(() => expected),
  )
  const entries = await db.rows<{ subjects: string }>(sql`
    select subjects from audit_log where action = 'evidence.revoked' and actor = 'ada@vm'
    order by seq`)
  const subjects = entries.flatMap((entry) => JSON.parse(entry.subjects) as string[])
  assert.deepEqual(subjects.toSorted(), ids.toSorted())
  const unknown = { ...input, sourceId: 'nowhere' }
  assert.partialDeepStrictEqual(await perform(performer, evidenceRevokeSource, admin, unknown), {
    refusal: 'source_not_found',
  })
})

test('evidence is listed by source, worker and state, and its pages joined are one big page', async () => {
  await addSource(db, { ...examiner, id: 'listed', group: 'listed' })
  const [one, other] = [await workerWithScore(), await workerWithScore()]
  const items = Array.from({ length: 5 }, () => ({ sourceId: 'listed' }))
  const ids = [
    ...(await addEvidence(db, one.workerId, items)),
    ...(await addEvidence(db, other.workerId, items)),
  ]
  const [first = ''] = ids
  const by = { reason: 'policy', actor: 'Ada', now: daysAfter(2) } as const
  await db.transaction((tx) => revokeAndRescore(tx, scoring, [first], by))
  const [worker] = await findWorkerFacts(db, [one.workerId])
  const list = async (filter: object) => {
    const listed = await performAny(performer, evidenceList, admin, filter)
    assert.ok('output' in listed, JSON.stringify(listed))
    return listed.output as { evidence: { evidenceId: string }[]; next: string | null }
  }
  const idsOf = async (filter: object) => (await list(filter)).evidence.map((row) => row.evidenceId)
  const all = await idsOf({ source: 'listed' })
  assert.deepEqual(all.toSorted(), ids.toSorted())
  const joined: string[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page = await list({ source: 'listed', limit: 3, ...(after !== undefined && { after }) })
    joined.push(...page.evidence.map((row) => row.evidenceId))
    after = page.next
  }
  assert.deepEqual(joined, all)
  const theirs = { source: 'listed', username: worker?.username }
  assert.deepEqual((await idsOf(theirs)).toSorted(), ids.slice(0, 5).toSorted())
  assert.deepEqual((await idsOf({ ...theirs, state: 'active' })).length, 4)
  const { evidence } = await list({ ...theirs, state: 'revoked' })
  assert.partialDeepStrictEqual(evidence, [
    { evidenceId: first, username: worker?.username, revokedReason: 'policy', revokedBy: 'Ada' },
  ])
  assert.deepEqual(await performAny(performer, evidenceList, admin, { source: 'nowhere' }), {
    refusal: 'source_not_found',
    message: 'No source has the id nowhere.',
  })
})

/** Replacement of credentials that were revoked with their key, or by name. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { contextAt } from '../../../test/support/build/actions.ts'
import { signerOf } from '../../../test/support/build/credentials.ts'
import { end, opened, review } from '../../../test/support/build/disputes.ts'
import { issuer, liveVerdict, testRegistry } from '../../../test/support/build/registry.ts'
import {
  addEvidence,
  addScoredWorker,
  addSources,
  daysAfter,
  eventsOf,
  score,
  scoresOf,
  scoring,
  scoringBy,
  scoringWrongly,
} from '../../../test/support/build/scores.ts'
import {
  createSigningKey,
  revokeSigningKey,
  rotateSigningKeys,
} from '../../../test/support/build/signing-keys.ts'
import { boundedDb, Fault } from '../../../test/support/fault/faults.ts'
import { revokeCredentialsOfKey } from '../../credentials/rotate-keys.ts'
import type { Signer } from '../../credentials/signing-key.ts'
import { findIssued } from '../../credentials/store.ts'
import { type Db, sql } from '../../platform/db/db.ts'
import { eraseWorker } from '../../privacy/worker-data.ts'
import { findBySnapshot, findIssuedBySnapshot } from '../../workers/candidates/reads.ts'
import { changeConsent, moveIdentity } from './keep-sharing.ts'
import { recallEngine } from './recall-engine.ts'
import { markRevokedKeys, reissueSome, revokeNamedCredentials } from './reissue.ts'
import { countDueReissues, countPublicScores } from './reissue-store.ts'
import { revokeAndRescore } from './revoke-evidence.ts'
import type { Scoring } from './scoring.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

const now = daysAfter(1)
let signer: Signer = issuer.signer
let seed = 7
let by: Scoring = scoring

/** Replaces the active key by a new one at once, as after a theft, and revokes it. */
async function loseKey({ keepCredentials = false } = {}): Promise<string> {
  const { kid } = signer
  signer = signerOf(++seed)
  by = scoringBy({ ...issuer, signer })
  await createSigningKey(contextAt(db, now), signer.kid)
  await rotateSigningKeys(contextAt(db, now), { atOnce: true })
  await revokeSigningKey(contextAt(db, now), kid, { keepCredentials })
  return kid
}

const batch = (from: Db = db, at = now, limit = 100) =>
  from.transaction((tx) => reissueSome(tx, by.issuer, { limit, now: at }))

/** Does what the job does. */
async function replaceAll(from: Db = db, at = now): Promise<void> {
  await markRevokedKeys(from, at)
  while ((await batch(from, at, 2)).more);
}

/** Returns what a reader of the worker's active score gets, or undefined if it is not public. */
async function read(workerId: string, at = now) {
  const active = (await scoresOf(db, workerId)).find(({ state }) => state === 'active')
  const keys = [active?.id ?? '']
  const [row] = await findBySnapshot(db, keys, at)
  const [document] = await findIssuedBySnapshot(db, keys, at)
  return row && { id: row.snapshot.id, vc: row.snapshot.credential?.sha256 ?? null, document }
}

/** Returns the credential that each `score.revised` names as revoked. */
async function namedIn(workerId: string): Promise<unknown[]> {
  const events = (await eventsOf(db, workerId)).filter(({ type }) => type === 'score.revised')
  return events.map(({ data }) => data.previousScoreVcSha256)
}

const revokeByName = (vc: string | null | undefined, at = now) =>
  db.transaction((tx) =>
    revokeNamedCredentials(tx, [{ by: 'digest', bytes: Buffer.from(String(vc), 'hex') }], at),
  )

for (const keepCredentials of [false, true])
  test(`a revoked key${keepCredentials ? ' whose credentials are kept' : ''}: the score is read without a credential until a new one states the same score under the same id`, async () => {
    const { workerId } = await addScoredWorker(db, { by })
    const [before] = await scoresOf(db, workerId)
    const lost = await read(workerId)
    assert.equal(lost?.vc, before?.vc)
    const kid = await loseKey({ keepCredentials })
    assert.deepEqual(await read(workerId), {
      id: before?.id,
      vc: null,
      document: { key: before?.id, credential: null },
    })
    await markRevokedKeys(db, now)
    assert.ok((await countDueReissues(db, now)) >= 1)
    await replaceAll()
    const [after, ...more] = await scoresOf(db, workerId)
    assert.deepEqual(more, [])
    assert.deepEqual(after, { ...before, vc: after?.vc })
    assert.notEqual(after?.vc, before?.vc)
    const present = await read(workerId)
    assert.deepEqual([present?.id, present?.vc], [before?.id, after?.vc])
    assert.equal((await liveVerdict(db, present?.document?.credential ?? {})).valid, true)
    const verdict = await liveVerdict(db, lost?.document?.credential ?? {})
    assert.equal(verdict.reason, 'key_revoked')
    assert.ok(verdict.notes.includes('superseded'))
    const [old] = await findIssued(db, [Buffer.from(before?.vc ?? '', 'hex')])
    assert.equal(old?.revokedAt === null, keepCredentials)
    const revised = (await eventsOf(db, workerId)).slice(1)
    assert.deepEqual(
      revised.map(({ type }) => type),
      ['score.revised'],
    )
    assert.partialDeepStrictEqual(revised[0]?.data, {
      snapshotId: before?.id,
      score: before?.score,
      scoreVcSha256: after?.vc,
      previousSnapshotId: before?.id,
      previousScore: before?.score,
      previousScoreVcSha256: before?.vc,
      reason: 'correction',
      disputeId: null,
    })
    assert.equal((await countPublicScores(db, now)).withoutCredential, 0)
    // A later revocation of what was kept, or by name, names nothing twice.
    if (keepCredentials) await db.transaction((tx) => revokeCredentialsOfKey(tx, kid, now))
    await revokeByName(before?.vc)
    await replaceAll()
    assert.deepEqual(await namedIn(workerId), [before?.vc])
  })

test('each credential of a worker that a key signed is named by one event, also one that a later score superseded', async () => {
  const { workerId } = await addScoredWorker(db, { by })
  await addEvidence(db, workerId, [{ value: 950 }])
  await score(db, workerId, { at: daysAfter(0.5), by })
  const [earlier, active] = await scoresOf(db, workerId)
  await loseKey()
  await replaceAll()
  await revokeByName(earlier?.vc)
  await replaceAll()
  assert.deepEqual(await namedIn(workerId), [earlier?.vc, active?.vc])
  const present = (await read(workerId))?.vc
  for (const { data } of (await eventsOf(db, workerId)).slice(2))
    assert.deepEqual([data.snapshotId, data.scoreVcSha256], [active?.id, present])
})

test('the key of an earlier credential alone is revoked: the event names it, and the present credential stays', async () => {
  const { workerId } = await addScoredWorker(db, { by })
  const former = signer.kid
  signer = signerOf(++seed)
  by = scoringBy({ ...issuer, signer })
  await createSigningKey(contextAt(db, now), signer.kid)
  await rotateSigningKeys(contextAt(db, now), { atOnce: true })
  await addEvidence(db, workerId, [{ value: 950 }])
  await score(db, workerId, { at: daysAfter(0.5), by })
  const [earlier, active] = await scoresOf(db, workerId)
  await revokeSigningKey(contextAt(db, now), former)
  await replaceAll()
  assert.deepEqual(await namedIn(workerId), [earlier?.vc])
  assert.equal((await read(workerId))?.vc, active?.vc)
})

test('a public score whose credential is revoked by name gets a new one; a second revocation changes nothing', async () => {
  const { workerId } = await addScoredWorker(db, { by })
  const [before] = await scoresOf(db, workerId)
  await revokeByName(before?.vc)
  assert.equal((await read(workerId))?.vc, null)
  await replaceAll()
  await revokeByName(before?.vc)
  await replaceAll()
  const [after] = await scoresOf(db, workerId)
  assert.deepEqual([after?.id, (await read(workerId))?.vc], [before?.id, after?.vc])
  assert.deepEqual(await namedIn(workerId), [before?.vc])
})

test('a score that a dispute hides gets no new credential before the dispute has ended', async () => {
  const { workerId } = await addScoredWorker(db, { by })
  const dispute = await opened(db, { workerId, restricted: true })
  const [before] = await scoresOf(db, workerId)
  await revokeByName(before?.vc)
  await replaceAll()
  assert.deepEqual(await namedIn(workerId), [])
  await review(db, dispute.id)
  await end(db, dispute.id, { ending: 'rejected', by })
  await replaceAll(db, daysAfter(3))
  assert.deepEqual(await namedIn(workerId), [before?.vc])
})

test('a score whose identity check has expired gets its new credential after the next check', async () => {
  const { workerId } = await addScoredWorker(db, { by })
  const [before] = await scoresOf(db, workerId)
  await loseKey()
  const expired = daysAfter(3_650)
  await markRevokedKeys(db, expired)
  await replaceAll(db, expired)
  assert.deepEqual(await namedIn(workerId), [])
  const until = daysAfter(3_700)
  await db.transaction((tx) =>
    moveIdentity(tx, { workerId, move: 'verify', until }, { by: 'test', at: expired }),
  )
  await replaceAll(db, expired)
  assert.deepEqual(await namedIn(workerId), [before?.vc])
  await replaceAll()
})

test('a worker that withdraws its consent before the new credential gets none, and no event; a new consent gives one', async () => {
  const { workerId } = await addScoredWorker(db, { by, over: { username: 'no-more' } })
  await loseKey()
  await markRevokedKeys(db, now)
  const consent = (textVersion: string | null) =>
    db.transaction((tx) => {
      const request = { permission: 'score_sharing', textVersion } as const
      return changeConsent(tx, 'no-more', { ...request, by: 'test', at: now })
    })
  await consent(null)
  await replaceAll()
  assert.equal((await scoresOf(db, workerId))[0]?.vc, null)
  assert.deepEqual(await namedIn(workerId), [])
  await consent('2')
  await score(db, workerId, { at: now, by })
  assert.deepEqual(await namedIn(workerId), [])
  assert.equal((await read(workerId))?.vc, (await scoresOf(db, workerId))[0]?.vc)
})

test('an erased worker leaves nothing that waits', async () => {
  const { workerId } = await addScoredWorker(db, { by, over: { username: 'forget-me' } })
  await loseKey()
  await markRevokedKeys(db, now)
  await db.transaction((tx) => eraseWorker(tx, 'forget-me', { by: 'test', at: now }))
  const rows = await db.rows(sql`select from score_reissues where worker_id = ${workerId}`)
  assert.deepEqual(rows, [])
  await replaceAll()
})

test('a scoring run replaces the credential too: the outcome is reissued, and a new score names the revoked credential once', async () => {
  const { workerId: kept } = await addScoredWorker(db, { by })
  const { workerId: changed } = await addScoredWorker(db, { by })
  const [before] = await scoresOf(db, changed)
  await addEvidence(db, changed, [{ value: 950 }])
  await loseKey()
  await markRevokedKeys(db, now)
  const same = await score(db, kept, { at: now, by })
  assert.equal(same?.effect, 'reissued')
  assert.equal((await read(kept))?.vc, same?.snapshot?.vcSha256?.toString('hex'))
  assert.equal((await score(db, kept, { at: now, by }))?.effect, 'kept')
  assert.equal((await score(db, changed, { at: now, by }))?.effect, 'issued')
  await replaceAll()
  assert.deepEqual(await namedIn(changed), [before?.vc])
  assert.deepEqual(
    (await eventsOf(db, changed)).map(({ type, data }) => [type, data.reason]),
    [
      ['score.updated', undefined],
      ['score.updated', undefined],
      ['score.revised', 'correction'],
    ],
  )
})

test('a wrong score gets no new credential: revoked evidence and a recalled engine replace the score', async () => {
  const { workerId, evidence } = await addScoredWorker(db, { by })
  const release = { ...scoringWrongly('0.8.0'), issuer: by.issuer }
  const { workerId: recalled } = await addScoredWorker(db, { by: release })
  const [first] = await scoresOf(db, workerId)
  const [wrong] = await scoresOf(db, recalled)
  await loseKey()
  await markRevokedKeys(db, now)
  const revocation = { reason: 'policy', actor: 'test', now } as const
  await db.transaction((tx) => revokeAndRescore(tx, by, evidence.slice(3), revocation))
  const { version, binarySha256 } = release.engine
  const recall = {
    engineSha256: Buffer.from(binarySha256, 'hex'),
    engineVersion: version,
    reason: 'wrong_result',
    recalledAt: now,
  } as const
  await db.transaction((tx) => recallEngine(tx, recall, 'test'))
  await replaceAll()
  assert.deepEqual(await namedIn(workerId), [first?.vc])
  assert.equal((await eventsOf(db, workerId)).at(-1)?.data.reason, 'evidence_revoked')
  assert.deepEqual(await namedIn(recalled), [])
  await score(db, recalled, { at: now, by })
  await replaceAll()
  assert.deepEqual(await namedIn(recalled), [wrong?.vc])
  assert.equal((await eventsOf(db, recalled)).at(-1)?.data.reason, 'engine_correction')
})

test('several processes that are cut off again and again replace each credential once', async () => {
  const workers = await Promise.all(
    Array.from({ length: 12 }, () => addScoredWorker(db, { by }).then(({ workerId }) => workerId)),
  )
  const lost = new Map(
    await Promise.all(workers.map(async (id) => [id, (await scoresOf(db, id))[0]?.vc] as const)),
  )
  await loseKey()
  let attempts = 0
  const lane = async (): Promise<void> => {
    for (;;) {
      let left = 3 + (attempts++ % 25)
      const failing = boundedDb(db, () => {
        if (left-- === 0) throw new Fault('the process dies')
      })
      try {
        return await replaceAll(failing)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }
  }
  await Promise.all([lane(), lane(), lane()])
  await replaceAll()
  for (const [workerId, vc] of lost) {
    assert.deepEqual(await namedIn(workerId), [vc])
    assert.equal((await read(workerId))?.vc, (await scoresOf(db, workerId))[0]?.vc)
  }
})

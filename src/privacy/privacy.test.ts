/** A worker with private data in every table is exported whole and erased whole. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { names } from '../../test/support/build/candidates.ts'
import { resolved } from '../../test/support/build/disputes.ts'
import { evidenceLineOf } from '../../test/support/build/evidence.ts'
import { issuer, testRegistry } from '../../test/support/build/registry.ts'
import {
  addEvidence,
  addSources,
  daysAfter,
  enough,
  score,
  scoredAt,
  scoring,
} from '../../test/support/build/scores.ts'
import {
  consentEvents,
  line,
  now,
  publicLine,
  register,
  registrationOf,
  workerNamed,
} from '../../test/support/build/workers.ts'
import { cutOffEverywhere } from '../../test/support/fault/faults.ts'
import { inTurn } from '../../test/support/fault/in-turn.ts'
import { issueCredentials } from '../credentials/issue.ts'
import { findStatuses } from '../credentials/store.ts'
import { insertReplay } from '../operations/replay-store.ts'
import { type Db, sql, type Tx } from '../platform/db/db.ts'
import { openReporting } from '../reports/report.ts'
import { readReportRequest } from '../reports/report-request.ts'
import { openDispute } from '../scoring/disputes/open-dispute.ts'
import { ingestEvidence } from '../scoring/evidence/ingest-evidence.ts'
import type { EvidenceLine } from '../scoring/evidence/schema.ts'
import { changeConsent, moveIdentity, registerWorkers } from '../scoring/scores/keep-sharing.ts'
import { reassignEvidence } from '../scoring/scores/reassign-evidence.ts'
import { indexNewWorkers } from '../workers/candidates/search-indexer.ts'
import { eraseWorker, exportWorker } from './worker-data.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

const at = daysAfter(9)
const byCanary = { by: 'actor-canary', at }
const erase = (username: string, from: Db = db) =>
  from.transaction((tx) => eraseWorker(tx, username, byCanary))

let workers = 0

/** Every text of the worker contains `canary`, former usernames included. */
async function canaryWorker() {
  const n = ++workers
  const [before, username] = [`canary-${n}-before`, `canary-${n}`]
  const line = publicLine({
    username: before,
    externalId: `canary-external-${n}`,
    displayName: 'Canary Person',
    title: 'Canary title',
    bio: 'Canary bio',
    avatarUrl: 'https://canary.example/a.png',
    skills: [{ name: 'Canary skill' }],
  })
  const [registered] = await register(db, [line])
  assert.ok(registered !== undefined && 'workerId' in registered)
  const { workerId } = registered
  const payload = {
    notes: 'canary notes',
    submitter: 'canary',
    artifactUrl: 'https://canary.example',
  }
  const evidenceIds = await addEvidence(
    db,
    workerId,
    enough.map((one, i) => ({ ...one, externalId: `canary-item-${n}-${i}`, private: payload })),
  )
  await score(db, workerId)
  await dispute(workerId, evidenceIds.slice(0, 1))
  await issueByHand(before)
  await report({ kind: 'candidate', username: before })
  await register(db, [{ ...line, username }], daysAfter(1))
  await addEvidence(db, workerId, [{ value: 100, externalId: `canary-more-${n}` }])
  await score(db, workerId, { at: daysAfter(2) })
  await issueByHand(username)
  await report({ kind: 'candidate', username })
  const [active] = await db.rows<{ id: string }>(sql`
    select encode(snapshot_id, 'hex') as id from score_snapshots
    where worker_id = ${workerId} and state = 'active'`)
  await report({ kind: 'score', scoreId: active?.id ?? '' })
  const call = { actor: 'token', key: `canary-replay-${workerId}`, fingerprint: Buffer.alloc(32) }
  await db.transaction((tx) => insertReplay(tx, call, { output: { workerId } }, scoredAt))
  return { workerId, username, before, line }
}

function dispute(workerId: string, evidenceIds: readonly string[]) {
  const request = {
    workerId,
    kind: 'evidence',
    evidenceIds,
    restricted: false,
    exclude: true,
  } as const
  const action = { actor: 'canary reviewer', now: scoredAt, dueAt: daysAfter(30) }
  return db.transaction((tx) => openDispute(tx, request, action))
}

function issueByHand(username: string) {
  const facts = { score: 500, scoreBand: 'verified', confidenceLow: 400, confidenceHigh: 600 }
  const made = { evidenceCount: 3, engineVersion: '1', engineBinarySha256: 'ab'.repeat(32) }
  return db.transaction((tx) =>
    issueCredentials(tx, issuer, [{ username, ...facts, ...made, issuedAt: scoredAt }]),
  )
}

const reporting = openReporting(db, 'unlocked')

async function report(subject: object): Promise<void> {
  const read = readReportRequest({
    subject,
    decision: 'rejected',
    notes: 'canary said',
    metadata: {},
  })
  assert.ok('content' in read, JSON.stringify(read))
  const request = { userId: randomUUID(), apiKeyId: randomUUID(), idempotencyKey: randomUUID() }
  await reporting({ ...request, content: read.content, now: scoredAt })
}

/** Returns every row of every table as text, except the migrations. */
async function everything(): Promise<Map<string, string>> {
  const tables = await db.rows<{ name: string }>(sql`
    select relname as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace order by relname`)
  const found = new Map<string, string>()
  for (const { name } of tables) {
    const text = `select coalesce(string_agg(t::text, E'\n'), '') as rows from ${name} t`
    const [row] = await db.rows<{ rows: string }>({ name: `all of ${name}`, text, values: [] })
    found.set(name, row?.rows ?? '')
  }
  return found
}

async function tablesWith(pattern: RegExp): Promise<string[]> {
  return [...(await everything())].flatMap(([name, rows]) => (pattern.test(rows) ? name : []))
}

test('export: it contains everything that any table holds of the worker', async () => {
  const { workerId, username } = await canaryWorker()
  const exported = await db.transaction((tx) => exportWorker(tx, username, at))
  const text = JSON.stringify(exported)
  for (const part of [
    workerId,
    username,
    'Canary Person',
    'Canary title',
    'Canary bio',
    'canary.example',
    'Canary skill',
    'canary-external',
    'canary notes',
    'canary-item',
    'canary-more',
    'canary said',
    'canary reviewer',
  ])
    assert.ok(text.includes(part), part)
  assert.partialDeepStrictEqual(exported, {
    workerId,
    consentChanges: [{ permission: 'public_profile' }, {}, {}],
    identityChanges: [{}, { state: 'verified' }],
    scores: [{ state: 'superseded' }, { state: 'active' }],
  })
  const counts = Object.fromEntries(
    ['evidence', 'credentials', 'events', 'reports', 'usernamesTakenAt', 'disputes'].map((name) => {
      const list = exported?.[name]
      return [name, Array.isArray(list) ? list.length : null]
    }),
  )
  assert.deepEqual(counts, {
    evidence: 5,
    credentials: 4,
    events: 6,
    reports: 3,
    usernamesTakenAt: 2,
    disputes: 1,
  })
  await erase(username)
})

test('erase: no table keeps a word of the worker, and the books still add up', async () => {
  const { workerId, username, before, line } = await canaryWorker()
  const spared = await canaryWorker()
  const held = await tablesWith(/canary/i)
  for (const table of [
    'profiles',
    'profile_skills',
    'workers',
    'evidence',
    'evidence_private',
    'score_credentials',
    'dispute_changes',
    'agent_decision_reports',
  ])
    assert.ok(held.includes(table), table)
  const credentials = await db.rows<{ token: Buffer; digest: Buffer }>(sql`
    select status_token as token, vc_sha256 as digest from score_credentials
    where subject like '%/u/' || ${username}::text or subject like '%/u/' || ${before}::text`)
  assert.equal(credentials.length, 4)
  const snapshots = await snapshotIds(workerId)
  const eventsBefore = (await consentEvents(db, workerId)).length

  assert.partialDeepStrictEqual(await erase(username), {
    workerId,
    credentialsErased: 4,
    evidenceErased: 5,
    reportsErased: 3,
  })
  await erase(spared.username)
  assert.deepEqual(await tablesWith(/canary/i), [])

  const statuses = await findStatuses(
    db,
    credentials.map(({ token, digest }) => ({ token, vcSha256: digest })),
  )
  for (const status of statuses)
    assert.ok(status.kind === 'registered' && status.revokedAt?.getTime() === at.getTime())
  assert.deepEqual(await snapshotIds(workerId), snapshots)
  const consents = await consentEvents(db, workerId)
  assert.deepEqual(
    consents.slice(eventsBefore).map(({ permission, granted }) => [permission, granted]),
    [
      ['public_profile', false],
      ['search_listing', false],
      ['score_sharing', false],
    ],
  )
  const events = await db.rows<{ type: string }>(sql`
    select type from webhook_events where worker_id = ${workerId} order by seq`)
  assert.ok(events.every(({ type }) => type === 'candidate.consent_changed'))
  assert.equal(events.length, 6)

  assert.equal(await erase(username), null)
  for (const name of [username, before]) {
    const again = await db.transaction((tx) =>
      registerWorkers(tx, [registrationOf({ ...line, username: name })], { by: 'x', at }),
    )
    assert.deepEqual(again, [
      { refused: { field: 'username', reason: 'is taken by another worker' } },
    ])
  }
})

async function snapshotIds(workerId: string): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select encode(snapshot_id, 'hex') as id from score_snapshots
    where worker_id = ${workerId} order by issued_at`)
  return rows.map(({ id }) => id)
}

test('an erasure that is cut off between any two statements leaves everything as it was', async () => {
  const { workerId, username } = await canaryWorker()
  const before = await everything()
  const boundaries = await cutOffEverywhere(
    db,
    (cut) => erase(username, cut),
    async (cutOff) => {
      if (cutOff) assert.ok(isDeepStrictEqual(await everything(), before))
    },
  )
  assert.ok(boundaries > 20, `${boundaries} boundaries`)
  assert.deepEqual(await tablesWith(/canary/i), [])
  assert.equal((await snapshotIds(workerId)).length, 2)
})

const vocabulary = { 'hss:typescript': { halfLifeMonths: 24, weightPermille: { assessment: 350 } } }

test('evidence that arrives during an erasure is either erased with the worker or refused', async () => {
  for (let round = 0; round < 10; round++) {
    const { workerId, username } = await canaryWorker()
    const line: EvidenceLine = {
      workerId,
      sourceId: 'examiner',
      externalId: `canary-race-${round}`,
      skillId: 'hss:typescript',
      type: 'assessment',
      value: 500,
      observedOn: '2026-05-01',
    }
    const ingest = () => db.transaction((tx) => ingestEvidence(tx, [line], { vocabulary, now: at }))
    await Promise.all([ingest(), erase(username), ingest()])
    assert.deepEqual(await ingest(), [
      { refused: { field: 'workerId', reason: 'is not a registered worker' } },
    ])
    assert.deepEqual(await tablesWith(/canary/i), [])
  }
})

test('a consent and an identity check that arrive during an erasure find no worker', async () => {
  const until = new Date(at.getTime() + 86_400_000)
  const requests: ((tx: Tx, who: { username: string; workerId: string }) => Promise<object>)[] = [
    (tx, { username }) =>
      changeConsent(tx, username, { permission: 'search_listing', textVersion: '2', ...byCanary }),
    (tx, { workerId }) => moveIdentity(tx, { move: 'verify', until, workerId }, byCanary),
  ]
  for (const request of requests) {
    const worker = await canaryWorker()
    const [, outcome] = await inTurn(
      db,
      (tx) => eraseWorker(tx, worker.username, byCanary),
      () => db.transaction((tx) => request(tx, worker)),
    )
    assert.partialDeepStrictEqual(outcome, { refusal: 'worker_not_found' })
    assert.deepEqual(await tablesWith(/canary/i), [])
    const held = await tablesWith(new RegExp(worker.workerId))
    for (const table of ['consents', 'identities']) assert.ok(!held.includes(table), table)
  }
})

test("evidence that was moved to the worker after another worker's rejected dispute is erased with it", async () => {
  const [giver, taker] = [await canaryWorker(), await canaryWorker()]
  const [id = ''] = await addEvidence(db, giver.workerId, [{ externalId: 'disputed-item' }])
  const request = { workerId: giver.workerId, kind: 'evidence', evidenceIds: [id] } as const
  await resolved(db, request, { ending: 'rejected', now: at })
  const what = { what: [id], toWorkerId: taker.workerId, now: at }
  const reassigned = await db.transaction((tx) => reassignEvidence(tx, scoring, what))
  assert.ok('moved' in reassigned)
  assert.equal((await erase(taker.username))?.workerId, taker.workerId)
  assert.deepEqual(await tablesWith(/disputed-item/), [])
  await erase(giver.username)
})

test('docs/privacy.md says for every table what an erasure does to it', async () => {
  const documented = new Set(
    readFileSync('docs/privacy.md', 'utf8').match(/(?<=`)[a-z0-9_]+(?=`)/g),
  )
  const undocumented = [...(await everything()).keys()].filter((table) => !documented.has(table))
  assert.deepEqual(undocumented, [])
})

test('an erasure waits for evidence that is being taken in, and erases it', async () => {
  const { workerId, username } = await canaryWorker()
  const late = evidenceLineOf(0, { workerId, externalId: 'canary-late' })
  await inTurn(
    db,
    (tx) => ingestEvidence(tx, [late], { vocabulary, now: at }),
    () => erase(username),
  )
  assert.deepEqual(await tablesWith(/canary/i), [])
})

test('erase: a worker without consent loses a credential issued by hand, without an event', async () => {
  const username = 'never-asked'
  await register(db, [line({ username })])
  const { workerId } = await workerNamed(db, username)
  const [issued] = await issueByHand(username)
  assert.ok(issued !== undefined)
  await erase(username)
  const token = Buffer.from(issued.statusToken, 'hex')
  const vcSha256 = Buffer.from(issued.vcSha256, 'hex')
  assert.partialDeepStrictEqual(await findStatuses(db, [{ token, vcSha256 }]), [{ revokedAt: at }])
  assert.deepEqual(await tablesWith(new RegExp(workerId)), ['usernames', 'workers'])
})

test('erase: the worker’s id stays in the books and in no other table', async () => {
  const { workerId, username } = await canaryWorker()
  await indexNewWorkers(db, () => names)
  // The worker is due for scoring again; no job may look for it later.
  await addEvidence(db, workerId, [{ externalId: 'canary-unscored' }])
  const held = await tablesWith(new RegExp(workerId))
  const all = ['consents', 'identities', 'search_entries', 'evidence', 'score_recomputations']
  for (const table of all) assert.ok(held.includes(table), table)
  await erase(username)
  assert.deepEqual(await tablesWith(new RegExp(workerId)), [
    'consent_changes',
    'identity_changes',
    'score_snapshots',
    'usernames',
    'webhook_events',
    'workers',
  ])
})

test('an export waits for a change of the worker and contains it', async () => {
  await register(db, [publicLine()])
  const request = { permission: 'score_sharing', textVersion: null, by: 'test', at: now } as const
  const withdraw = (tx: Tx) => changeConsent(tx, 'ada', request)
  const [, data] = await inTurn(db, withdraw, () =>
    db.transaction((tx) => exportWorker(tx, 'ada', now)),
  )
  assert.partialDeepStrictEqual(data, {
    consents: { score_sharing: { granted: false } },
    consentChanges: [{}, {}, {}, { permission: 'score_sharing', granted: false }],
  })
})

test('an export waits for an erasure and contains nothing of the worker', async () => {
  await register(db, [publicLine({ username: 'grace' })])
  const erase = (tx: Tx) => eraseWorker(tx, 'grace', { by: 'test', at: now })
  const [, data] = await inTurn(db, erase, () =>
    db.transaction((tx) => exportWorker(tx, 'grace', now)),
  )
  assert.equal(data, null)
})

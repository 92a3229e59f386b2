/** Reports on a real database: once for each key, locked and unlocked, gone by age and by erasure. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import { inTurn } from '../../test/support/fault/in-turn.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { contextWithin } from '../audit/action.ts'
import { sql } from '../platform/db/db.ts'
import { openReporting, type Reported, type ReportWish } from './report.ts'
import { type ReportContent, readReportRequest } from './report-request.ts'
import { eraseReportsAbout, sweepReports } from './retention.ts'
import { findReports, findReportsOf } from './store.ts'
import {
  declineUnlockReview,
  lockReporting,
  requestUnlockReview,
  unlockReporting,
} from './unlock.ts'
import { findOpenReviews } from './unlock-store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const now = new Date('2026-05-14T09:00:00.250Z')
const scoreId = 'ab'.repeat(32)
const report = openReporting(db, 'unlocked')
const reportIfUnlocked = openReporting(db, 'locked')

function contentOf(changes: object = {}): ReportContent {
  const read = readReportRequest({
    subject: { kind: 'candidate', username: 'ada-lovelace' },
    decision: 'shortlisted',
    reasonCodes: ['skills.match', 'b'],
    metadata: { 'a"b': [1, { z: 1, a: 2 }], '10': null },
    ...changes,
  })
  assert.ok('content' in read, JSON.stringify(read))
  return read.content
}

function wishOf(changes: Partial<ReportWish> = {}): ReportWish {
  return {
    userId: randomUUID(),
    apiKeyId: randomUUID(),
    idempotencyKey: randomUUID(),
    content: contentOf(),
    now,
    ...changes,
  }
}

function kept(reported: Reported) {
  assert.ok('report' in reported, reported.outcome)
  return reported.report
}

const page = { before: null, limit: 100 }
const reportsOf = (userId: string) => findReportsOf(db, userId, page)

test('a report is kept as it was sent, and read by its owner alone', async () => {
  const wish = wishOf()
  const reported = await report(wish)
  assert.equal(reported.outcome, 'created')
  const { id, ...rest } = kept(reported)
  assert.deepEqual(rest, {
    userId: wish.userId,
    apiKeyId: wish.apiKeyId,
    ...wish.content,
    createdAt: now,
  })
  const [read] = await reportsOf(wish.userId)
  assert.deepEqual(read, { id, ...rest })
  assert.equal(JSON.stringify(read?.metadata), JSON.stringify(wish.content.metadata))
  assert.deepEqual(await reportsOf(randomUUID()), [])
})

test('a repeat gives the same report, whatever API key it comes with, and makes none', async () => {
  const wish = wishOf()
  const first = kept(await report(wish))
  const repeated = await report({ ...wish, apiKeyId: randomUUID(), now: new Date() })
  assert.deepEqual(repeated, { outcome: 'replayed', report: first })
  const reordered = contentOf({ reasonCodes: ['b', 'skills.match'], outcome: 'pending' })
  assert.deepEqual(await report({ ...wish, content: reordered }), repeated)
  assert.equal((await reportsOf(wish.userId)).length, 1)
})

test('the same key with other content is refused, and another user’s is another report', async () => {
  const wish = wishOf()
  await report(wish)
  const content = contentOf({ decision: 'rejected' })
  assert.deepEqual(await report({ ...wish, content }), { outcome: 'other_content' })
  const other = await report({ ...wish, userId: randomUUID(), content })
  assert.equal(other.outcome, 'created')
})

test('50 twins at once, in one process and over two: one report, 49 replays of it; other content is refused', async () => {
  const wish = wishOf()
  const elsewhere = openReporting(db, 'unlocked')
  const content = contentOf({ decision: 'hired' })
  const first = kept(await report(wish))
  const twins = await Promise.all(
    Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? report : elsewhere)(wish)),
  )
  for (const twin of twins) assert.deepEqual(twin, { outcome: 'replayed', report: first })

  const fresh = wishOf()
  const mixed = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      (i % 2 === 0 ? report : elsewhere)(i % 10 === 9 ? { ...fresh, content } : fresh),
    ),
  )
  const made = mixed.filter((reported) => 'report' in reported)
  assert.equal(made.filter(({ outcome }) => outcome === 'created').length, 1)
  assert.equal(new Set(made.map((reported) => reported.report.id)).size, 1)
  assert.equal(made.length === 45 || made.length === 5, true, `${made.length} were answered`)
  assert.equal(mixed.filter(({ outcome }) => outcome === 'other_content').length, 50 - made.length)
  assert.equal((await reportsOf(fresh.userId)).length, 1)
})

test('two processes that take in the same keys in opposite orders both come to an end', async () => {
  const elsewhere = openReporting(db, 'unlocked')
  const userId = randomUUID()
  const wishes = Array.from({ length: 200 }, () => wishOf({ userId }))
  const answers = await Promise.all([
    ...wishes.map(report),
    ...wishes.toReversed().map((wish) => elsewhere(wish)),
  ])
  assert.equal(answers.filter(({ outcome }) => outcome === 'created').length, 200)
  assert.equal(answers.filter(({ outcome }) => outcome === 'replayed').length, 200)
  assert.equal((await findReportsOf(db, userId, { before: null, limit: 1_000 })).length, 200)
})

test('pages follow each other, the newest first, and miss nothing', async () => {
  const userId = randomUUID()
  const made: string[] = []
  for (let i = 0; i < 7; i++)
    made.unshift(kept(await report(wishOf({ userId, now: new Date(now.getTime() + i) }))).id)
  const seen: string[] = []
  for (let before: string | null = null; ; before = seen.at(-1) ?? null) {
    const rows = await findReportsOf(db, userId, { before, limit: 3 })
    seen.push(...rows.map(({ id }) => id))
    if (rows.length < 3) break
  }
  assert.deepEqual(seen, made)
  const all = await findReports(db, { before: null, limit: 1_000 })
  assert.deepEqual(
    all.filter((row) => row.userId === userId).map(({ id }) => id),
    made,
  )
})

test('a locked account’s report is refused and uses no key; unlocked it is taken in, locked again refused', async () => {
  const { userId } = wishOf()
  const first = wishOf({ userId })
  assert.deepEqual(await reportIfUnlocked(first), { outcome: 'locked' })
  assert.deepEqual(await unlockReporting(contextAt(db, now), userId), {
    reviewed: false,
  })
  const other = { ...first, content: contentOf({ decision: 'hired' }) }
  assert.equal((await reportIfUnlocked(other)).outcome, 'created')
  await lockReporting(contextAt(db, now), userId)
  assert.deepEqual(await reportIfUnlocked(wishOf({ userId })), { outcome: 'locked' })
  assert.deepEqual(await report(other), { outcome: 'locked' }, 'nor is a repeat answered')
  assert.equal((await reportsOf(userId)).length, 1)
})

test('a locked account in a batch stops nobody else', async () => {
  const locked = wishOf()
  await lockReporting(contextAt(db, now), locked.userId)
  const answers = await Promise.all([report(wishOf()), report(locked), report(wishOf())])
  assert.deepEqual(
    answers.map(({ outcome }) => outcome),
    ['created', 'locked', 'created'],
  )
})

test('a review is open once, until the operator decides; declined it can be asked for again', async () => {
  const userId = randomUUID()
  const ask = () => requestUnlockReview(db, { userId, stateUnlessSet: 'locked', now })
  const asked = await Promise.all([ask(), ask(), ask(), ask()])
  assert.equal(asked.filter(({ outcome }) => outcome === 'requested').length, 1)
  assert.equal(asked.filter(({ outcome }) => outcome === 'open_already').length, 3)
  assert.equal((await findOpenReviews(db, 100)).filter((one) => one.userId === userId).length, 1)
  const decline = () => declineUnlockReview(contextAt(db, now), userId)
  assert.equal(await decline(), true)
  assert.equal(await decline(), false)
  assert.deepEqual(await reportIfUnlocked(wishOf({ userId })), { outcome: 'locked' })
  assert.equal((await ask()).outcome, 'requested')
  assert.deepEqual(await unlockReporting(contextAt(db, now), userId), {
    reviewed: true,
  })
  assert.deepEqual(await ask(), { outcome: 'unlocked_already' })
  assert.equal((await findOpenReviews(db, 100)).filter((one) => one.userId === userId).length, 0)
})

test('a request for a review waits for an unlock in progress, and then finds the account unlocked', async () => {
  const userId = randomUUID()
  const [, asked] = await inTurn(
    db,
    (tx) => unlockReporting(contextWithin(tx, { actor: 'test', now }), userId),
    () => requestUnlockReview(db, { userId, stateUnlessSet: 'locked', now }),
  )
  assert.deepEqual(asked, { outcome: 'unlocked_already' })
})

test('an account that is unlocked from the start has nothing to ask for', async () => {
  const asking = { userId: randomUUID(), stateUnlessSet: 'unlocked' as const, now }
  assert.deepEqual(await requestUnlockReview(db, asking), { outcome: 'unlocked_already' })
})

test('erasing a person deletes what every account said of them, by name and by score, and nothing else', async () => {
  const userId = randomUUID()
  const about = (subject: object) => wishOf({ userId, content: contentOf({ subject }) })
  const grace = about({ kind: 'candidate', username: 'grace-hopper' })
  const gone = [
    about({ kind: 'candidate', username: '@erased-person' }),
    about({ kind: 'score', scoreId: scoreId.toUpperCase() }),
    { ...about({ kind: 'candidate', username: 'erased-person' }), userId: randomUUID() },
  ]
  for (const wish of [grace, ...gone]) await report(wish)
  const person = { usernames: ['erased-person'], scoreIds: [scoreId] }
  assert.equal(await db.transaction((tx) => eraseReportsAbout(tx, person)), 3)
  assert.deepEqual(
    (await reportsOf(userId)).map(({ subject }) => subject),
    [grace.content.subject],
  )
  for (const wish of gone) {
    assert.deepEqual(await report(wish), { outcome: 'spent' })
    const other = { ...wish, content: contentOf({ decision: 'hired' }) }
    assert.deepEqual(await report(other), { outcome: 'spent' }, 'the key tells nothing of it')
  }
  const stored = await db.rows<{ row: string }>(sql`
    select t::text as row from agent_decision_keys t union all
    select t::text from agent_decision_reports t`)
  for (const { row } of stored) assert.ok(!row.includes('erased-person') && !row.includes(scoreId))
})

test('a repeat that meets the erasure brings nothing back', async () => {
  const wishes = Array.from({ length: 30 }, () =>
    wishOf({ content: contentOf({ subject: { kind: 'candidate', username: 'in-the-race' } }) }),
  )
  await Promise.all(wishes.map(report))
  const person = { usernames: ['in-the-race'], scoreIds: [] }
  const erasing = db.transaction((tx) => eraseReportsAbout(tx, person))
  await Promise.all([erasing, ...wishes.map(report), ...wishes.map(report)])
  for (const { userId } of wishes) assert.deepEqual(await reportsOf(userId), [])
})

test('retention deletes what is older than its days, to the millisecond, in batches; the keys stay', async () => {
  const days = 30
  const edge = new Date('2020-01-31T00:00:00.000Z')
  const at = (offsetMs: number) => new Date(edge.getTime() - days * 86_400_000 + offsetMs)
  const userId = randomUUID()
  const old = Array.from({ length: 1_500 }, () => wishOf({ userId, now: at(-1) }))
  const young = wishOf({ userId, now: at(0) })
  await Promise.all([...old, young].map(report))
  assert.equal(await sweepReports(db, { days, now: edge }), 1_500)
  assert.equal(await sweepReports(db, { days, now: edge }), 0)
  assert.deepEqual(
    (await reportsOf(userId)).map(({ createdAt }) => createdAt),
    [young.now],
  )
  const [first] = old
  assert.ok(first)
  assert.deepEqual(await report(first), { outcome: 'spent' })
})

/** Reports on a real database: idempotency, locks, retention and erasure. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { lock, requestReview } from '../../test/support/build/reports.ts'
import { inTurn } from '../../test/support/fault/in-turn.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { sql } from '../platform/db/db.ts'
import { openReporting, type Reported, type ReportInput } from './report.ts'
import { type ReportContent, readReportRequest } from './report-request.ts'
import { usualOutcome } from './schema.ts'
import { eraseReportsAbout, findReports, findReportsOf, sweepReports } from './store.ts'
import { declineUnlockReview, findOpenReviews, unlockReporting } from './unlock.ts'

const refused = (refusal: string) => ({ refusal, cause: { made: 'an agent decision report' } })

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

function inputOf(changes: Partial<ReportInput> = {}): ReportInput {
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
  assert.ok('report' in reported, JSON.stringify(reported))
  return reported.report
}

const page = { before: null, limit: 100 }
const reportsOf = (userId: string) => findReportsOf(db, userId, page)

test('a report is stored unchanged, and only its account can read it', async () => {
  const input = inputOf()
  const reported = await report(input)
  assert.ok('report' in reported && !reported.isReplay)
  const { id, ...rest } = kept(reported)
  assert.deepEqual(rest, {
    userId: input.userId,
    apiKeyId: input.apiKeyId,
    ...input.content,
    createdAt: now,
  })
  const [read] = await reportsOf(input.userId)
  assert.deepEqual(read, { id, ...rest })
  assert.equal(JSON.stringify(read?.metadata), JSON.stringify(input.content.metadata))
  assert.deepEqual(await reportsOf(randomUUID()), [])
})

test('a repeat returns the same report, also with another API key', async () => {
  const input = inputOf()
  const first = kept(await report(input))
  const repeated = await report({ ...input, apiKeyId: randomUUID(), now: new Date() })
  assert.deepEqual(repeated, { report: first, isReplay: true })
  const reordered = contentOf({ reasonCodes: ['b', 'skills.match'], outcome: usualOutcome })
  assert.deepEqual(await report({ ...input, content: reordered }), repeated)
  assert.equal((await reportsOf(input.userId)).length, 1)
})

test('the same Idempotency-Key with other content is rejected; another account can use it', async () => {
  const input = inputOf()
  await report(input)
  const content = contentOf({ decision: 'rejected' })
  assert.deepEqual(await report({ ...input, content }), refused('idempotency_key_reused'))
  const other = await report({ ...input, userId: randomUUID(), content })
  assert.ok('report' in other && !other.isReplay)
})

test('50 parallel duplicates in two processes make one report; other content among them is rejected', async () => {
  const input = inputOf()
  const elsewhere = openReporting(db, 'unlocked')
  const content = contentOf({ decision: 'hired' })
  const first = kept(await report(input))
  const duplicates = await Promise.all(
    Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? report : elsewhere)(input)),
  )
  for (const duplicate of duplicates) assert.deepEqual(duplicate, { report: first, isReplay: true })

  const fresh = inputOf()
  const mixed = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      (i % 2 === 0 ? report : elsewhere)(i % 10 === 9 ? { ...fresh, content } : fresh),
    ),
  )
  const made = mixed.filter((reported) => 'report' in reported)
  assert.equal(made.filter((one) => 'report' in one && !one.isReplay).length, 1)
  assert.equal(new Set(made.map((reported) => reported.report.id)).size, 1)
  assert.equal(made.length === 45 || made.length === 5, true, `${made.length} were answered`)
  assert.equal(
    mixed.filter((one) => 'refusal' in one && one.refusal === 'idempotency_key_reused').length,
    50 - made.length,
  )
  assert.equal((await reportsOf(fresh.userId)).length, 1)
})

test('two processes that store the same keys in opposite orders do not deadlock', async () => {
  const elsewhere = openReporting(db, 'unlocked')
  const userId = randomUUID()
  const inputs = Array.from({ length: 200 }, () => inputOf({ userId }))
  const answers = await Promise.all([
    ...inputs.map(report),
    ...inputs.toReversed().map((input) => elsewhere(input)),
  ])
  assert.equal(answers.filter((one) => 'report' in one && !one.isReplay).length, 200)
  assert.equal(answers.filter((one) => 'report' in one && one.isReplay).length, 200)
  assert.equal((await findReportsOf(db, userId, { before: null, limit: 1_000 })).length, 200)
})

test('pages list every report once, newest first', async () => {
  const userId = randomUUID()
  const made: string[] = []
  for (let i = 0; i < 7; i++)
    made.unshift(kept(await report(inputOf({ userId, now: new Date(now.getTime() + i) }))).id)
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

test('a report of a locked account is rejected without using its key, and is stored after the account is unlocked', async () => {
  const { userId } = inputOf()
  const first = inputOf({ userId })
  assert.deepEqual(await reportIfUnlocked(first), { refusal: 'agent_reporting_locked' })
  assert.deepEqual(await db.transaction((tx) => unlockReporting(tx, userId, now)), {
    changed: true,
    reviewed: false,
  })
  const other = { ...first, content: contentOf({ decision: 'hired' }) }
  assert.ok('report' in (await reportIfUnlocked(other)))
  await lock(db, userId, now)
  assert.deepEqual(await reportIfUnlocked(inputOf({ userId })), {
    refusal: 'agent_reporting_locked',
  })
  assert.deepEqual(
    await report(other),
    { refusal: 'agent_reporting_locked' },
    'nor is a repeat answered',
  )
  assert.equal((await reportsOf(userId)).length, 1)
})

test('a locked account in a batch does not affect other accounts', async () => {
  const locked = inputOf()
  await lock(db, locked.userId, now)
  const answers = await Promise.all([report(inputOf()), report(locked), report(inputOf())])
  assert.deepEqual(
    answers.map((one) => 'report' in one),
    [true, false, true],
  )
})

test('an account has one open review; after the operator declines it, it can request another', async () => {
  const userId = randomUUID()
  const ask = () => requestReview(db, userId, { now })
  const asked = await Promise.all([ask(), ask(), ask(), ask()])
  assert.equal(asked.filter((isNew) => isNew === true).length, 1)
  assert.equal(asked.filter((isNew) => isNew === false).length, 3)
  assert.equal(
    (await findOpenReviews(db, { after: null, limit: 100 })).filter((one) => one.userId === userId)
      .length,
    1,
  )
  const decline = () => db.transaction((tx) => declineUnlockReview(tx, userId, now))
  assert.equal(await decline(), true)
  assert.equal(await decline(), false)
  assert.deepEqual(await reportIfUnlocked(inputOf({ userId })), {
    refusal: 'agent_reporting_locked',
  })
  assert.equal(await ask(), true)
  assert.deepEqual(await db.transaction((tx) => unlockReporting(tx, userId, now)), {
    changed: true,
    reviewed: true,
  })
  assert.equal(await ask(), 'agent_reporting_unlocked')
  assert.equal(
    (await findOpenReviews(db, { after: null, limit: 100 })).filter((one) => one.userId === userId)
      .length,
    0,
  )
})

test('a request for a review waits for an unlock in progress, and then finds the account unlocked', async () => {
  const userId = randomUUID()
  const [, asked] = await inTurn(
    db,
    (tx) => unlockReporting(tx, userId, now),
    () => requestReview(db, userId, { now }),
  )
  assert.equal(asked, 'agent_reporting_unlocked')
})

test('an account that is unlocked by default cannot request a review', async () => {
  const asked = await requestReview(db, randomUUID(), { defaultState: 'unlocked', now })
  assert.equal(asked, 'agent_reporting_unlocked')
})

test('an erasure deletes all reports about a worker, by username and by score, and no other report', async () => {
  const userId = randomUUID()
  const about = (subject: object) => inputOf({ userId, content: contentOf({ subject }) })
  const grace = about({ kind: 'candidate', username: 'grace-hopper' })
  const gone = [
    about({ kind: 'candidate', username: '@erased-person' }),
    about({ kind: 'score', scoreId: scoreId.toUpperCase() }),
    { ...about({ kind: 'candidate', username: 'erased-person' }), userId: randomUUID() },
  ]
  for (const input of [grace, ...gone]) await report(input)
  const worker = { usernames: ['erased-person'], scoreIds: [scoreId] }
  assert.equal(await db.transaction((tx) => eraseReportsAbout(tx, worker)), 3)
  assert.deepEqual(
    (await reportsOf(userId)).map(({ subject }) => subject),
    [grace.content.subject],
  )
  for (const input of gone) {
    assert.deepEqual(await report(input), refused('idempotency_key_spent'))
    const other = { ...input, content: contentOf({ decision: 'hired' }) }
    assert.deepEqual(
      await report(other),
      refused('idempotency_key_spent'),
      'the key tells nothing of it',
    )
  }
  const stored = await db.rows<{ row: string }>(sql`
    select t::text as row from agent_decision_keys t union all
    select t::text from agent_decision_reports t`)
  for (const { row } of stored) assert.ok(!row.includes('erased-person') && !row.includes(scoreId))
})

test('a repeat during the erasure does not restore the report', async () => {
  const inputs = Array.from({ length: 30 }, () =>
    inputOf({ content: contentOf({ subject: { kind: 'candidate', username: 'in-the-race' } }) }),
  )
  await Promise.all(inputs.map(report))
  const worker = { usernames: ['in-the-race'], scoreIds: [] }
  const erasing = db.transaction((tx) => eraseReportsAbout(tx, worker))
  await Promise.all([erasing, ...inputs.map(report), ...inputs.map(report)])
  for (const { userId } of inputs) assert.deepEqual(await reportsOf(userId), [])
})

test('retention deletes reports older than its days, in batches, and keeps their keys', async () => {
  const days = 30
  const edge = new Date('2020-01-31T00:00:00.000Z')
  const at = (offsetMs: number) => new Date(edge.getTime() - days * 86_400_000 + offsetMs)
  const userId = randomUUID()
  const old = Array.from({ length: 1_500 }, () => inputOf({ userId, now: at(-1) }))
  const young = inputOf({ userId, now: at(0) })
  await Promise.all([...old, young].map(report))
  assert.equal(await sweepReports(db, { days, now: edge }), 1_500)
  assert.equal(await sweepReports(db, { days, now: edge }), 0)
  assert.deepEqual(
    (await reportsOf(userId)).map(({ createdAt }) => createdAt),
    [young.now],
  )
  const [first] = old
  assert.ok(first)
  assert.deepEqual(await report(first), refused('idempotency_key_spent'))
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  consentEvents,
  line,
  now,
  publicLine,
  register,
  workerNamed,
} from '../../test/support/build/workers.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { sql } from '../platform/db/db.ts'
import { missingFor, type Registered } from './register.ts'
import { findWorkers } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const later = new Date('2026-07-01T00:00:00Z')
const outcomes = (answers: readonly Registered[]) =>
  answers.map((answer) =>
    'refused' in answer ? `${answer.refused.field}: ${answer.refused.reason}` : answer.result,
  )
const taken = 'username: is taken by another worker'

async function count(table: 'workers' | 'usernames' | 'profiles'): Promise<number> {
  const [row] = await db.rows<{ workers: number; usernames: number; profiles: number }>(sql`
    select (select count(*) from workers) as workers, (select count(*) from usernames) as usernames,
      (select count(*) from profiles) as profiles`)
  return row?.[table] ?? -1
}

test('a worker is registered with the content of its line; memberSince defaults to the current month', async () => {
  const full = {
    username: 'full',
    externalId: 'hr-1',
    displayName: '山田 太郎',
    title: 'Engineer',
    bio: 'Two\nlines',
    avatarUrl: 'https://img.example.org/1.png',
    memberSince: '2019-03',
    skills: [{ name: 'Go', verified: true, level: 'expert' }, { name: 'Ada' }],
  }
  assert.deepEqual(outcomes(await register(db, [full, line({ username: 'bare' })])), [
    'created',
    'created',
  ])
  const { externalId, ...profile } = full
  const shown = await workerNamed(db, 'full')
  assert.equal(shown.externalId, externalId)
  const skills = [full.skills[0], { name: 'Ada', verified: false, level: null }]
  assert.deepEqual(shown.profile, { ...profile, skills })
  assert.deepEqual((await workerNamed(db, 'bare')).profile, {
    username: 'bare',
    displayName: 'Ada Lovelace',
    title: null,
    bio: null,
    avatarUrl: null,
    memberSince: '2026-05',
    skills: [],
  })
})

test('worker ids sort by time of registration', async () => {
  const [second] = await register(db, [line({ username: 'came-later' })], later)
  const [first] = await register(db, [line({ username: 'came-first' })])
  assert.ok(second && 'workerId' in second && first && 'workerId' in first)
  assert.ok(first.workerId < second.workerId)
})

test('a worker is found once by worker id, external id or username, even if several of them match', async () => {
  await register(db, [line({ username: 'findable', externalId: 'find-me' })])
  const found = await workerNamed(db, 'findable')
  const { workerId } = found
  for (const names of [
    { workerIds: [workerId] },
    { externalIds: ['find-me'] },
    { workerIds: [workerId], externalIds: ['find-me'], usernames: ['findable', 'nobody'] },
  ])
    assert.deepEqual(await findWorkers(db, names), [found])
  assert.deepEqual(await findWorkers(db, {}), [])
})

test('a repeated line changes nothing, even in another month; a line with other content edits the profile', async () => {
  const lines = [
    line({ username: 'again-1', externalId: 'again-1', skills: [{ name: 'Go' }] }),
    publicLine({ username: 'again-2' }),
  ]
  await register(db, lines)
  const before = [await workerNamed(db, 'again-1'), await workerNamed(db, 'again-2')]
  const events = (await consentEvents(db)).length
  assert.deepEqual(outcomes(await register(db, lines, later)), ['unchanged', 'unchanged'])
  assert.deepEqual([await workerNamed(db, 'again-1'), await workerNamed(db, 'again-2')], before)
  assert.equal((await consentEvents(db)).length, events)

  const edit = line({ username: 'again-1', externalId: 'again-1', title: 'Boss', skills: [] })
  assert.deepEqual(outcomes(await register(db, [edit], later)), ['updated'])
  const { profile } = await workerNamed(db, 'again-1')
  assert.deepEqual([profile.title, profile.skills], ['Boss', []])
  const clear = { ...edit, title: null }
  assert.deepEqual(outcomes(await register(db, [clear, lines[1] ?? {}], later)), [
    'updated',
    'unchanged',
  ])
  assert.equal((await workerNamed(db, 'again-1')).profile.title, null)
})

test('a username belongs to its first owner for ever: after a rename other workers are refused, and the owner can take it again', async () => {
  const owner = (username: string) => line({ username, externalId: 'owner' })
  await register(db, [owner('first-name')])
  assert.deepEqual(outcomes(await register(db, [owner('second-name')])), ['updated'])
  for (const other of [{ externalId: 'other' }, {}])
    assert.deepEqual(outcomes(await register(db, [line({ username: 'first-name', ...other })])), [
      taken,
    ])
  assert.deepEqual(outcomes(await register(db, [owner('first-name')])), ['updated'])
  assert.deepEqual(
    outcomes(await register(db, [line({ username: 'second-name', externalId: 'other' })])),
    [taken],
  )
  assert.equal((await workerNamed(db, 'first-name')).externalId, 'owner')
})

test('a username stays taken after the profile is deleted, and the database prevents its release', async () => {
  await register(db, [line({ username: 'erased', externalId: 'erased' })])
  const { workerId } = await workerNamed(db, 'erased')
  await db.run(sql`delete from profiles where worker_id = ${workerId}`)
  assert.deepEqual(
    outcomes(await register(db, [line({ username: 'erased', externalId: 'erased' })])),
    [taken],
  )
  await assert.rejects(
    db.run(sql`delete from usernames where worker_id = ${workerId}`),
    /a username stays taken/,
  )
  await assert.rejects(
    db.run(sql`update usernames set worker_id = gen_random_uuid() where worker_id = ${workerId}`),
    /a username stays taken/,
  )
})

test('a rename to a taken username is refused, and the rest of that line changes nothing', async () => {
  await register(db, [
    line({ username: 'mover', externalId: 'mover' }),
    line({ username: 'sitter', externalId: 'sitter' }),
  ])
  const move = publicLine({ username: 'sitter', externalId: 'mover', title: 'New' })
  assert.deepEqual(outcomes(await register(db, [move])), [taken])
  const mover = await workerNamed(db, 'mover')
  assert.deepEqual([mover.profile.title, mover.termsVersion, mover.consents], [null, null, {}])
})

test('one batch: a username whose owner failed to rename stays taken, and the other lines succeed', async () => {
  const owner = (externalId: string, username = externalId) => line({ username, externalId })
  await register(db, [owner('queue-1'), owner('queue-2'), owner('queue-3')])
  const requests = [owner('queue-1', 'queue-2'), owner('queue-2', 'queue-3'), owner('queue-4')]
  assert.deepEqual(outcomes(await register(db, requests)), [taken, taken, 'created'])
})

test('one batch: lines about one worker take effect in their order', async () => {
  const lines = [
    line({ username: 'step-1', externalId: 'stepper', title: '1' }),
    line({ username: 'step-2', externalId: 'stepper', title: '2' }),
    line({ username: 'step-2', title: '3' }),
    line({ username: 'step-1', title: 'not theirs' }),
    line({ username: 'step-2', title: '4' }),
    line({ username: 'step-3', externalId: 'stepper', title: '5' }),
  ]
  assert.deepEqual(outcomes(await register(db, lines)), [
    'created',
    'updated',
    'updated',
    taken,
    'updated',
    'updated',
  ])
  assert.equal((await workerNamed(db, 'step-3')).profile.title, '5')
  // Two lines of one batch can name one worker by its external id and by its previous username.
  const crossed = [
    line({ username: 'step-4', externalId: 'stepper', title: '6' }),
    line({ username: 'step-3', title: '7' }),
  ]
  assert.deepEqual(outcomes(await register(db, crossed)), ['updated', taken])
})

test('20 parallel registrations of one username by 20 workers: one succeeds, and the others leave no row', async () => {
  const before = await count('workers')
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      register(db, [publicLine({ username: 'wanted', externalId: `rival-${i}` })]),
    ),
  )
  const results = answers.flatMap(outcomes)
  assert.equal(results.filter((one) => one === 'created').length, 1)
  assert.equal(results.filter((one) => one === taken).length, 19)
  assert.equal(await count('workers'), before + 1)
  const winner = (await workerNamed(db, 'wanted')).externalId
  assert.equal(results[Number(winner?.split('-')[1])], 'created')
})

test('20 parallel runs of the same lines, in any order: each worker is registered once, without a deadlock', async () => {
  const lines = Array.from({ length: 30 }, (_, i) =>
    publicLine({ username: `twin-${i}`, ...(i % 2 === 0 && { externalId: `twin-${i}` }) }),
  )
  const before = await count('workers')
  const runs = await Promise.all(
    Array.from({ length: 20 }, (_, run) =>
      register(db, run % 2 === 0 ? lines : lines.toReversed()),
    ),
  )
  const results = runs.flatMap(outcomes)
  assert.equal(results.filter((one) => one === 'created').length, 30)
  assert.equal(results.filter((one) => one === 'unchanged').length, 570)
  assert.equal(await count('workers'), before + 30)
  const { workerId } = await workerNamed(db, 'twin-7')
  assert.equal((await consentEvents(db, workerId)).length, 3)
})

test('a worker is onboarded once terms and the consent to a public profile are there; missingFor lists the rest', async () => {
  const consents = [{ permission: 'public_profile', textVersion: '1' }]
  const terms = { version: '1', acceptedAt: '2026-05-01T00:00:00Z' }
  await register(db, [
    line({ username: 'on-none' }),
    line({ username: 'on-terms', terms }),
    line({ username: 'on-consent', consents }),
    line({
      username: 'on-other',
      terms,
      consents: [{ permission: 'score_sharing', textVersion: '1' }],
    }),
    line({ username: 'on-both', terms, consents }),
  ])
  const missing = async (username: string) => missingFor(await workerNamed(db, username))
  assert.deepEqual(await missing('on-none'), ['terms', 'consent public_profile'])
  assert.deepEqual(await missing('on-terms'), ['consent public_profile'])
  assert.deepEqual(await missing('on-consent'), ['terms'])
  assert.deepEqual(await missing('on-other'), ['consent public_profile'])
  assert.deepEqual(await missing('on-both'), [])
  assert.deepEqual((await workerNamed(db, 'on-both')).onboardedAt, now)
  for (const late of [
    line({ username: 'on-terms', consents }),
    line({ username: 'on-consent', terms }),
  ]) {
    assert.deepEqual(outcomes(await register(db, [late], later)), ['updated'])
    assert.deepEqual((await workerNamed(db, String(late.username))).onboardedAt, later)
  }
  await register(db, [line({ username: 'on-both', terms, consents })], later)
  assert.deepEqual((await workerNamed(db, 'on-both')).onboardedAt, now, 'the first time stands')
})

test('newer terms replace older ones, and older terms never replace newer ones', async () => {
  const terms = (version: string, day: string) =>
    line({ username: 'terms', terms: { version, acceptedAt: `2026-05-${day}T00:00:00Z` } })
  await register(db, [terms('2', '02')])
  assert.deepEqual(outcomes(await register(db, [terms('1', '01')])), ['unchanged'])
  assert.equal((await workerNamed(db, 'terms')).termsVersion, '2')
  assert.deepEqual(outcomes(await register(db, [terms('3', '03')])), ['updated'])
  assert.equal((await workerNamed(db, 'terms')).termsVersion, '3')
})

test('the database rejects every invalid worker row', async () => {
  await register(db, [line({ username: 'guarded' })])
  const { workerId } = await workerNamed(db, 'guarded')
  const wrong = [
    sql`update profiles set username = 'search' where worker_id = ${workerId}`,
    sql`update profiles set username = 'Guarded' where worker_id = ${workerId}`,
    sql`update profiles set username = 'unclaimed' where worker_id = ${workerId}`,
    sql`update profiles set username = 'twin-1', username_sha256 = sha256('twin-1') where worker_id = ${workerId}`,
    sql`update profiles set avatar_url = 'http://e.org' where worker_id = ${workerId}`,
    sql`update profiles set member_since = '2026-13' where worker_id = ${workerId}`,
    sql`update profiles set display_name = '' where worker_id = ${workerId}`,
    sql`update workers set onboarded_at = now() where id = ${workerId}`,
    sql`insert into profile_skills values (${workerId}, 'Go', 1, true, 'guru')`,
    sql`insert into consents values (${workerId}, 'score_sharing', true, '1', 1)`,
    sql`insert into identities values (${workerId}, 'verified', null, 1)`,
  ]
  for (const statement of wrong) await assert.rejects(db.run(statement), /violates/, statement.text)
})

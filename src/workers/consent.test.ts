import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { consentEvents, line, now, person, register } from '../../test/support/build/workers.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { sql } from '../platform/db/db.ts'
import { changeConsent } from './consent.ts'
import { type Permission, permissions } from './schema.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const change = (username: string, permission: Permission, textVersion: string | null, at = now) =>
  changeConsent(db, username, { permission, textVersion, by: 'test', at })

/** A registered person without any consent. */
async function newPerson(username: string): Promise<string> {
  await register(db, [line({ username })])
  return (await person(db, username)).workerId
}

function historyOf(workerId: string) {
  return db.rows<{
    version: number
    permission: string
    granted: boolean
    previous: boolean | null
    text: string | null
    actor: string
    at: Date
  }>(sql`
    select consent_version as version, permission, granted, previous_granted as previous,
      text_version as text, actor, effective_at as at
    from consent_changes where worker_id = ${workerId} order by consent_version`)
}

test('none, granted, withdrawn, granted again: each a row, a version and an event with exactly its six keys', async () => {
  const workerId = await newPerson('walker')
  const texts = ['1', null, '2'] as const
  for (const [i, text] of texts.entries()) {
    const changed = await change(
      'walker',
      'search_listing',
      text,
      new Date(now.getTime() + i * 1_000),
    )
    assert.equal(changed.outcome, 'changed')
  }
  const event = (granted: boolean, previousGranted: boolean | null, consentVersion: number) => ({
    workerId,
    permission: 'search_listing',
    granted,
    previousGranted,
    consentVersion,
    effectiveAt: `2026-05-14T09:00:0${consentVersion - 1}Z`,
  })
  assert.deepEqual(await consentEvents(db, workerId), [
    event(true, null, 1),
    event(false, true, 2),
    event(true, false, 3),
  ])
  assert.deepEqual(
    (await historyOf(workerId)).map((row) => [
      row.version,
      row.granted,
      row.previous,
      row.text,
      row.actor,
    ]),
    [
      [1, true, null, '1', 'test'],
      [2, false, true, null, 'test'],
      [3, true, false, '2', 'test'],
    ],
  )
})

test('what is so already is not recorded and not told: withdrawn twice, granted twice under one text', async () => {
  const workerId = await newPerson('still')
  const outcomes = []
  for (const text of ['1', '1', null, null])
    outcomes.push((await change('still', 'score_sharing', text)).outcome)
  assert.deepEqual(outcomes, ['changed', 'unchanged', 'changed', 'unchanged'])
  assert.equal((await consentEvents(db, workerId)).length, 2)
  assert.equal((await person(db, 'still')).consentVersion, 2)
})

test('what was never granted can be refused: it is recorded once, and nobody is told; a later grant says that it was not granted before', async () => {
  const workerId = await newPerson('refusing')
  const outcomes = []
  for (const text of [null, null, '1'])
    outcomes.push((await change('refusing', 'score_sharing', text)).outcome)
  assert.deepEqual(outcomes, ['changed', 'unchanged', 'changed'])
  assert.deepEqual(
    (await historyOf(workerId)).map((row) => [row.version, row.granted, row.previous]),
    [
      [1, false, null],
      [2, true, false],
    ],
  )
  assert.partialDeepStrictEqual(await consentEvents(db, workerId), [
    { granted: true, previousGranted: false, consentVersion: 2 },
  ])
  assert.equal((await consentEvents(db, workerId)).length, 1)
})

test('a newer text is agreed to anew: a change from granted to granted', async () => {
  const workerId = await newPerson('reader')
  await change('reader', 'public_profile', '1')
  await change('reader', 'public_profile', '2')
  const sent = await consentEvents(db, workerId)
  assert.deepEqual(
    sent.map(({ granted, previousGranted }) => [granted, previousGranted]),
    [
      [true, null],
      [true, true],
    ],
  )
  assert.equal((await person(db, 'reader')).consents.public_profile?.textVersion, '2')
})

test('the version counts over all permissions of a person, and for each person by itself', async () => {
  const [one, two] = [await newPerson('count-1'), await newPerson('count-2')]
  for (const permission of permissions) await change('count-1', permission, '1')
  await change('count-2', 'score_sharing', '1')
  assert.deepEqual(
    (await consentEvents(db, one)).map((event) => event.consentVersion),
    [1, 2, 3],
  )
  assert.deepEqual(
    (await consentEvents(db, two)).map((event) => event.consentVersion),
    [1],
  )
})

test('unknown_person: nobody has the username', async () => {
  assert.equal((await change('nobody-here', 'score_sharing', '1')).outcome, 'unknown_person')
})

test('the consent that completes the onboarding says so, once; a withdrawal keeps the day', async () => {
  const terms = { version: '1', acceptedAt: '2026-05-01T00:00:00Z' }
  await register(db, [line({ username: 'boarder', terms })])
  const onboarded: boolean[] = []
  for (const text of ['1', null, '1']) {
    const changed = await change('boarder', 'public_profile', text)
    assert.ok(changed.outcome === 'changed')
    onboarded.push(changed.onboardedNow)
  }
  assert.deepEqual(onboarded, [true, false, false])
  assert.deepEqual((await person(db, 'boarder')).onboardedAt, now)
})

test('a consent that was taken back before the terms came onboards nobody', async () => {
  await newPerson('thought-again')
  for (const text of ['1', null]) await change('thought-again', 'public_profile', text)
  const terms = { version: '1', acceptedAt: '2026-05-01T00:00:00Z' }
  await register(db, [line({ username: 'thought-again', terms })])
  const { onboardedAt, termsVersion } = await person(db, 'thought-again')
  assert.deepEqual([onboardedAt, termsVersion], [null, '1'])
})

test('60 concurrent grants and withdrawals: events exactly once, in the order of versions, each fitting the one before', async () => {
  const workerId = await newPerson('crowd')
  const outcomes = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      change('crowd', permissions[i % 3] as Permission, i % 2 === 0 ? null : `${i % 5}`),
    ),
  )
  const changed = outcomes.filter((one) => one.outcome === 'changed').length
  assert.ok(changed > 0)
  const history = await historyOf(workerId)
  assert.deepEqual(
    history.map(({ version }) => version),
    Array.from({ length: changed }, (_, i) => i + 1),
  )
  const held = new Map<string, boolean>()
  for (const { permission, granted, previous } of history) {
    assert.equal(previous, held.get(permission) ?? null)
    held.set(permission, granted)
  }
  const { consents, consentVersion } = await person(db, 'crowd')
  assert.equal(consentVersion, changed)
  for (const [permission, granted] of held)
    assert.equal(consents[permission as Permission]?.granted, granted)
  assert.deepEqual(
    (await consentEvents(db, workerId)).map((event) => [
      event.consentVersion,
      event.permission,
      event.granted,
      event.previousGranted,
    ]),
    history
      .filter(({ granted, previous }) => granted || previous !== null)
      .map(({ version, permission, granted, previous }) => [
        version,
        permission,
        granted,
        previous,
      ]),
  )
})

test('a transaction that fails leaves neither row nor event', async () => {
  const workerId = await newPerson('failing')
  await assert.rejects(
    changeConsent(db, 'failing', {
      permission: 'score_sharing',
      textVersion: '1',
      by: '',
      at: now,
    }),
    /violates/,
  )
  assert.deepEqual(await consentEvents(db, workerId), [])
  assert.deepEqual((await person(db, 'failing')).consents, {})
})

test('an import grants only what was never decided: an old file undoes neither a withdrawal nor a refusal', async () => {
  await newPerson('importing')
  await change('importing', 'public_profile', '1')
  await change('importing', 'public_profile', null)
  await change('importing', 'score_sharing', null)
  const consents = permissions.map((permission) => ({ permission, textVersion: '2' }))
  await register(db, [line({ username: 'importing', consents })])
  const { consents: held, consentVersion } = await person(db, 'importing')
  assert.deepEqual(
    permissions.map((permission) => [permission, held[permission]?.granted]),
    permissions.map((permission) => [permission, permission === 'search_listing']),
  )
  assert.equal(consentVersion, 4)
})

test('the history cannot be rewritten, and what holds cannot say else than the history', async () => {
  const workerId = await newPerson('booked')
  await change('booked', 'score_sharing', '1')
  for (const statement of [
    sql`update consent_changes set granted = false where worker_id = ${workerId}`,
    sql`update consent_changes set actor = 'erased', effective_at = now() where worker_id = ${workerId}`,
    sql`delete from consent_changes where worker_id = ${workerId}`,
    sql`update consents set granted = false where worker_id = ${workerId}`,
    sql`insert into consent_changes values (${workerId}, 2, 'score_sharing', false, false, null, 'x', now())`,
    sql`insert into consent_changes values (${workerId}, 2, 'everything', true, null, '1', 'x', now())`,
  ])
    await assert.rejects(db.run(statement), /never changed|violates/, statement.text)
})

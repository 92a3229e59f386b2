import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  consentEvents,
  line,
  now,
  register,
  setConsent,
  workerNamed,
} from '../../test/support/build/workers.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { sql } from '../platform/db/db.ts'
import { type Permission, permissions } from './schema.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const change = (username: string, permission: Permission, textVersion: string | null, at = now) =>
  setConsent(db, username, { permission, textVersion, by: 'test', at })

function changes(answer: object): boolean {
  return 'change' in answer && answer.change !== null
}

/** Registers a worker without any consent. */
async function registerWithoutConsent(username: string): Promise<string> {
  await register(db, [line({ username })])
  return (await workerNamed(db, username)).workerId
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

test('grant, withdrawal and new grant: each writes a row, a version and an event with exactly its six keys', async () => {
  const workerId = await registerWithoutConsent('walker')
  const texts = ['1', null, '2'] as const
  for (const [i, text] of texts.entries()) {
    const changed = await change(
      'walker',
      'search_listing',
      text,
      new Date(now.getTime() + i * 1_000),
    )
    assert.ok('change' in changed && changed.change !== null)
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

test('a repeated withdrawal, or a repeated grant under one text, is neither recorded nor sent as an event', async () => {
  const workerId = await registerWithoutConsent('still')
  const isChanged = []
  for (const text of ['1', '1', null, null])
    isChanged.push(changes(await change('still', 'score_sharing', text)))
  assert.deepEqual(isChanged, [true, false, true, false])
  assert.equal((await consentEvents(db, workerId)).length, 2)
  assert.equal((await workerNamed(db, 'still')).consentVersion, 2)
})

test('a refusal before any grant is recorded once and sends no event; a later grant has previousGranted false', async () => {
  const workerId = await registerWithoutConsent('refusing')
  const isChanged = []
  for (const text of [null, null, '1'])
    isChanged.push(changes(await change('refusing', 'score_sharing', text)))
  assert.deepEqual(isChanged, [true, false, true])
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

test('a grant under a newer text is a change from granted to granted', async () => {
  const workerId = await registerWithoutConsent('reader')
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
  assert.equal((await workerNamed(db, 'reader')).consents.public_profile?.textVersion, '2')
})

test('the consent version counts over all permissions of one worker, and separately for each worker', async () => {
  const [one, two] = [
    await registerWithoutConsent('count-1'),
    await registerWithoutConsent('count-2'),
  ]
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

test('an unknown username gives unknown_worker', async () => {
  assert.partialDeepStrictEqual(await change('nobody-here', 'score_sharing', '1'), {
    refusal: 'worker_not_found',
  })
})

test('onboardedNow is true once, for the consent that completes the onboarding; a withdrawal keeps onboardedAt', async () => {
  const terms = { version: '1', acceptedAt: '2026-05-01T00:00:00Z' }
  await register(db, [line({ username: 'boarder', terms })])
  const onboarded: boolean[] = []
  for (const text of ['1', null, '1']) {
    const changed = await change('boarder', 'public_profile', text)
    assert.ok('onboardedNow' in changed)
    onboarded.push(changed.onboardedNow)
  }
  assert.deepEqual(onboarded, [true, false, false])
  assert.deepEqual((await workerNamed(db, 'boarder')).onboardedAt, now)
})

test('a consent that was withdrawn before the terms were accepted onboards no worker', async () => {
  await registerWithoutConsent('thought-again')
  for (const text of ['1', null]) await change('thought-again', 'public_profile', text)
  const terms = { version: '1', acceptedAt: '2026-05-01T00:00:00Z' }
  await register(db, [line({ username: 'thought-again', terms })])
  const { onboardedAt, termsVersion } = await workerNamed(db, 'thought-again')
  assert.deepEqual([onboardedAt, termsVersion], [null, '1'])
})

test('60 concurrent grants and withdrawals: each event is sent once, in order of version, and continues the one before', async () => {
  const workerId = await registerWithoutConsent('crowd')
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      change('crowd', permissions[i % 3] as Permission, i % 2 === 0 ? null : `${i % 5}`),
    ),
  )
  const changed = answers.filter(changes).length
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
  const { consents, consentVersion } = await workerNamed(db, 'crowd')
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

test('a failed transaction leaves neither row nor event', async () => {
  const workerId = await registerWithoutConsent('failing')
  await assert.rejects(
    setConsent(db, 'failing', {
      permission: 'score_sharing',
      textVersion: '1',
      by: '',
      at: now,
    }),
    /violates/,
  )
  assert.deepEqual(await consentEvents(db, workerId), [])
  assert.deepEqual((await workerNamed(db, 'failing')).consents, {})
})

test('an import grants only undecided permissions: an old file undoes neither a withdrawal nor a refusal', async () => {
  await registerWithoutConsent('importing')
  await change('importing', 'public_profile', '1')
  await change('importing', 'public_profile', null)
  await change('importing', 'score_sharing', null)
  const consents = permissions.map((permission) => ({ permission, textVersion: '2' }))
  await register(db, [line({ username: 'importing', consents })])
  const { consents: held, consentVersion } = await workerNamed(db, 'importing')
  assert.deepEqual(
    permissions.map((permission) => [permission, held[permission]?.granted]),
    permissions.map((permission) => [permission, permission === 'search_listing']),
  )
  assert.equal(consentVersion, 4)
})

test('the consent history cannot be rewritten, and the current consent cannot contradict it', async () => {
  const workerId = await registerWithoutConsent('booked')
  await change('booked', 'score_sharing', '1')
  for (const statement of [
    sql`update consent_changes set granted = false where worker_id = ${workerId}`,
    sql`update consent_changes set actor = 'erased', effective_at = now() where worker_id = ${workerId}`,
    sql`delete from consent_changes where worker_id = ${workerId}`,
    sql`update consents set granted = false where worker_id = ${workerId}`,
    sql`insert into consent_changes values (${workerId}, 2, 'score_sharing', false, false, null, 'x', now())`,
    sql`insert into consent_changes values (${workerId}, 2, 'everything', true, null, '1', 'x', now())`,
  ])
    await assert.rejects(db.run(statement), /append-only|stays taken|violates/, statement.text)
})

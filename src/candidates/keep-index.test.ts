/** Nobody who changes a person can forget the index, and the index never shows what is not so any more. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  found,
  indexed,
  names,
  records,
  registerSeekers,
} from '../../test/support/build/candidates.ts'
import {
  changeConsent,
  line,
  now,
  person,
  publicLine,
  register,
} from '../../test/support/build/workers.ts'
import { inTurn } from '../../test/support/fault/in-turn.ts'
import fc from '../../test/support/oracle/fc.ts'
import { type Seeker, searchByHand } from '../../test/support/oracle/search-oracle.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { sql, type Tx } from '../platform/db/db.ts'
import { recordConsent } from '../workers/consent.ts'
import { adoptVocabulary, indexLeftovers, keepingIndex } from './keep-index.ts'
import { candidateSearch } from './search.ts'
import { skillNames } from './skill-names.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
const kept = indexed(db)
const search = candidateSearch(db, names)

beforeEach(async () => {
  await db.run(sql`truncate workers, usernames, search_entries, search_terms, search_queue cascade`)
  await db.run(sql`truncate search_vocabulary`)
})

const find = (q: string): Promise<string[]> => found(search, q)

async function rows(): Promise<{ terms: number; entries: number; queue: number } | undefined> {
  const [counted] = await db.rows<{ terms: number; entries: number; queue: number }>(sql`
    select (select count(*) from search_terms) as terms, (select count(*) from search_entries) as entries,
      (select count(*) from search_queue) as queue`)
  return counted
}

const ada = { username: 'ada', displayName: 'Ada Lovelace', skills: [{ name: 'Java' }] }
const withoutPermission = (permission: string): Record<string, unknown> => {
  const { consents, ...rest } = publicLine(ada)
  const given = Array.isArray(consents) ? consents : []
  return { ...rest, consents: given.filter((consent) => consent.permission !== permission) }
}

test('who is registered with everything is found when the transaction commits', async () => {
  await registerSeekers(db, [ada])
  assert.deepEqual(await find('lovelace'), ['ada'])
  assert.equal((await rows())?.queue, 0)
})

test('who lacks terms or one of the two consents is not in the index; the consent to share a score does not matter', async () => {
  await register(kept, [line(ada)])
  assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 0 })
  for (const permission of ['public_profile', 'search_listing']) {
    await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
    await register(kept, [withoutPermission(permission)])
    assert.deepEqual(await find('ada'), [], permission)
    const granted = { permission, textVersion: '1', by: 'test', at: now } as const
    if (permission === 'search_listing')
      await changeConsent(kept, 'ada', { ...granted, permission: 'search_listing' })
    else await changeConsent(kept, 'ada', { ...granted, permission: 'public_profile' })
    assert.deepEqual(await find('ada'), ['ada'], permission)
  }
  await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
  await register(kept, [withoutPermission('score_sharing')])
  assert.deepEqual(await find('ada'), ['ada'])
})

test('a consent that is withdrawn takes the person out with everything of theirs, and given again brings them back', async () => {
  await registerSeekers(db, [ada])
  const wish = { permission: 'search_listing', by: 'test', at: now } as const
  await changeConsent(kept, 'ada', { ...wish, textVersion: null })
  assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 0 })
  await changeConsent(kept, 'ada', { ...wish, textVersion: '2' })
  assert.deepEqual(await find('java'), ['ada'])
})

test('an edit replaces what stood there: skills, name and username', async () => {
  const externalId = '7'
  await register(kept, [publicLine({ ...ada, externalId })])
  const edited = { username: 'countess', displayName: 'Augusta King', externalId }
  await register(kept, [publicLine({ ...edited, skills: [{ name: 'Latin' }] })])
  for (const gone of ['java', '@ada', 'lovelace', 'ada'])
    assert.deepEqual(await find(gone), [], gone)
  for (const q of ['latin', '@countess', 'king']) assert.deepEqual(await find(q), ['countess'], q)
})

test('a transaction that rolls back leaves the index as it was', async () => {
  await registerSeekers(db, [ada])
  const before = await rows()
  const failed = kept.transaction(async (tx) => {
    await tx.run(sql`update profiles set display_name = 'Somebody Else'`)
    throw new Error('no')
  })
  await assert.rejects(failed, /^Error: no$/)
  assert.deepEqual(await rows(), before)
  assert.deepEqual(await find('lovelace'), ['ada'])
})

for (const [what, statement] of [
  ['a profile', sql`update profiles set display_name = 'Augusta King'`],
  ['a skill that goes', sql`delete from profile_skills`],
  ['a skill that changes', sql`update profile_skills set verified = true`],
  [
    'a skill that comes',
    sql`insert into profile_skills select worker_id, 'Latin', 9, false from profiles`,
  ],
] as const)
  test(`a statement that knows nothing of the index changes ${what}: not found as before, found anew by the worker`, async () => {
    await registerSeekers(db, [ada])
    await db.run(statement)
    assert.deepEqual(await find('ada'), [])
    assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 1 })
    assert.equal(await indexLeftovers(db, names), 1)
    assert.deepEqual(await find('ada'), ['ada'])
    assert.equal((await rows())?.queue, 0)
  })

for (const [what, statement] of [
  ['a consent that goes', sql`delete from consents where permission = 'search_listing'`],
  ['the onboarding undone', sql`update workers set onboarded_at = null`],
  ['a profile that goes', sql`delete from profiles`],
] as const)
  test(`after ${what}, by whatever statement, the person is in no index and no queue`, async () => {
    await registerSeekers(db, [ada])
    await db.run(statement)
    assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 0 })
  })

test('what changes nothing that search knows leaves the index alone', async () => {
  await registerSeekers(db, [ada])
  const before = await rows()
  await db.run(sql`update workers set consent_version = consent_version + 1`)
  assert.deepEqual(await rows(), before)
})

test('another vocabulary: people are found by its names once the worker has been there, and found all the time', async () => {
  await registerSeekers(db, [ada])
  assert.equal(await adoptVocabulary(db, names), true)
  assert.equal(await indexLeftovers(db, names), 1)
  assert.equal(await adoptVocabulary(db, names), false)
  const later = skillNames([...records, { label: 'Coffee', aliases: ['Java'] }])
  assert.equal(await adoptVocabulary(db, later), true)
  assert.deepEqual(await find('java'), ['ada'])
  assert.equal(await indexLeftovers(db, later), 1)
  assert.deepEqual(await find('coffee'), ['ada'])
})

test('many left behind are taken up by two workers at once, each of them once', async () => {
  const people = Array.from({ length: 700 }, (_, i) => ({ ...ada, username: `ada-${i}` }))
  await registerSeekers(db, people)
  await db.run(sql`update profiles set title = 'Countess'`)
  const taken = await Promise.all([indexLeftovers(db, names), indexLeftovers(db, names)])
  assert.equal(taken[0] + taken[1], 700)
  assert.equal((await rows())?.entries, 700)
  assert.equal((await find('countess')).length, 50)
})

test('two who change one person at once: the index has what both have done', async () => {
  await registerSeekers(db, [ada])
  const { workerId } = await person(db, 'ada')
  await Promise.all([
    kept.transaction((tx) =>
      tx.run(sql`update profiles set title = 'Countess' where worker_id = ${workerId}`),
    ),
    kept.transaction((tx) =>
      tx.run(sql`update profile_skills set name = 'Latin' where worker_id = ${workerId}`),
    ),
  ])
  assert.deepEqual(await find('countess'), ['ada'])
  assert.deepEqual(await find('latin'), ['ada'])
  assert.deepEqual(await find('java'), [])
})

test('who is taken up by the worker while they take a consent back is not found afterwards', async () => {
  await registerSeekers(db, [ada])
  await db.run(sql`update profiles set title = 'Countess'`)
  const wish = { permission: 'search_listing', textVersion: null, by: 'test', at: now } as const
  const withdraw = (tx: Tx) => recordConsent(tx, 'ada', wish)
  await inTurn(db, withdraw, () => indexLeftovers(db, names))
  assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 0 })
})

test('a transaction takes up whom it has changed itself; whom others have left behind is the worker’s to lock and take up', async () => {
  await registerSeekers(db, [ada, { ...ada, username: 'grace' }])
  await db.run(sql`update profiles set title = 'Countess' where username = 'grace'`)
  await kept.transaction((tx) =>
    tx.run(sql`update profiles set title = 'Countess' where username = 'ada'`),
  )
  assert.deepEqual(await find('countess'), ['ada'])
  assert.equal((await rows())?.queue, 1)
})

test('who has changed nobody pays for no vocabulary', async () => {
  const asked = keepingIndex(db, () => assert.fail('the names were asked for'))
  await asked.transaction((tx) => tx.rows(sql`select 1`))
})

test('an index that was emptied grows again out of the queue, as docs/search.md says', async () => {
  await registerSeekers(db, [ada])
  await register(kept, [line({ username: 'unlisted', displayName: 'Ada Unlisted' })])
  const before = await rows()
  await db.run(sql`truncate search_entries, search_terms`)
  await db.run(sql`
    insert into search_queue select id, pg_current_xact_id() from workers on conflict do nothing`)
  assert.equal(await indexLeftovers(db, names), 2)
  assert.deepEqual(await rows(), before)
  assert.deepEqual(await find('ada'), ['ada'])
})

const slot = fc.integer({ min: 0, max: 4 })
const word = fc.constantFrom(
  'java',
  'javascript',
  'js',
  'jdk',
  'c',
  'ml',
  'learning',
  'aa',
  'latin',
)
const skill = fc.oneof(word, fc.constantFrom(...records.map(({ label }) => label)))
const profile = fc.record({
  displayName: fc.constantFrom('Jan', 'Aaron', 'Carl Java'),
  title: fc.option(fc.constantFrom('Java writer', 'Teacher')),
  skills: fc.uniqueArray(fc.record({ name: skill, verified: fc.boolean() }), {
    selector: ({ name }) => name.toLowerCase(),
    maxLength: 4,
  }),
})
type Step = { slot: number; profile: Omit<Seeker, 'username'> } | { slot: number; listed: boolean }
const step = fc.oneof(fc.record({ slot, profile }), fc.record({ slot, listed: fc.boolean() }))
const queries = ['ja', 'java', 'jd', 'js', 'ml', 'le', 'aa', 'c ', '@ja', 'java 1', 'teach']

test('after any sequence of edits and consents, a search finds what a scan of all candidates finds', async () => {
  const steps = fc.array(fc.tuple(step, fc.subarray(queries)), { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
      const people = new Map<string, { seeker: Seeker; listed: boolean }>()
      for (const [change, asked] of taken) {
        await take(change, people)
        const listed = [...people.values()].flatMap((one) => (one.listed ? [one.seeker] : []))
        for (const q of asked) {
          const expected = searchByHand(listed, records, { q, limit: 3 })
          assert.deepEqual(await found(search, q, 3), expected, q)
        }
      }
    }),
    { numRuns: 40 },
  )
})

async function take(
  change: Step,
  people: Map<string, { seeker: Seeker; listed: boolean }>,
): Promise<void> {
  const username = `java-${change.slot}`
  const known = people.get(username)
  if ('profile' in change) {
    if (known?.listed === false) return
    const seeker = { username, ...change.profile }
    await register(kept, [publicLine({ ...seeker, externalId: username })])
    people.set(username, { seeker, listed: true })
    return
  }
  if (known === undefined) return
  const textVersion = change.listed ? '1' : null
  const wish = { permission: 'search_listing', textVersion, by: 'test', at: now } as const
  await changeConsent(kept, username, wish)
  people.set(username, { ...known, listed: change.listed })
}

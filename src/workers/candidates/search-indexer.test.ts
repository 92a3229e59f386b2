/** Every change of a worker reaches the search index, and the index never shows outdated data. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  found,
  indexed,
  names,
  records,
  registerSeekers,
} from '../../../test/support/build/candidates.ts'
import {
  line,
  now,
  publicLine,
  register,
  setConsent,
  workerNamed,
} from '../../../test/support/build/workers.ts'
import { inTurn } from '../../../test/support/fault/in-turn.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { type Seeker, searchByHand } from '../../../test/support/oracle/search-oracle.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql, type Tx } from '../../platform/db/db.ts'
import { readsOfPrimary } from '../../platform/db/replicas.ts'
import { recordConsent } from '../consent.ts'
import { candidateSearch } from './search.ts'
import {
  adoptVocabulary,
  indexNewWorkers,
  indexQueuedWorkers,
  withSearchIndex,
} from './search-indexer.ts'
import { skillNames } from './skill-names.ts'
import { holdNewQueued } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
const indexedDb = indexed(db)
const search = candidateSearch(readsOfPrimary(db), names)

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

test('a worker with terms and consents is found when the registration commits', async () => {
  await registerSeekers(db, [ada])
  assert.deepEqual(await find('lovelace'), ['ada'])
  assert.equal((await rows())?.queue, 0)
})

test('the index holds a worker only with accepted terms and the consents to a public profile and to listing', async () => {
  await register(indexedDb, [line(ada)])
  assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 0 })
  for (const permission of ['public_profile', 'search_listing']) {
    await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
    await register(indexedDb, [withoutPermission(permission)])
    assert.deepEqual(await find('ada'), [], permission)
    const granted = { permission, textVersion: '1', by: 'test', at: now } as const
    if (permission === 'search_listing')
      await setConsent(indexedDb, 'ada', { ...granted, permission: 'search_listing' })
    else await setConsent(indexedDb, 'ada', { ...granted, permission: 'public_profile' })
    assert.deepEqual(await find('ada'), ['ada'], permission)
  }
  await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
  await register(indexedDb, [withoutPermission('score_sharing')])
  assert.deepEqual(await find('ada'), ['ada'])
})

test('a withdrawn consent removes all entries of the worker, and a new consent adds them again', async () => {
  await registerSeekers(db, [ada])
  const request = { permission: 'search_listing', by: 'test', at: now } as const
  await setConsent(indexedDb, 'ada', { ...request, textVersion: null })
  assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 0 })
  await setConsent(indexedDb, 'ada', { ...request, textVersion: '2' })
  assert.deepEqual(await find('java'), ['ada'])
})

test('an edit replaces the skills, the name and the username in the index', async () => {
  const externalId = '7'
  await register(indexedDb, [publicLine({ ...ada, externalId })])
  const edited = { username: 'countess', displayName: 'Augusta King', externalId }
  await register(indexedDb, [publicLine({ ...edited, skills: [{ name: 'Latin' }] })])
  for (const removed of ['java', '@ada', 'lovelace', 'ada'])
    assert.deepEqual(await find(removed), [], removed)
  for (const q of ['latin', '@countess', 'king']) assert.deepEqual(await find(q), ['countess'], q)
})

test('a transaction that rolls back leaves the index as it was', async () => {
  await registerSeekers(db, [ada])
  const before = await rows()
  const failed = indexedDb.transaction(async (tx) => {
    await tx.run(sql`update profiles set display_name = 'Other Name'`)
    throw new Error('no')
  })
  await assert.rejects(failed, /^Error: no$/)
  assert.deepEqual(await rows(), before)
  assert.deepEqual(await find('lovelace'), ['ada'])
})

for (const [what, statement] of [
  ['a changed profile', sql`update profiles set display_name = 'Augusta King'`],
  ['a deleted skill', sql`delete from profile_skills`],
  ['a changed skill', sql`update profile_skills set verified = true`],
  [
    'a new skill',
    sql`insert into profile_skills select worker_id, 'Latin', 9, false from profiles`,
  ],
] as const)
  test(`${what}, by a plain statement: the old entry is gone at once, and the jobs process adds the new one`, async () => {
    await registerSeekers(db, [ada])
    await db.run(statement)
    assert.deepEqual(await find('ada'), [])
    assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 1 })
    assert.equal(await indexQueuedWorkers(db, names), 1)
    assert.deepEqual(await find('ada'), ['ada'])
    assert.equal((await rows())?.queue, 0)
  })

for (const [what, statement] of [
  ['a deleted consent', sql`delete from consents where permission = 'search_listing'`],
  ['an undone onboarding', sql`update workers set onboarded_at = null`],
  ['a deleted profile', sql`delete from profiles`],
] as const)
  test(`after ${what} the worker is neither in the index nor in the queue`, async () => {
    await registerSeekers(db, [ada])
    await db.run(statement)
    assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 0 })
  })

test('a change of a worker that search does not show leaves the index unchanged', async () => {
  await registerSeekers(db, [ada])
  const before = await rows()
  await db.run(sql`update workers set consent_version = consent_version + 1`)
  assert.deepEqual(await rows(), before)
})

test('another vocabulary: workers stay found by the old names until the jobs process indexes the new ones', async () => {
  await registerSeekers(db, [ada])
  assert.equal(await adoptVocabulary(db, names), true)
  assert.equal(await indexQueuedWorkers(db, names), 1)
  assert.equal(await adoptVocabulary(db, names), false)
  const later = skillNames([...records, { label: 'Coffee', aliases: ['Java'] }])
  assert.equal(await adoptVocabulary(db, later), true)
  assert.deepEqual(await find('java'), ['ada'])
  assert.equal(await indexQueuedWorkers(db, later), 1)
  assert.deepEqual(await find('coffee'), ['ada'])
})

test('two jobs processes index a long queue together, and each worker once', async () => {
  const workers = Array.from({ length: 700 }, (_, i) => ({ ...ada, username: `ada-${i}` }))
  await registerSeekers(db, workers)
  await db.run(sql`update profiles set title = 'Countess'`)
  const taken = await Promise.all([indexQueuedWorkers(db, names), indexQueuedWorkers(db, names)])
  assert.equal(taken[0] + taken[1], 700)
  assert.equal((await rows())?.entries, 700)
  assert.equal((await find('countess')).length, 50)
})

test('two concurrent changes of one worker: the index has both', async () => {
  await registerSeekers(db, [ada])
  const { workerId } = await workerNamed(db, 'ada')
  await Promise.all([
    indexedDb.transaction((tx) =>
      tx.run(sql`update profiles set title = 'Countess' where worker_id = ${workerId}`),
    ),
    indexedDb.transaction((tx) =>
      tx.run(sql`update profile_skills set name = 'Latin' where worker_id = ${workerId}`),
    ),
  ])
  assert.deepEqual(await find('countess'), ['ada'])
  assert.deepEqual(await find('latin'), ['ada'])
  assert.deepEqual(await find('java'), [])
})

test('a worker who withdraws a consent while the jobs process indexes the queue is not found afterwards', async () => {
  await registerSeekers(db, [ada])
  await db.run(sql`update profiles set title = 'Countess'`)
  const request = { permission: 'search_listing', textVersion: null, by: 'test', at: now } as const
  const withdraw = (tx: Tx) => recordConsent(tx, 'ada', request)
  await inTurn(db, withdraw, () => indexQueuedWorkers(db, names))
  assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 0 })
})

test('a transaction indexes only the workers that it changed; the jobs process indexes the others', async () => {
  await registerSeekers(db, [ada, { ...ada, username: 'grace' }])
  await db.run(sql`update profiles set title = 'Countess' where username = 'grace'`)
  await indexedDb.transaction((tx) =>
    tx.run(sql`update profiles set title = 'Countess' where username = 'ada'`),
  )
  assert.deepEqual(await find('countess'), ['ada'])
  assert.equal((await rows())?.queue, 1)
})

test('a transaction that changes no worker does not load the vocabulary', async () => {
  const unchanged = withSearchIndex(db, () => assert.fail('the names were loaded'))
  await unchanged.transaction((tx) => tx.rows(sql`select 1`))
})

test('an emptied index is rebuilt from the queue, by the statements of docs/search-index.md', async () => {
  await registerSeekers(db, [ada])
  await register(indexedDb, [line({ username: 'unlisted', displayName: 'Ada Unlisted' })])
  const before = await rows()
  await db.run(sql`truncate search_entries, search_terms`)
  await db.run(sql`
    insert into search_queue select id, pg_current_xact_id() from workers on conflict do nothing`)
  assert.equal(await indexQueuedWorkers(db, names), 2)
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
      const workers = new Map<string, { seeker: Seeker; listed: boolean }>()
      for (const [change, asked] of taken) {
        await take(change, workers)
        const listed = [...workers.values()].flatMap((one) => (one.listed ? [one.seeker] : []))
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
  workers: Map<string, { seeker: Seeker; listed: boolean }>,
): Promise<void> {
  const username = `java-${change.slot}`
  const known = workers.get(username)
  if ('profile' in change) {
    if (known?.listed === false) return
    const seeker = { username, ...change.profile }
    await register(indexedDb, [publicLine({ ...seeker, externalId: username })])
    workers.set(username, { seeker, listed: true })
    return
  }
  if (known === undefined) return
  const textVersion = change.listed ? '1' : null
  const request = { permission: 'search_listing', textVersion, by: 'test', at: now } as const
  await setConsent(indexedDb, username, request)
  workers.set(username, { ...known, listed: change.listed })
}

const deferring = withSearchIndex(db, () => names, true)
const queueEarlier = sql`update search_queue set queued_at = queued_at - interval '31 seconds'`

test('an import leaves new workers to its end, and indexes edited workers with their batch', async () => {
  await registerSeekers(db, [ada])
  const edited = publicLine({ ...ada, title: 'Countess' })
  const fresh = publicLine({ username: 'grace', displayName: 'Grace Hopper' })
  await register(deferring, [edited, fresh])
  assert.deepEqual(await find('countess'), ['ada'])
  assert.deepEqual([await find('grace'), (await rows())?.queue], [[], 1])
  await indexNewWorkers(db, () => names)
  assert.deepEqual([await find('grace'), (await rows())?.queue], [['grace'], 0])
})

test('the jobs process indexes the new workers of an import only if the import seems to have died', async () => {
  await register(deferring, [publicLine(ada)])
  assert.deepEqual([await indexQueuedWorkers(db, names), await find('ada')], [0, []])
  await db.run(queueEarlier)
  await db.transaction(async (tx) => {
    await holdNewQueued(tx)
    assert.equal(await indexQueuedWorkers(db, names), 0)
  })
  assert.deepEqual([await indexQueuedWorkers(db, names), await find('ada')], [1, ['ada']])
})

test('a worker who withdraws a consent before the import ends is never found', async () => {
  await register(deferring, [publicLine(ada), publicLine({ ...ada, username: 'grace' })])
  const request = { permission: 'search_listing', textVersion: null, by: 'test', at: now } as const
  await setConsent(deferring, 'ada', request)
  const withdraw = (tx: Tx) => recordConsent(tx, 'grace', request)
  await inTurn(db, withdraw, () => indexNewWorkers(db, () => names))
  assert.deepEqual(await rows(), { terms: 0, entries: 0, queue: 0 })
})

const permissions = ['public_profile', 'search_listing', 'score_sharing']
const wholeLine = fc.record({
  profile,
  consents: fc.shuffledSubarray(permissions),
  hasTerms: fc.boolean(),
  isVerified: fc.boolean(),
})
type Lines = Record<string, unknown>[]
const ways: ((lines: Lines) => Promise<unknown>)[] = [
  (lines) => register(indexedDb, lines),
  (lines) => register(deferring, lines).then(() => indexNewWorkers(db, () => names)),
  async (lines) => {
    for (const { username, displayName, skills, consents, ...more } of lines)
      for (const part of [{}, { skills }, { consents }, more])
        await register(indexedDb, [line({ username, displayName, ...part })])
  },
]

test('workers registered at once, in an import, or field by field have the same rows and are found alike', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(wholeLine, { minLength: 1, maxLength: 4 }), async (workers) => {
      const lines = workers.map(({ profile: { title, ...shown }, ...given }, i) => {
        const { terms, identity } = publicLine()
        return line({
          username: `java-${i}`,
          ...shown,
          ...(title !== null && { title }),
          consents: given.consents.map((permission) => ({ permission, textVersion: '1' })),
          ...(given.hasTerms && { terms }),
          ...(given.isVerified && { identity }),
        })
      })
      const states: unknown[] = []
      for (const registerLines of ways) {
        await db.run(sql`
          truncate workers, usernames, search_entries, search_terms, webhook_events cascade`)
        await registerLines(lines)
        states.push(await everything())
      }
      for (const state of states) assert.deepEqual(state, states[0])
    }),
    { numRuns: 30 },
  )
})

/** Returns every row about workers except ids. */
function everything(): Promise<object[]> {
  return db.rows<object>(sql`
    select to_jsonb(w) - 'id' as worker, to_jsonb(p) - 'worker_id' as profile,
      to_jsonb(e) - 'worker_id' as entry, to_jsonb(i) - 'worker_id' as identity,
      exists (select from readable_profiles r where r.worker_id = w.id) as readable,
      (select jsonb_agg(to_jsonb(s) - 'worker_id' order by place) from profile_skills s
        where s.worker_id = w.id) as skills,
      (select jsonb_agg(to_jsonb(c) - 'worker_id' order by consent_version) from consents c
        where c.worker_id = w.id) as consents,
      (select jsonb_agg(to_jsonb(c) - 'worker_id' order by consent_version) from consent_changes c
        where c.worker_id = w.id) as consent_changes,
      (select jsonb_agg(to_jsonb(c) - 'worker_id' order by change) from identity_changes c
        where c.worker_id = w.id) as identity_changes,
      (select jsonb_agg((v.body::jsonb -> 'data') - 'workerId' order by seq) from webhook_events v
        where v.worker_id = w.id) as events,
      (select jsonb_agg(to_jsonb(t) order by kind, term, rank) from search_terms t
        where t.username = p.username) as terms,
      (select count(*) from search_queue) as queue
    from workers w join profiles p on p.worker_id = w.id
    left join search_entries e on e.worker_id = w.id
    left join identities i on i.worker_id = w.id
    order by p.username`)
}

/** What a search found is kept, and never served when it is not so any more: whoever changed it, wherever, and whenever they commit. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import {
  found,
  indexed,
  look,
  names,
  records,
  registerSeekers,
} from '../../test/support/build/candidates.ts'
import {
  changeConsent,
  now,
  publicLine,
  register,
  registrationOf,
} from '../../test/support/build/workers.ts'
import fc from '../../test/support/oracle/fc.ts'
import { type Seeker, searchByHand } from '../../test/support/oracle/search-oracle.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { type Queryable, type Statement, sql, type Tx } from '../platform/db/db.ts'
import { registerOrEditWorkers } from '../workers/register.ts'
import { renewSearchEpoch } from './keep-index.ts'
import type { SearchResult } from './schema.ts'
import { candidateSearch } from './search.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
const everybody = indexed(db)

beforeEach(async () => {
  await db.run(sql`truncate workers, usernames, search_entries, search_terms, search_queue cascade`)
  await renewSearchEpoch(db)
})

const skilled = (username: string, ...skills: string[]): Seeker => {
  return { username, displayName: 'Nobody Known', skills: skills.map((name) => ({ name })) }
}

async function stands(q: string, between: () => Promise<unknown>): Promise<boolean> {
  const { seen } = await look(db, q)
  assert.ok(seen !== null)
  await between()
  return (await look(db, q, seen)).stands
}

test('it stands while nobody changes anything, and where somebody changes what other letters lead to', async () => {
  await registerSeekers(db, [skilled('ada', 'Java')])
  assert.equal(await stands('java', async () => {}), true)
  assert.equal(await stands('java', () => registerSeekers(db, [skilled('zoe', 'Latin')])), true)
  assert.equal(await stands('nobody', () => registerSeekers(db, [skilled('eve', 'Chess')])), false)
})

for (const [q, who, why] of [
  ['java', skilled('bob', 'Java'), 'a skill'],
  ['jav', skilled('javier'), 'a handle'],
  ['@jav', skilled('javier'), 'a handle, of those alone'],
  ['ja', { username: 'bob', displayName: 'Bob Jansen' }, 'a word of a name'],
  ['jd', skilled('bob', 'Java'), 'another name of a skill, which stands under its label'],
  ['ansi c', skilled('bob', 'C'), 'another name of a label of one letter'],
  ['learning', skilled('bob', 'Machine learning'), 'a later word of a label'],
] as const)
  test(`it falls when somebody comes who is found by ${why}`, async () => {
    await registerSeekers(db, [skilled('ada', 'Latin')])
    assert.equal(await stands(q, () => registerSeekers(db, [who])), false)
  })

test('it falls when what is shown of somebody changes, though they are found as before', async () => {
  await register(everybody, [publicLine({ ...skilled('ada', 'Java'), externalId: '1' })])
  const search = candidateSearch(db, names)
  const title = async () =>
    (JSON.parse(await search('java', 18)) as SearchResult).candidates[0]?.title
  assert.equal(await title(), null)
  const edited = { ...skilled('ada', 'Java'), externalId: '1', title: 'Countess' }
  await register(everybody, [publicLine(edited)])
  assert.equal(await title(), 'Countess')
})

test('it falls for every process when somebody withdraws, at the latest with the commit', async () => {
  await registerSeekers(db, [skilled('ada', 'Java'), skilled('bob', 'Java')])
  const nodes = [candidateSearch(db, names), candidateSearch(db, names)]
  const shown = () => Promise.all(nodes.map((search) => found(search, 'java')))
  for (let i = 0; i < 2; i++)
    assert.deepEqual(await shown(), [
      ['ada', 'bob'],
      ['ada', 'bob'],
    ])
  const wish = { permission: 'search_listing', textVersion: null, by: 'test', at: now } as const
  await changeConsent(everybody, 'ada', wish)
  assert.deepEqual(await shown(), [['bob'], ['bob']])
})

test('a change that was under way when it was found counts as soon as it is committed, and not before', async () => {
  await registerSeekers(db, [skilled('ada', 'Java')])
  const search = candidateSearch(db, names)
  const come = (tx: Tx, who: Seeker) =>
    registerOrEditWorkers(tx, [registrationOf(publicLine({ ...who }))], { by: 'test', at: now })
  await everybody.transaction(async (older) => {
    await come(older, skilled('bob', 'Java'))
    // Committed before the older one, so that numbers of transactions and commits are in another order.
    await registerSeekers(db, [skilled('carl', 'Java')])
    for (let i = 0; i < 2; i++) assert.deepEqual(await found(search, 'java'), ['ada', 'carl'])
  })
  assert.deepEqual(await found(search, 'java'), ['ada', 'bob', 'carl'])
})

test('what was rolled back leaves it standing', async () => {
  await registerSeekers(db, [skilled('ada', 'Java')])
  const fail = () =>
    everybody.transaction(async (tx) => {
      await tx.run(sql`update profiles set title = 'Countess'`)
      throw new Error('no')
    })
  assert.equal(await stands('java', () => assert.rejects(fail, /^Error: no$/)), true)
})

test('it falls with any other way to change the index, an update and an emptying', async () => {
  await registerSeekers(db, [skilled('ada', 'Java')])
  const update = () => db.run(sql`update search_entries set card = card`)
  assert.equal(await stands('java', update), false)
  const empty = () => db.run(sql`truncate search_entries, search_terms`)
  assert.equal(await stands('java', empty), false)
})

test('sixteen people who change at once note their letters; of seventeen one note says that any may have changed', async () => {
  const people = (count: number) =>
    Array.from({ length: count }, (_, i) => skilled(`bob-${count}-${i}`, 'Latin'))
  assert.equal(await stands('java', () => registerSeekers(db, people(16))), true)
  assert.equal(await stands('java', () => registerSeekers(db, people(17))), false)
  const [last] = await db.rows<{ letters: string[] }>(sql`
    select array_agg(letters) as letters from search_changes group by changed_in order by changed_in desc limit 1`)
  assert.deepEqual(last?.letters, [''])
})

test('sixteen changes that were seen are too many to look at: it is looked up anew until the oldest transaction has ended', async () => {
  await db.transaction(async (oldest) => {
    await oldest.rows(sql`select pg_current_xact_id()`)
    for (let i = 0; i < 15; i++) await registerSeekers(db, [skilled(`bob-${i}`, 'Java')])
    assert.equal(await stands('java', async () => {}), true)
    await registerSeekers(db, [skilled('bob-15', 'Java')])
    assert.equal(await stands('java', async () => {}), false)
  })
  assert.equal(await stands('java', async () => {}), true)
})

test('of another epoch nothing stands, and its notes are gone, however many', async () => {
  await registerSeekers(db, [skilled('ada', 'Java')])
  const count = sql`select count(*) as notes from search_changes`
  const notes = async () => (await db.rows<{ notes: number }>(count))[0]?.notes
  await db.run(sql`
    insert into search_changes select 'zz', n::text::xid8 from generate_series(1, 100001) as n`)
  assert.ok(Number(await notes()) > 100_001)
  assert.equal(await stands('java', () => renewSearchEpoch(db)), false)
  assert.equal(await notes(), 0)
  assert.equal(await stands('java', async () => {}), true)
})

test('after a crash of the database, which empties both tables, nothing is kept until the worker begins an epoch', async () => {
  await registerSeekers(db, [skilled('ada', 'Java')])
  const { seen } = await look(db, 'java')
  await db.run(sql`truncate search_changes, search_epoch`)
  assert.deepEqual(await look(db, 'java', seen), { stands: false, seen: null })
  const search = candidateSearch(db, names)
  assert.deepEqual(await found(search, 'java'), ['ada'])
  await registerSeekers(db, [skilled('bob', 'Java')])
  assert.deepEqual(await found(search, 'java'), ['ada', 'bob'])
  await renewSearchEpoch(db)
  assert.deepEqual(await look(db, 'java', seen).then(({ stands }) => stands), false)
  assert.equal(await stands('java', async () => {}), true)
})

test('copies of one database are in epochs of their own', async () => {
  const epochs: unknown[] = []
  for (const copy of [await testDatabase(), await testDatabase()]) {
    epochs.push(...(await copy.db.rows(sql`select search_epoch_now() as epoch`)))
    await copy.drop()
  }
  assert.notDeepEqual(epochs[0], epochs[1])
})

test('what a single letter found never stands', async () => {
  for (const q of ['c ', '@c', '@']) assert.equal(await stands(q, async () => {}), false, q)
})

test('each limit, and a search of handles alone, is a question of its own; the query is answered as it was asked', async () => {
  await registerSeekers(db, [skilled('java-ann'), skilled('bob', 'Java')])
  const search = candidateSearch(db, names)
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(await found(search, 'java'), ['java-ann', 'bob'])
    assert.deepEqual(await found(search, 'java', 1), ['java-ann'])
    assert.deepEqual(await found(search, '@java'), ['java-ann'])
  }
  const { query, resultCount }: SearchResult = JSON.parse(await search('Ja\u200bVA"', 18))
  assert.deepEqual([query, resultCount], ['Ja\u200bVA"', 0])
  assert.equal((JSON.parse(await search('JAVA', 18)) as SearchResult).query, 'JAVA')
})

test('the next one to ask compares with what was seen last; of another epoch nothing stays in the process', async () => {
  await registerSeekers(db, [skilled('ada', 'Java')])
  const sent: string[] = []
  const heard: Queryable = {
    ...db,
    rows(statement) {
      sent.push(String(statement.values[5]))
      return db.rows(statement)
    },
  }
  const search = candidateSearch(heard, names)
  const ask = async (q: string): Promise<string | undefined> => {
    await search(q, 18)
    return sent.at(-1)
  }
  assert.equal(await ask('java'), '')
  await registerSeekers(db, [skilled('zoe', 'Latin')])
  const first = await ask('java')
  assert.notEqual(first, '')
  assert.notEqual(await ask('java'), first)
  for (const q of ['c ', 'c ']) assert.equal(await ask(q), '', 'a single letter is not kept')
  await renewSearchEpoch(db)
  assert.equal(await ask('latin'), '')
  assert.equal(await ask('java'), '')
})

test('while others change people, commit late and roll back, what is kept is what the same snapshot finds', async () => {
  const crowd = Array.from({ length: 24 }, (_, i) => skilled(`java-${i}`, 'Java', 'Latin'))
  await registerSeekers(db, crowd)
  const searched = new AbortController()
  const write = async (writer: number): Promise<void> => {
    for (let i = 0; !searched.signal.aborted; i++)
      await everybody
        .transaction(async (tx) => {
          const username = `java-${writer * 8 + (i % 8)}`
          const skill = i % 3 === 0 ? 'Javelin' : 'Java'
          await tx.run(sql`
            update profile_skills set name = ${skill}, verified = not verified
            where place = 1 and worker_id = (select worker_id from profiles where username = ${username})`)
          for (let turns = (i * 7) % 40; turns > 0; turns--) await turn()
          if (i % 5 === 4) throw new Error('rolled back')
        })
        .catch((error: Error) => assert.equal(error.message, 'rolled back'))
  }
  const writing = [write(0), write(1), write(2)]
  try {
    const stood = new Set((await Promise.all([compare(150), compare(150)])).flat())
    assert.equal(stood.size, 2, 'some of it stood, and some did not')
  } finally {
    searched.abort()
    await Promise.all(writing)
  }
})

/** Whether what was kept stood, each time. Both searches of a round are made in one snapshot. */
async function compare(rounds: number): Promise<boolean[]> {
  let here: Queryable = db
  let looked = 0
  const through: Queryable = {
    run: (statement) => here.run(statement),
    async rows<Row>(statement: Statement) {
      const rows = await here.rows<Row & { cards?: string }>(statement)
      if (rows[0]?.cards !== '') looked++
      return rows
    },
  }
  const search = candidateSearch(through, names)
  const lookUp = candidateSearch(through, names, 0)
  const stood: boolean[] = []
  for (let round = 0; round < rounds; round++) {
    const q = ['java', 'jav', 'latin', 'known', 'javelin', 'zz'][round % 6] ?? ''
    await db.transaction(async (tx) => {
      await tx.run(sql`set transaction isolation level repeatable read`)
      here = tx
      looked = 0
      assert.equal(await search(q, 18), await lookUp(q, 18), q)
      stood.push(looked === 1)
    })
    // Seldom enough that what nobody is found by stands more often than it falls, at any pace.
    if (round % 30 === 29) await renewSearchEpoch(db)
  }
  return stood
}

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
type Step =
  | { slot: number; profile: Omit<Seeker, 'username'> }
  | { slot: number; listed: boolean }
  | 'renew'
const step = fc.oneof(
  fc.record({ slot, profile }),
  fc.record({ slot, listed: fc.boolean() }),
  fc.constant('renew' as const),
)
const questions = ['ja', 'java', 'jd', 'js', 'ml', 'le', 'aa', 'c ', '@ja', 'java 1', 'teach']

test('whatever people do, every process answers what a look at every person finds', async () => {
  const steps = fc.array(fc.tuple(step, fc.subarray(questions)), { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
      const nodes = [candidateSearch(db, names), candidateSearch(db, names, 2_000)]
      const people = new Map<string, { seeker: Seeker; listed: boolean }>()
      for (const [what, asked] of taken) {
        await take(what, people)
        const listed = [...people.values()].flatMap((one) => (one.listed ? [one.seeker] : []))
        for (const q of asked)
          for (const search of nodes) {
            const expected = searchByHand(listed, records, { q, limit: 3 })
            assert.deepEqual(await found(search, q, 3), expected, q)
          }
      }
    }),
    { numRuns: 40 },
  )
})

async function take(
  what: Step,
  people: Map<string, { seeker: Seeker; listed: boolean }>,
): Promise<void> {
  if (what === 'renew') return renewSearchEpoch(db)
  const username = `java-${what.slot}`
  const known = people.get(username)
  if ('profile' in what) {
    if (known?.listed === false) return
    const seeker = { username, ...what.profile }
    await register(everybody, [publicLine({ ...seeker, externalId: username })])
    people.set(username, { seeker, listed: true })
    return
  }
  if (known === undefined) return
  const textVersion = what.listed ? '1' : null
  const wish = { permission: 'search_listing', textVersion, by: 'test', at: now } as const
  await changeConsent(everybody, username, wish)
  people.set(username, { ...known, listed: what.listed })
}

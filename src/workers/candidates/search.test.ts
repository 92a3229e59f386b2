/** The order of search (decision D35): the index finds what a scan of all candidates finds. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { found, names, records, registerSeekers } from '../../../test/support/build/candidates.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { type Seeker, searchByHand } from '../../../test/support/oracle/search-oracle.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { readsOfPrimary } from '../../platform/db/replicas.ts'
import type { SearchResult } from './schema.ts'
import { candidateSearch, indexSearchOf, searchOf } from './search.ts'
import { placeOfCursor, start } from './search-hit.ts'
import { adoptVocabulary, indexQueuedWorkers } from './search-indexer.ts'
import { skillNames } from './skill-names.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
const search = candidateSearch(readsOfPrimary(db), names)

beforeEach(async () => {
  await db.run(sql`truncate workers, usernames, search_entries, search_terms, search_queue cascade`)
})

const usernames = (q: string, limit?: number): Promise<string[]> => found(search, q, limit)

const skilled = (username: string, ...skills: { name: string; verified?: boolean }[]): Seeker => {
  return { username, displayName: 'Nobody Known', skills }
}

test('kinds of match rank in this order: handle, handle prefix, skill, skill prefix, word of the name, word of the title', async () => {
  await registerSeekers(db, [
    { username: 'zz-title', displayName: 'Z', title: 'Writer of java.' },
    { username: 'zz-name', displayName: 'Maria-Java' },
    skilled('zz-prefix', { name: 'JavaScript' }),
    skilled('zz-alias', { name: 'Site reliability' }),
    skilled('zz-skill', { name: 'Java' }),
    { username: 'java-ann', displayName: 'Z' },
    { username: 'java', displayName: 'Z' },
    { username: 'zz-other', displayName: 'Xjava' },
  ])
  assert.deepEqual(await usernames('java'), [
    'java',
    'java-ann',
    'zz-skill',
    'zz-alias',
    'zz-prefix',
    'zz-name',
    'zz-title',
  ])
})

test('within one kind, candidates rank by matching verified skills, verified skills and username', async () => {
  await registerSeekers(db, [
    skilled('d-plain', { name: 'Javelin' }),
    skilled('c-one', { name: 'Javelin', verified: true }),
    skilled('b-one', { name: 'Javelin', verified: true }),
    skilled('y-more', { name: 'Javelin', verified: true }, { name: 'Cooking', verified: true }),
    skilled('z-two', { name: 'Javelin', verified: true }, { name: 'Java', verified: true }),
    skilled('a-own', { name: 'Java' }, { name: 'Javelin' }),
  ])
  assert.deepEqual(await usernames('jav'), [
    'z-two',
    'y-more',
    'b-one',
    'c-one',
    'a-own',
    'd-plain',
  ])
  assert.deepEqual(await usernames('jave', 2), ['y-more', 'z-two'])
})

test('@ searches handles only, from one letter on; without @ a single letter finds the skill of that name', async () => {
  await registerSeekers(db, [
    skilled('ada', { name: 'Cooking', verified: true }),
    skilled('ad-hoc', { name: 'Ada', verified: true }),
    skilled('bob', { name: 'Ada', verified: true }),
    skilled('carl', { name: 'C' }),
  ])
  assert.deepEqual(await usernames('@ada'), ['ada'])
  assert.deepEqual(await usernames('@ad'), ['ad-hoc', 'ada'])
  assert.deepEqual(await usernames('@a'), ['ad-hoc', 'ada'])
  assert.deepEqual(await usernames('@b'), ['bob'])
  assert.deepEqual(await usernames('c '), ['carl'])
  for (const nothing of ['@@', '@ ', '  ', '@@ada', '\u200b\u200b', '@search'])
    assert.deepEqual(await usernames(nothing), [], JSON.stringify(nothing))
  const { candidates }: SearchResult = JSON.parse((await search('@ad', { limit: 50 })).text)
  assert.deepEqual(candidates[0]?.matchedSkills, [])
})

test('a preview has the matched skills as spelled, five top skills with verified ones first, and counts', async () => {
  const skills = ['Java', 'Cooking', 'Chess', 'JS', 'Latin', 'Go'].map((name, i) => {
    return { name, verified: i % 2 === 1, level: i === 3 ? 'expert' : null }
  })
  await registerSeekers(db, [{ username: 'ada', displayName: 'Ada', skills }])
  const result: SearchResult = JSON.parse((await search('JAVA', { limit: 18 })).text)
  const shown = (...places: number[]) => places.map((place) => skills[place])
  assert.deepEqual(result, {
    query: 'JAVA',
    resultCount: 1,
    candidates: [
      {
        username: 'ada',
        displayName: 'Ada',
        title: null,
        avatarUrl: null,
        profilePath: '/u/ada',
        topSkills: shown(1, 3, 5, 0, 2),
        matchedSkills: shown(0, 3),
        skillCount: 6,
        verifiedSkillCount: 3,
      },
    ],
  })
})

test('case, compatibility forms and invisible characters make no difference; look-alikes and wildcards do', async () => {
  await registerSeekers(db, [
    { username: 'ada', displayName: 'Zoë Straße', title: 'Ｆｕｌｌ %width_ (a|b) & !x:*' },
    { username: 'bob', displayName: 'Σοφός', title: 'R&D \\ 100%' },
  ])
  for (const q of [
    'ZOË',
    'zoe\u0308',
    'STRASSE',
    'STRAẞE',
    'straße',
    'full',
    'Ｆu',
    '@\u200bada',
    '＠ada',
  ])
    assert.deepEqual(await usernames(q), ['ada'], q)
  for (const q of ['ΣΟΦΌΣ', 'σοφόσ', 'σοφός', '100%', 'r&d \\', 'd \\'])
    assert.deepEqual(await usernames(q), ['bob'], q)
  for (const q of [
    '%width',
    '%%',
    '__',
    'a%',
    'ad_',
    '@аda',
    'ada:*',
    'ada | bob',
    "' or 1",
    'ada\\',
  ])
    assert.deepEqual(await usernames(q), [], q)
})

test('concurrent searches get their own results', async () => {
  await registerSeekers(db, [skilled('ada', { name: 'Java' }), skilled('bob', { name: 'Latin' })])
  const all = await Promise.all(['java', 'zz', 'latin', 'nobody', '@'].map((q) => usernames(q)))
  assert.deepEqual(all, [['ada'], [], ['bob'], ['ada', 'bob'], []])
})

test('a match that only the folding of accents makes comes after the matches with the same accents, of the same kind', async () => {
  await registerSeekers(db, [
    { username: 'aa-bare', displayName: 'Jose Perez' },
    { username: 'bb-acute', displayName: 'José Pérez' },
    { username: 'cc-dot', displayName: 'İstanbul', title: 'Søren Ægir' },
    skilled('dd-skill', { name: 'Café', verified: true }, { name: 'Cafe au lait' }),
    { username: 'ee-title', displayName: 'Z', title: 'Jose' },
    { username: 'ff-arabic', displayName: 'مُحَمَّد', title: 'กำลัง ガ' },
  ])
  const expected = {
    jose: ['aa-bare', 'bb-acute', 'ee-title'],
    JOSÉ: ['bb-acute', 'aa-bare', 'ee-title'],
    jos: ['aa-bare', 'bb-acute', 'ee-title'],
    pere: ['aa-bare', 'bb-acute'],
    istanbul: ['cc-dot'],
    İSTAN: ['cc-dot'],
    ISTANBUL: ['cc-dot'],
    soren: ['cc-dot'],
    aegir: ['cc-dot'],
    cafe: ['dd-skill'],
    محمد: ['ff-arabic'],
    カ: [],
    'กา ': [],
  }
  for (const [q, usernamesFound] of Object.entries(expected))
    assert.deepEqual(await usernames(q), usernamesFound, q)
})

test('hyphens, dots and slashes count as spaces in skills, names and titles, or join two words', async () => {
  await registerSeekers(db, [
    skilled('aa-node', { name: 'Node.js' }),
    { username: 'bb-name', displayName: 'Anna-Maria Ruiz' },
    { username: 'cc-title', displayName: 'Z', title: 'CI/CD, front‐end' },
    skilled('dd-known', { name: 'Machine-Learning' }),
  ])
  const expected = {
    nodejs: ['aa-node'],
    'node js': ['aa-node'],
    'NODE.JS': ['aa-node'],
    'node-j': ['aa-node'],
    js: ['aa-node'],
    'anna maria': ['bb-name'],
    annamaria: ['bb-name'],
    'maria-ruiz': ['bb-name'],
    'ci cd': ['cc-title'],
    cicd: ['cc-title'],
    'front-end': ['cc-title'],
    frontend: ['cc-title'],
    ml: ['dd-known'],
    'machine/learning': ['dd-known'],
  }
  for (const [q, usernamesFound] of Object.entries(expected))
    assert.deepEqual(await usernames(q), usernamesFound, q)
})

test('handles are compared as written', async () => {
  await registerSeekers(db, [
    { username: 'ada-l', displayName: 'Z' },
    { username: 'ada_l', displayName: 'Z' },
    { username: 'adal', displayName: 'Z' },
  ])
  for (const [q, expected] of [
    ['ada-l', ['ada-l']],
    ['@ada-', ['ada-l']],
    ['@ada_', ['ada_l']],
    ['adal', ['adal']],
    ['ada l', []],
    ['@ada.l', []],
    ['l-ada', []],
  ] as const)
    assert.deepEqual(await usernames(q), expected, q)
})

test('a text without spaces between words is found from its beginning only', async () => {
  await registerSeekers(db, [{ username: 'xiaolong', displayName: '王小龙' }])
  assert.deepEqual(await usernames('王小'), ['xiaolong'])
  assert.deepEqual(await usernames('小龙'), [])
})

test('up to four words find the same in every order', async () => {
  await registerSeekers(db, [
    { username: 'aa-title', displayName: 'Z', title: 'Senior Engineer, Data' },
    { username: 'bb-title', displayName: 'Z', title: 'Engineer, senior' },
    { username: 'cc-name', displayName: 'Ada King Lovelace' },
    skilled('dd-skill', { name: 'Machine learning', verified: true }),
    skilled('ee-skill', { name: 'Big data systems' }),
  ])
  for (const [one, other, expected] of [
    ['ada king', 'king ada', ['cc-name']],
    ['ada king lovelace', 'lovelace king ada', ['cc-name']],
    ['machine learning', 'learning machine', ['dd-skill']],
    ['learning machi', 'machi learning', []],
    ['data systems', 'systems data', ['ee-skill']],
    ['big data', 'data-big', ['ee-skill']],
  ] as const) {
    assert.deepEqual(await usernames(one), expected, one)
    assert.deepEqual(await usernames(other), expected, other)
  }
  assert.deepEqual(await usernames('learning machine', 1), ['dd-skill'])
})

const word = fc.constantFrom(
  'ja',
  'java',
  'javascript',
  'jav',
  'js',
  'c',
  'ml',
  'learning',
  'é',
  'jå',
  'jáva',
  'aa',
  'a',
)
const phrase = fc
  .tuple(word, fc.constantFrom('', ' ', ' ', '-', '.', '/'), fc.option(word, { nil: '' }))
  .map(([first, between, second]) => (second === '' ? first : first + between + second))
const skillName = fc.oneof(
  phrase,
  fc.constantFrom(...records.flatMap(({ label, aliases }) => [label, ...aliases])),
)
const seeker = fc.record({
  username: fc.stringMatching(/^(a|j|ja|jav|java)[aj1-3-]{2}[a-c0-9]$/),
  displayName: phrase,
  title: fc.option(phrase),
  skills: fc.uniqueArray(fc.record({ name: skillName, verified: fc.boolean() }), {
    selector: ({ name }) => name.toLowerCase(),
    maxLength: 8,
  }),
})
const query = fc.oneof(phrase, skillName, fc.string({ minLength: 2, maxLength: 4 }))

test('the index finds what a scan of all candidates finds, in the same order', async () => {
  const workers = fc.uniqueArray(seeker, { selector: ({ username }) => username, maxLength: 30 })
  const queries = fc.array(fc.tuple(query, fc.boolean(), fc.integer({ min: 1, max: 50 })), {
    minLength: 12,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(workers, queries, async (population, asked) => {
      await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
      await registerSeekers(db, population)
      for (const [text, alone, limit] of asked) {
        const q = alone ? `@${text}` : text
        const expected = searchByHand(population, records, { q, limit })
        assert.deepEqual(await usernames(q, limit), expected, JSON.stringify(q))
      }
    }),
    { numRuns: 60 },
  )
})

test('a vocabulary with accents is found with and without them', async () => {
  const accented = [
    ...records,
    { label: 'Jáva writing', aliases: ['ML', 'Jav-é'] },
    { label: 'Jå', aliases: ['aa java'] },
  ]
  const accentedNames = skillNames(accented)
  const accentedSearch = candidateSearch(readsOfPrimary(db), accentedNames)
  const workers = fc.uniqueArray(seeker, { selector: ({ username }) => username, maxLength: 20 })
  const queries = fc.array(fc.oneof(phrase, fc.constantFrom('java writing', 'jave', 'jáv', 'jå')), {
    minLength: 12,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(workers, queries, async (population, asked) => {
      await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
      await db.run(sql`truncate search_vocabulary`)
      await registerSeekers(db, population)
      await adoptVocabulary(db, accentedNames)
      await indexQueuedWorkers(db, accentedNames)
      for (const q of asked) {
        const expected = searchByHand(population, accented, { q, limit: 50 })
        assert.deepEqual(await found(accentedSearch, q), expected, JSON.stringify(q))
      }
    }),
    { numRuns: 20 },
  )
})

test('pages hold every candidate once and in order, whatever their size', async () => {
  const workers = fc.uniqueArray(seeker, {
    selector: ({ username }) => username,
    minLength: 20,
    maxLength: 60,
  })
  const queries = fc.array(fc.tuple(query, fc.boolean(), fc.integer({ min: 1, max: 7 })), {
    minLength: 6,
    maxLength: 6,
  })
  await fc.assert(
    fc.asyncProperty(workers, queries, async (population, asked) => {
      await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
      await registerSeekers(db, population)
      for (const [text, alone, limit] of asked) {
        const q = alone ? `@${text}` : text
        assert.deepEqual(
          await pages(q, limit),
          searchByHand(population, records, { q, limit: 60 }),
          JSON.stringify({ q, limit }),
        )
      }
    }),
    { numRuns: 20 },
  )
})

/** Returns the usernames of all pages. */
async function pages(q: string, limit: number): Promise<string[]> {
  const all: string[] = []
  for (let after: string | null = ''; after !== null; ) {
    const place = after === '' ? undefined : (placeOfCursor(after) ?? undefined)
    const page = await search(q, { limit, after: place })
    const { candidates }: SearchResult = JSON.parse(page.text)
    if (page.next !== null) assert.equal(candidates.length, limit)
    all.push(...candidates.map(({ username }) => username))
    after = page.next
  }
  return all
}

test('a candidate that does not change is on one page only, while others change', async () => {
  const many = Array.from({ length: 30 }, (_, i) => skilled(`java-${i + 10}`, { name: 'Java' }))
  await registerSeekers(db, many)
  const seen: string[] = []
  let after: string | null | undefined
  for (let round = 0; after !== null; round++) {
    const place = after === undefined ? undefined : (placeOfCursor(after) ?? undefined)
    const page = await search('java', { limit: 7, after: place })
    const { candidates }: SearchResult = JSON.parse(page.text)
    seen.push(...candidates.map(({ username }) => username))
    after = page.next
    const newer = { username: `java-00${round}`, displayName: 'Java', skills: [] }
    await registerSeekers(db, [newer, { ...newer, username: `zz-${round}` }])
  }
  const unchanged = many.map(({ username }) => username)
  assert.deepEqual(
    seen.filter((username) => unchanged.includes(username)),
    unchanged,
  )
})

test('the result does not depend on how many matches are sorted and how many are read first', async () => {
  const workers = fc.uniqueArray(seeker, {
    selector: ({ username }) => username,
    minLength: 15,
    maxLength: 40,
  })
  const sizes = fc.record({
    extra: fc.integer({ min: 1, max: 4 }),
    sortedMax: fc.integer({ min: 1, max: 6 }),
  })
  const queries = fc.array(fc.tuple(query, fc.boolean(), fc.integer({ min: 1, max: 20 }), sizes), {
    minLength: 12,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(workers, queries, async (population, asked) => {
      await db.run(sql`truncate workers, usernames, search_entries, search_terms cascade`)
      await registerSeekers(db, population)
      for (const [text, alone, limit, { extra, sortedMax }] of asked) {
        const q = alone ? `@${text}` : text
        const search = { ...indexSearchOf(searchOf(q), names), limit, after: start }
        const lists = (terms: typeof search.written) =>
          [terms.orders, terms.exactLabels, terms.prefixLabels].map((list) => list.join('\n'))
        const [row] = await db.rows<{ hits: string }>(sql`
          select search_pages(array[${search.handle}::text], array[${search.handlesOnly}::boolean],
            array[${limit}::int], array[${lists(search.written)[0]}::text],
            array[${lists(search.written)[1]}::text], array[${lists(search.written)[2]}::text],
            array[${lists(search.bare)[0]}::text], array[${lists(search.bare)[1]}::text],
            array[${lists(search.bare)[2]}::text], array[${search.bareDiffers}::boolean],
            array[0::smallint], array[0::smallint], array[''],
            extra => ${extra}, sorted_max => ${sortedMax}) as hits`)
        const hits: { username: string }[] = JSON.parse(row?.hits ?? '')
        assert.deepEqual(
          hits.map(({ username }) => username),
          searchByHand(population, records, { q, limit }),
          JSON.stringify({ q, limit, extra, sortedMax }),
        )
      }
    }),
    { numRuns: 30 },
  )
})

test('an order of the words that begins no term costs one look into each kind, and no step', async () => {
  await registerSeekers(db, [skilled('ada', { name: 'Machine learning' })])
  const scans = await db.transaction(async (tx) => {
    const scansUntilNow = async (): Promise<number> => {
      const [counted] = await tx.rows<{ scans: string }>(sql`
        select pg_stat_get_xact_numscans('search_terms_pkey'::regclass)::text as scans`)
      return Number(counted?.scans)
    }
    const before = await scansUntilNow()
    await candidateSearch(readsOfPrimary(tx), names)('zz yy xx', { limit: 18 })
    return (await scansUntilNow()) - before
  })
  const [kinds, orders, scansForHandles] = [8, 6, 3]
  assert.ok(scans > 0 && scans <= kinds * orders + scansForHandles, `${scans} scans`)
})

test('a prefix with thousands of matches is read in index order, with the same result', async () => {
  const population = fc
    .sample(fc.array(seeker, { minLength: 5_000, maxLength: 5_000 }), { numRuns: 1, seed: 7 })
    .flat()
    .map((worker, i) => ({ ...worker, username: `${worker.username.slice(0, 5)}${i}` }))
  await registerSeekers(db, population)
  await db.run(sql`analyze`)
  const asked = [
    'ja',
    'jav',
    'java',
    'javas',
    'js',
    'ml',
    'le',
    'aa',
    '@j',
    '@ja',
    '@a',
    'c ',
    'an',
    'st',
  ]
  for (const q of asked) {
    const expected = searchByHand(population, records, { q, limit: 50 })
    for (const limit of [1, 18, 50])
      assert.deepEqual(await usernames(q, limit), expected.slice(0, limit), `${q} ${limit}`)
  }
  const [counted] = await db.rows<{ most: number }>(sql`
    select max(count) as most from (
      select count(*) from search_terms group by left(term, 2), kind) of_walk`)
  assert.ok((counted?.most ?? 0) > 1_200, 'a prefix has more matches than are sorted')
})

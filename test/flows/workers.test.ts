/** Workers from the command line, as the operator sees it: import, show, consent and identity. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Db, sql } from '../../src/platform/db/db.ts'
import { giveScore } from '../support/build/candidates.ts'
import { consentEvents, line, publicLine } from '../support/build/workers.ts'
import { holdInserts } from '../support/fault/hold.ts'
import { installation, ndjson } from '../support/start/installation.ts'

const parsed = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((one) => JSON.parse(one))

/** Returns everything about every worker except ids and times, which differ between two runs. */
async function stateOf(db: Db): Promise<unknown[]> {
  return db.rows(sql`
    select w.external_id, w.terms_version, w.terms_accepted_at, w.onboarded_at is null as waiting,
      w.consent_version, p.username, p.display_name, p.title, p.bio, p.avatar_url, p.member_since,
      (select json_agg(json_build_array(s.name, s.place, s.verified, s.level) order by s.place)
        from profile_skills s where s.worker_id = w.id) as skills,
      (select json_agg(json_build_array(c.consent_version, c.permission, c.granted,
        c.previous_granted, c.text_version, c.actor) order by c.consent_version)
        from consent_changes c where c.worker_id = w.id) as consents,
      (select json_agg(json_build_array(i.change, i.state, i.verified_until) order by i.change)
        from identity_changes i where i.worker_id = w.id) as identity,
      (select count(*) from usernames n where n.worker_id = w.id) as names,
      (select count(*) from search_entries e where e.worker_id = w.id) as searchable,
      (select json_agg(json_build_array(t.kind, t.term, t.rank) order by t.kind, t.term)
        from search_terms t where t.username = p.username) as terms,
      (select count(*) from webhook_events e where e.worker_id = w.id) as events
    from workers w left join profiles p on p.worker_id = w.id order by p.username`)
}

const lineCount = 3_000
const invalidCount = lineCount / 100

/** Writes a file in which one line in a hundred is invalid, each in another way. */
function bigFile(): string {
  const wrong = [
    { username: 'Not Valid' },
    { displayName: 'a\0b' },
    { consents: [{ permission: 'email', textVersion: '1' }] },
    { memberSince: '2026-13' },
    { username: 'user-1' },
  ]
  return ndjson(
    Array.from({ length: lineCount }, (_, n) => {
      const good = {
        username: `user-${n}`,
        externalId: `hr-${n}`,
        skills: n % 3 === 0 ? [{ name: 'Go' }, { name: `Skill ${n}` }] : [],
      }
      const bad = n % 100 === 50 ? wrong[((n - 50) / 100) % wrong.length] : {}
      return (n % 2 === 0 ? publicLine : line)({ ...good, ...bad })
    }),
  )
}

test('import: 3,000 lines with 1 % invalid lines, killed and run again, give the state of an undisturbed run', async () => {
  const [calm, killed] = [await installation(), await installation()]
  for (const there of [calm, killed]) writeFileSync(there.file('people.ndjson'), bigFile())
  const args = ['workers', 'import', '--from', 'people.ndjson']

  const undisturbed = await calm.report(...args)
  assert.deepEqual(
    [undisturbed.code, undisturbed.lines, undisturbed.created, undisturbed.rejected],
    [1, lineCount, lineCount - invalidCount, invalidCount],
  )

  // The last two are killed while they index the new workers: the entry of one, then its terms.
  // Other workers may be indexed beside it, before the kill.
  for (const [table, line] of [
    ['profiles', 300],
    ['profiles', 1_200],
    ['profiles', 2_300],
    ['search_entries', 1_800],
    ['search_terms', 1_800],
  ] as const) {
    const when = `new.username = 'user-${line}'`
    const held = await holdInserts(killed.url, { table, when })
    const child = killed.start(args)
    const ended = once(child, 'exit')
    await held.reached(child)
    child.kill('SIGKILL')
    const [, signal] = await ended
    await held.release()
    assert.equal(signal, 'SIGKILL')
  }
  const resumed = await killed.report(...args)
  assert.equal(resumed.rejected, invalidCount)
  assert.ok(resumed.unchanged === lineCount - invalidCount, JSON.stringify(resumed))
  assert.equal(resumed.updated, 0)
  assert.deepEqual(await stateOf(killed.db), await stateOf(calm.db))
  assert.equal(
    readFileSync(killed.file('people.ndjson.errors.ndjson'), 'utf8'),
    readFileSync(calm.file('people.ndjson.errors.ndjson'), 'utf8'),
  )

  const before = await killed.db.rows(sql`select * from profiles order by worker_id`)
  const third = await killed.report(...args)
  assert.deepEqual(
    [third.created, third.updated, third.unchanged],
    [0, 0, lineCount - invalidCount],
  )
  assert.deepEqual(await killed.db.rows(sql`select * from profiles order by worker_id`), before)
  assert.equal((await consentEvents(killed.db)).length, 3 * (lineCount / 2 - invalidCount))
})

for (const named of ['by its external id', 'by its username'])
  test(`import: if lines name the same worker ${named}, the last line counts, at any distance`, async () => {
    const { db, file, report } = await installation()
    const lines = ['First', 'Second', 'Third'].flatMap((title) =>
      Array.from({ length: 300 }, (_, n) => {
        const externalId = named === 'by its username' ? {} : { externalId: `${n}` }
        return publicLine({ ...externalId, username: `user-${n}`, title })
      }),
    )
    file('people.ndjson', lines)
    const result = await report('workers', 'import', '--from', 'people.ndjson')
    assert.deepEqual([result.code, result.created, result.updated], [0, 300, 600])
    assert.deepEqual(
      [result.errors, existsSync(file('people.ndjson.errors.ndjson'))],
      [null, false],
    )
    const titles = await db.rows(sql`select distinct title from profiles`)
    assert.deepEqual(titles, [{ title: 'Third' }])
  })

test('import: the error file names line, field and reason of each invalid line', async () => {
  const { file, report } = await installation()
  writeFileSync(
    file('people.ndjson'),
    ndjson([
      line({ username: 'taken', externalId: '1' }),
      line({ username: 'taken', externalId: '2' }),
      '',
      '{"username":"a\\u0000b","displayName":"x"}',
      '{"username":"abc","displayName":"a\\ud800"}',
      '{',
      line({ username: 'search' }),
      line({ consents: [{ permission: 'email', textVersion: '1' }] }),
      line({ terms: { version: '1', acceptedAt: '2999-01-01T00:00:00Z' } }),
      line({ identity: { verifiedUntil: '2001-01-01T00:00:00Z' } }),
      line({ skills: [{ name: 'x'.repeat(70_000) }] }),
    ]),
  )
  const { code, created, rejected, errors } = await report(
    'workers',
    'import',
    '--from',
    'people.ndjson',
  )
  assert.deepEqual([code, created, rejected, errors], [1, 1, 9, 'people.ndjson.errors.ndjson'])
  const result = parsed(readFileSync(file('people.ndjson.errors.ndjson'), 'utf8'))
  assert.deepEqual(
    result.map((one) => `${one.line} ${one.field}: ${one.reason}`),
    [
      '2 username: is taken by another worker',
      '4 null: A string holds a NUL.',
      '5 null: A string holds a lone surrogate.',
      '6 null: The line is not JSON.',
      '7 username: search is reserved',
      '8 consents.0.permission: must be one of public_profile, search_listing, score_sharing',
      '9 terms.acceptedAt: must not be in the future',
      '10 identity.verifiedUntil: must be in the future',
      '11 null: The line is longer than 65536 bytes.',
    ],
  )
})

test('import --dry-run: reports the effect of each line and changes nothing', async () => {
  const { file, report, db, run } = await installation()
  file('one.ndjson', [line({ username: 'known', externalId: '1' })])
  await run(['workers', 'import', '--from', 'one.ndjson'])
  const before = await stateOf(db)
  writeFileSync(
    file('people.ndjson'),
    ndjson([
      line({ username: 'known', externalId: '1', title: 'New' }),
      publicLine({ username: 'fresh' }),
      line({ username: 'known', externalId: '2' }),
    ]),
  )
  const args = ['workers', 'import', '--from', 'people.ndjson', '--dry-run']
  const dry = await report(...args)
  assert.deepEqual(
    [dry.code, dry.created, dry.updated, dry.rejected, dry.dryRun],
    [1, 1, 1, 1, true],
  )
  assert.deepEqual(await stateOf(db), before)
  assert.deepEqual(await consentEvents(db), [])
  assert.match((await run(args)).out, /nothing was changed/)
})

test('import: from standard input, rejected lines are messages; the input file is never overwritten', async () => {
  const { run, file } = await installation()
  const { code, out, err } = await run(
    ['workers', 'import', '--from', '-'],
    ndjson([line(), line({ username: 'x' })]),
  )
  assert.equal(code, 1)
  assert.match(out, /^2 lines: 1 created, 0 updated, 0 unchanged, 1 rejected/)
  assert.match(err, /"line":2,"field":"username"/)
  file('same.ndjson', [line()])
  const same = await run(['workers', 'import', '--from', 'same.ndjson', '--errors', 'same.ndjson'])
  assert.equal(same.code, 2)
  assert.equal(readFileSync(file('same.ndjson'), 'utf8'), ndjson([line()]))
  assert.equal((await run(['workers', 'import', '--from', 'nowhere'])).code, 2)
})

test('show, consent, identity: a worker goes from registered to public and back', async () => {
  const { report, run, db, file } = await installation()
  const terms = { version: '1', acceptedAt: '2026-05-01T00:00:00Z' }
  file('ada.ndjson', [line({ terms, externalId: 'hr-7' })])
  await run(['workers', 'import', '--from', 'ada.ndjson'])
  const fresh = await report('workers', 'show', '@ada')
  assert.deepEqual(fresh.missing, ['consent public_profile'])
  assert.deepEqual(fresh.identity, { state: 'none', verifiedUntil: null })
  assert.deepEqual(fresh.consents, {
    public_profile: null,
    search_listing: null,
    score_sharing: null,
  })

  const granted = await report('consent', 'grant', 'ada', 'public_profile')
  assert.deepEqual(
    [
      granted.code,
      granted.changed,
      granted.previousGranted,
      granted.consentVersion,
      granted.onboardedNow,
    ],
    [0, true, null, 1, true],
  )
  assert.equal((await report('consent', 'grant', 'ada', 'public_profile')).changed, false)
  const withdrawn = await report(
    'consent',
    'withdraw',
    'ada',
    'public_profile',
    '--by',
    'ada herself',
  )
  assert.deepEqual([withdrawn.previousGranted, withdrawn.consentVersion], [true, 2])
  assert.equal((await consentEvents(db)).length, 2)

  const refused = await report('identity', 'revoke', 'ada')
  assert.deepEqual([refused.code, refused.ok, refused.error], [1, false, 'identity_state'])
  const until = `${new Date().getUTCFullYear() + 2}-01-01`
  const verified = await report('identity', 'verify', 'ada', '--until', until)
  assert.deepEqual([verified.code, verified.verifiedUntil], [0, `${until}T00:00:00Z`])
  assert.equal((await report('identity', 'verify', 'ada', '--until', until)).changed, false)
  assert.equal((await report('identity', 'revoke', 'ada')).identity, 'revoked')
  assert.equal((await report('identity', 'verify', 'ada')).identity, 'verified')

  const shown = await report('workers', 'show', 'ada')
  assert.deepEqual(
    [shown.externalId, shown.missing, shown.identity.state],
    ['hr-7', [], 'verified'],
  )
  assert.equal(shown.consents.public_profile.granted, false)
  const result = (await run(['workers', 'show', 'ada'])).out
  assert.match(result, /public_profile +withdrawn/)
  assert.match(result, /identity +verified until/)
  assert.deepEqual(shown.scoreHiddenBy, ['no_score', 'public_profile', 'score_sharing'])
  assert.match(result, /score +hidden: there is no score, no consent to public_profile, no consent/)
})

test('list: workers by the beginning of a name and by external id, and those whose score is hidden', async () => {
  const { report, run, file, db } = await installation()
  const lines = [
    publicLine({ username: 'ada', displayName: 'Ada Lovelace', externalId: 'hr-1' }),
    publicLine({ username: 'adam', displayName: 'Zoë Adams', externalId: 'hr-2' }),
    publicLine({ username: 'z_1', displayName: 'ADA Byron', externalId: 'ada' }),
    line({ username: 'bob', displayName: 'B%b' }),
  ]
  file('workers.ndjson', lines)
  await run(['workers', 'import', '--from', 'workers.ndjson'])
  const found = async (...args: string[]) => {
    const { code, workers } = await report('workers', 'list', ...args)
    assert.equal(code, 0)
    return workers.map(({ username }: { username: string }) => username)
  }
  const all = await found()
  assert.deepEqual(all.toSorted(), ['ada', 'adam', 'bob', 'z_1'])
  for (const [text, usernames] of [
    ['ada', ['ada', 'adam', 'z_1']],
    ['@ada', ['ada', 'adam', 'z_1']],
    ['ada l', ['ada']],
    ['hr-2', ['adam']],
    ['zoë', ['adam']],
    ['ZOË', ['adam']],
    ['b%', ['bob']],
    ['_', []],
    ['%', []],
  ] as const)
    assert.deepEqual((await found('--find', text)).toSorted(), usernames, text)
  const [{ workerId }] = (await report('workers', 'list', '--find', 'hr-2')).workers
  assert.deepEqual(await found('--find', workerId.toUpperCase()), ['adam'])
  assert.deepEqual(await found('--limit', '3'), all.slice(0, 3))
  assert.deepEqual(await found('--hidden'), all)

  await giveScore(db, 'ada', 'ab'.repeat(32))
  assert.deepEqual((await found('--hidden', '--find', 'ada')).toSorted(), ['adam', 'z_1'])
  const again = (await report('workers', 'list', '--find', 'hr-1')).workers[0]
  assert.partialDeepStrictEqual(again, { externalId: 'hr-1', scoreHiddenBy: [] })
  const shown = (await run(['workers', 'list'])).out
  assert.match(shown, /^bob +B%b +- .*hidden: there is no score, not onboarded/m)
  assert.match(shown, /^ada +Ada Lovelace +hr-1 +verified +public$/m)
})

test('import: consents and identity checks of a CSV file take the last line of a worker', async () => {
  const { report, run, file } = await installation()
  await run(['workers', 'import', '--from', '-'], ndjson([line({ username: 'ada' })]))
  writeFileSync(
    file('consents.csv'),
    'username,permission,granted,textVersion\nada,score_sharing,true,1\nada,score_sharing,false,\nbob,score_sharing,false,\n',
  )
  const consents = ['consent', 'import', '--from', 'consents.csv', '--by', 'Ada']
  const dry = await report(...consents, '--dry-run')
  assert.partialDeepStrictEqual(dry, { code: 1, recorded: 2, rejected: 1, dryRun: true })
  assert.deepEqual((await report('consent', 'history', 'ada')).changes, [])
  assert.partialDeepStrictEqual(await report(...consents), { code: 1, recorded: 2, rejected: 1 })
  assert.match(
    readFileSync(file('consents.csv.errors.ndjson'), 'utf8'),
    /"line":4,"field":"username"/,
  )
  const { changes } = await report('consent', 'history', 'ada')
  assert.deepEqual(
    changes.map(({ granted, by }: Record<string, unknown>) => [granted, by]),
    [
      [false, 'Ada'],
      [true, 'Ada'],
    ],
  )
  const check = ndjson([
    { username: 'ada', state: 'verified', verifiedUntil: '2035-01-01T00:00:00Z' },
  ])
  const { code, out } = await run(['identity', 'import', '--from', '-', '--json'], check)
  assert.deepEqual([code, JSON.parse(out).recorded], [0, 1])
})

test('1: the username is unknown; 2: the username, permission, date or actor is invalid', async () => {
  const { run } = await installation()
  for (const args of [
    ['workers', 'show', 'nobody'],
    ['consent', 'grant', 'nobody', 'score_sharing'],
    ['identity', 'verify', 'nobody'],
  ]) {
    const { code, err } = await run(args)
    assert.equal(code, 1, args.join(' '))
    assert.match(err, /No worker has the username nobody/)
  }
  const wrong: [string[], RegExp][] = [
    [['workers', 'show', 'Ada'], /username must have 3 to 30/],
    [['workers', 'list', '--find', ''], /--find must have 1 to 200/],
    [['workers', 'import'], /--from/],
    [
      ['consent', 'grant', 'ada', 'email'],
      /permission must be one of public_profile, search_listing, score_sharing/,
    ],
    [['consent', 'grant', 'ada', 'score_sharing', '--text-version', ''], /--text-version/],
    [['consent', 'grant', 'ada', 'score_sharing', '--by', ''], /--by.*holds nothing/],
    [['consent', 'withdraw', 'ada', 'score_sharing', '--by', 'x'.repeat(201)], /--by[^]*is longer/],
    [['identity', 'verify', 'ada', '--until', '2026-02-30'], /--until must be a day or a time/],
    [['identity', 'verify', 'ada', '--until', 'soon'], /--until must be a day or a time/],
  ]
  for (const [args, message] of wrong) {
    const { code, out, err } = await run(args)
    assert.equal(code, 2, args.join(' '))
    assert.equal(out, '')
    assert.match(err, message)
  }
})

test('2: the end of an identity check is past or too far ahead', async () => {
  const { run } = await installation()
  await run(['workers', 'import', '--from', '-'], ndjson([line()]))
  const past = await run(['identity', 'verify', 'ada', '--until', '2001-01-01'])
  assert.deepEqual([past.code, /must be in the future/.test(past.err)], [2, true])
  const far = await run(['identity', 'verify', 'ada', '--until', '2999-01-01'])
  assert.deepEqual([far.code, /at most 10 years/.test(far.err)], [2, true])
})

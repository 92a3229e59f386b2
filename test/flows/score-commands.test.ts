/** The score commands of an operator: real commands on a real database. */
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { releasedVocabulary } from '../../src/main/scoring.ts'
import { csvLine } from '../../src/platform/csv.ts'
import { sql } from '../../src/platform/db/db.ts'
import { type ExportTable, openExport } from '../../src/scoring/scores/reports/score-export.ts'
import { scoreWorkers } from '../../src/scoring/scores/score-workers.ts'
import { pemOfSeed, score } from '../support/build/credentials.ts'
import { testRegistry } from '../support/build/registry.ts'
import {
  addEvidence,
  addPublicWorkers,
  addSources,
  daysAfter,
  enough,
  scoredAt,
  scoresOf,
  scoring,
} from '../support/build/scores.ts'
import { installation } from '../support/start/installation.ts'

const line = await installation(await testRegistry())
const { db } = line
await addSources(db)
const [workerId = '', poor = ''] = await addPublicWorkers(db, 2)
const evidence = await addEvidence(db, workerId, [
  ...enough,
  { sourceId: 'self', value: 1_000 },
  { value: 555 },
])
await addEvidence(db, poor, [{ value: 900 }])
const compute = (now: Date) =>
  db.transaction((tx) => scoreWorkers(tx, scoring, [{ workerId, correction: null }], now))
await compute(scoredAt)
await addEvidence(db, workerId, [{ value: 300 }])
await compute(daysAfter(1))
const [first, second] = await scoresOf(db, workerId)
assert.ok(first !== undefined && second !== undefined)

async function usernameOf(id: string): Promise<string> {
  const [row] = await db.rows<{ username: string }>(sql`
    select username from profiles where worker_id = ${id}`)
  return row?.username ?? ''
}

const username = await usernameOf(workerId)

async function asked(...args: string[]) {
  const { code, out, err } = await line.run(['scores', ...args, '--json'])
  assert.ok(out.startsWith('{'), err)
  return { code, err, ...JSON.parse(out) }
}

test('show: lists every score of a worker, newest first', async () => {
  const { code, scores } = await asked('show', username)
  assert.equal(code, 0)
  assert.deepEqual(
    scores.map((one: Record<string, unknown>) => [one.snapshotId, one.state, one.score]),
    [
      [second.id, 'active', second.score],
      [first.id, 'superseded', first.score],
    ],
  )
})

test('list: shows the active scores of all workers, of one band, page by page', async () => {
  const { code, scores } = await asked('list')
  assert.equal(code, 0)
  assert.equal(scores.length, 1)
  assert.partialDeepStrictEqual(scores[0], { username, snapshotId: second.id, score: second.score })
  const { band } = scores[0]
  assert.equal((await asked('list', '--band', band, '--limit', '1')).scores.length, 1)
  const other = band === 'emerging' ? 'strong' : 'emerging'
  assert.deepEqual((await asked('list', '--band', other)).scores, [])
})

test('explain: an earlier score uses the evidence of its time, and the parts sum to the mass and the rest', async () => {
  const { code, snapshotId, asOf, result, items, skills } = await asked('explain', first.id)
  assert.equal(code, 0)
  assert.deepEqual([snapshotId, asOf, result.score], [first.id, '2026-05-14', first.score])
  assert.deepEqual(
    items.map(({ id }: { id: string }) => id),
    [...evidence].sort((a, b) => (a < b ? -1 : 1)),
  )
  for (const { skillId, mass, rest } of skills) {
    const own = items.filter((one: { skillId: string }) => one.skillId === skillId)
    const sum = (name: string) =>
      own.reduce((total: number, one: Record<string, number>) => total + (one[name] ?? 0), 0)
    assert.deepEqual([Math.floor(sum('mass') / 2 ** 20), sum('pull')], [mass, rest])
  }
  const dropped = items.filter(({ reason }: { reason: string | null }) => reason !== null)
  assert.deepEqual(
    dropped.map((one: Record<string, unknown>) => [one.id, one.reason, one.mass]),
    [[evidence[4], 'assurance_zero', 0]],
  )
})

test('explain: a username selects the active score; an item with a low value has a negative effect', async () => {
  const { snapshotId, items } = await asked('explain', `@${username}`)
  assert.equal(snapshotId, second.id)
  const low = items.find(({ value }: { value: number }) => value === 300)
  assert.ok(low.effect < 0, `${low.effect}`)
})

test('explain in text: each item is a table row with its day, remaining weight and effect', async () => {
  const { code, out } = await line.run(['scores', 'explain', username])
  assert.equal(code, 0)
  assert.match(out, new RegExp(`^ {2}score +${second.score}\\n`))
  assert.match(out, /^ {2}evidenceCount +6\n {2}sourceCount +2$/m)
  assert.match(out, /^ {2}raise +low \d+, by \w+ of \d+ from a new group$/m)
  assert.match(out, /2026-05-01 +350000 +9\d\.\d % +\d+ +[+-]?\d+ +[+-]?\d+ +731 days/)
  assert.match(out, /^ {2}endsOn +\d{4}-\d\d-\d\d$/m)
  assert.match(out, /Not counted:\n.*\n.* assurance_zero\n/)
})

test('explain: a score and its skills end on the day on which their evidence expires, if that is earlier', async () => {
  const decayed = await asked('explain', username)
  const { workerId: worker } = decayed
  const expire = (day: string | null) =>
    db.run(sql`update evidence set expires_on = ${day}::date where worker_id = ${worker}`)
  await expire('2026-07-01')
  const { endsOn, skills } = await asked('explain', username)
  assert.ok(decayed.endsOn === null || decayed.endsOn > '2026-07-01')
  assert.equal(endsOn, '2026-07-01')
  for (const skill of skills)
    assert.equal(skill.endsOn, skill.score === null ? null : '2026-07-01', skill.skillId)
  await expire('2199-01-01')
  assert.deepEqual(await asked('explain', username), decayed)
  await expire(null)
})

test('explain: a worker without a score is reported; --now shows the result of the evidence', async () => {
  const who = await usernameOf(poor)
  const refused = await line.run(['scores', 'explain', who])
  assert.equal(refused.code, 1)
  assert.match(refused.err, /has no score\. Add --now/)
  const { code, snapshotId, result } = await asked('explain', who, '--now')
  assert.deepEqual([code, snapshotId, result.evidenceCount], [0, null, 1])
})

test('explain --now: an item excluded since is not counted, and the reason is shown', async () => {
  const { items } = await asked('explain', username, '--now')
  assert.ok(items.every(({ reason }: { reason: string }) => reason !== 'excluded'))
  await db.run(sql`update evidence set state = 'excluded' where evidence_id = ${evidence[0]}`)
  const after = await asked('explain', username, '--now')
  await db.run(sql`update evidence set state = 'active' where evidence_id = ${evidence[0]}`)
  const found = after.items.find(({ id }: { id: string }) => id === evidence[0])
  assert.deepEqual([found.reason, found.mass], ['excluded', 0])
})

test('export: three files hold pseudonyms and no name; the key is written once, and joins usernames to subjects', async () => {
  const out = join(line.folder, 'audit')
  const keyFile = join(line.folder, 'audit.key')
  const { code, workers, reportVersion } = await asked(
    'export',
    '--out',
    out,
    '--key-file',
    keyFile,
  )
  assert.deepEqual([code, workers, reportVersion], [0, 2, 1])
  assert.equal(statSync(keyFile).mode & 0o777, 0o600)
  const [scores = '', skills = '', items = ''] = ['scores', 'skills', 'evidence'].map((name) =>
    readFileSync(join(out, `${name}.csv`), 'utf8'),
  )
  const names = join(line.folder, 'usernames.txt')
  writeFileSync(names, `${username}\nnot-registered\n`)
  const joined = await line.run(['scores', 'subjects', '--key-file', keyFile, '--usernames', names])
  const subject = joined.out.split(`\n${username},`)[1]?.trim() ?? assert.fail(joined.err)
  assert.match(subject, /^[0-9a-f]{32}$/)
  const row = scores.split('\n').find((one) => one.startsWith(subject)) ?? ''
  assert.match(row, new RegExp(`,scored,${second.score},`))
  assert.match(scores, /,too_few_sources,,,,/)
  assert.ok(skills.includes(`${subject},hss:typescript,`))
  assert.equal(items.split('\n').filter((one) => one.startsWith(subject)).length, 7)
  for (const text of [scores, skills, items])
    for (const hidden of [workerId, username, ...evidence, 'scored-', '2026-05-01'])
      assert.ok(!text.includes(hidden), hidden)
  // Pages of one worker hold the rows of the files.
  const paged: Record<ExportTable, string[]> = { scores: [], skills: [], evidence: [] }
  const key = createSecretKey(Buffer.from(readFileSync(keyFile, 'utf8').trim(), 'hex'))
  const rules = { ...scoring, vocabulary: releasedVocabulary() }
  const addPage = openExport(db, { key, rules, now: new Date(), limit: 1 })
  let after: string | null = null
  do after = await addPage(after, (table, cells) => paged[table].push(csvLine(cells)))
  while (after !== null)
  for (const [table, text] of Object.entries({ scores, skills, evidence: items }))
    assert.deepEqual(text.trim().split('\n').slice(1), paged[table as ExportTable])
  const again = await line.run(['scores', 'export', '--out', out, '--key-file', keyFile])
  assert.equal(again.code, 2)
  assert.match(again.err, /Name a file that does not exist/)
})

test('impact: categories are compared, and none of their values is stored, logged or quoted in an error', async () => {
  const scores = join(line.folder, 'scores.csv')
  const groups = join(line.folder, 'groups.csv')
  const write = (file: string, lines: readonly string[]) =>
    writeFileSync(file, `${lines.join('\r\n')}\r\n`)
  const subjects = Array.from({ length: 40 }, (_, at) => `s${at}`)
  write(scores, [
    'subject,score,low',
    ...subjects.map((one, at) => `${one},${at < 30 ? 700 : 400},300`),
  ])
  const secrets = ['Zebra', 'Quagga', 'Okapi']
  const groupOf = (at: number) => (at < 20 ? 'Zebra' : at < 38 ? 'Quagga' : 'Okapi')
  write(groups, ['subject,kind', ...subjects.map((one, at) => `${one},"${groupOf(at)}"`)])
  const impact = ['scores', 'impact', '--scores', scores, '--groups', groups, '--by']
  const result = await line.run([...impact, 'kind', '--json'])
  const { rows } = JSON.parse(result.out)
  const found = rows.find(
    (row: Record<string, unknown>) => row.category === 'Quagga' && row.rule === 'score from 600',
  )
  assert.partialDeepStrictEqual(found, {
    workers: 18,
    selected: 10,
    ratio: 0.556,
    belowFourFifths: true,
  })
  const small = rows.filter((row: Record<string, unknown>) => row.category === 'Okapi')
  assert.deepEqual(
    small.map((row: Record<string, unknown>) => [row.workers, row.meanScore]),
    [[null, null]],
  )
  const table = await line.run([...impact, 'kind'])
  assert.match(table.out, /<5/)
  const wrong = [await line.run([...impact, 'missing'])]
  write(groups, ['subject,kind', 's0,"Zebra', 's1,Quagga'])
  wrong.push(await line.run([...impact, 'kind']))
  write(groups, ['subject,kind', 's0,Zebra', 's0,Quagga'])
  wrong.push(await line.run([...impact, 'kind']))
  write(groups, ['subject,kind', 's0,Zebra,Okapi'])
  wrong.push(await line.run([...impact, 'kind']))
  write(groups, ['subject,kind,kind', 's0,Zebra,Okapi'])
  wrong.push(await line.run([...impact, 'kind']))
  write(groups, ['subject,kind', 's0,Zebra'])
  wrong.push(await line.run([...impact, 'kind,kind']))
  for (const { code, out, err } of wrong) {
    assert.notEqual(code, 0)
    for (const secret of secrets) assert.ok(!`${out}${err}`.includes(secret), err)
  }
  const stored = await db.rows<{ details: string }>(sql`
    select details::text as details from audit_log where action = 'reports.made'`)
  assert.ok(stored.length >= 3)
  for (const { details } of stored)
    for (const secret of secrets) assert.ok(!details.includes(secret))
})

test('sources report and scores reliability: the evidence of the database is measured, small rows show their name alone', async () => {
  const more = await addPublicWorkers(db, 5)
  for (const id of more)
    await addEvidence(db, id, [
      { value: 900, observedOn: '2026-05-02' },
      { value: 600, sourceId: 'employer', type: 'work_product' },
    ])
  const sources = await line.run(['sources', 'report', '--json'])
  const { rows, asOf, engineSha256, reportVersion } = JSON.parse(sources.out)
  assert.match(asOf, /^\d{4}-\d\d-\d\d$/)
  assert.deepEqual([engineSha256.length, reportVersion], [64, 1])
  const named = (name: string) => rows.find((row: { name: string }) => row.name === name)
  assert.partialDeepStrictEqual(named('examiner'), { by: 'source', workers: 7 })
  assert.partialDeepStrictEqual(named('employer'), { workers: 6, lenient: false })
  assert.equal(named('self'), undefined)
  const table = await line.run(['sources', 'report'])
  assert.match(table.out, /^source +examiner +7 /m)
  // Only the first worker has a credential, so the row has no number.
  assert.match(table.out, /^type +credential +<5( +-)+$/m)

  const { agreement, rows: calibrated } = await asked('reliability')
  assert.equal(agreement.units, 6)
  assert.deepEqual([calibrated[0].by, calibrated[0].workers, calibrated[0].low], ['all', 6, false])
  assert.match((await line.run(['scores', 'reliability'])).out, /Scatter of an item: \d/)
  const entries = await db.rows<{ details: string }>(sql`
    select details::text as details from audit_log
    where action = 'reports.made' and details::jsonb->>'report' in ('sources', 'reliability')`)
  assert.equal(entries.length, 4)
})

test('credentials issue: a worker keeps the computed score unless --replace-computed; --dry-run names the superseded credentials', async () => {
  const keys = join(line.folder, 'data/keys')
  mkdirSync(keys, { recursive: true })
  writeFileSync(join(keys, 'key.pem'), pemOfSeed(Buffer.alloc(32, 7)))
  const { username: _, ...invented } = score({ score: 1, confidenceLow: 0, scoreBand: 'emerging' })
  const lines = [username, await usernameOf(poor), 'not-registered'].map((name) =>
    JSON.stringify({ ...invented, username: name }),
  )
  const issue = async (...flags: string[]) => {
    const out = flags.includes('--dry-run') ? [] : ['--out', join(line.folder, 'issued')]
    const args = ['credentials', 'issue', '--from', '-', '--json', ...out, ...flags]
    const ended = await line.run(args, lines.join('\n'))
    return { ...ended, report: JSON.parse(ended.out) }
  }
  const shown = async () => JSON.parse((await line.run(['credentials', 'show', username])).out)
  const computed = await shown()
  assert.equal(computed.credentialSubject.score, second.score)

  const dry = await issue('--dry-run')
  assert.deepEqual([dry.code, dry.report.rejected, dry.report.issued], [1, 1, 0])
  assert.match(dry.err, /"line":1,"field":"username","reason":"has a computed score/)
  assert.equal(dry.report.supersedes.credentials, 0)
  const replacing = await issue('--dry-run', '--replace-computed')
  const credentialId = computed.id.replace('urn:uuid:', '')
  assert.deepEqual(
    [replacing.code, replacing.report.supersedes],
    [
      0,
      {
        credentials: 1,
        computed: 1,
        first: [{ username, credentialId, score: second.score, computed: true }],
      },
    ],
  )
  const result = await line.run(
    ['credentials', 'issue', '--from', '-', '--dry-run', '--replace-computed'],
    lines.join('\n'),
  )
  assert.match(result.err, /would supersede: 1, of computed scores: 1\./)
  assert.ok(
    result.err.includes(
      `  ${username}: score ${second.score}, computed, credential ${credentialId}`,
    ),
  )

  const kept = await issue()
  assert.deepEqual([kept.code, kept.report.issued, kept.report.rejected], [1, 2, 1])
  assert.deepEqual(await shown(), computed)
  const replaced = await issue('--replace-computed')
  assert.deepEqual([replaced.code, replaced.report.issued], [0, 3])
  assert.equal((await shown()).credentialSubject.score, 1)
})

test('replay: 0 if a score is reproduced, with its id in either case; 2 for an invalid id', async () => {
  for (const id of [first.id, second.id.toUpperCase()]) {
    const { code, ok, difference } = await asked('replay', id)
    assert.deepEqual([code, ok, difference], [0, true, null])
  }
  const all = await asked('replay', '--all')
  assert.deepEqual([all.code, all.replayed, all.differ], [0, 2, 0])
  for (const args of [
    ['replay'],
    ['replay', first.id, '--all'],
    ['replay', 'abc'],
    ['replay', 'a'.repeat(64)],
  ])
    assert.equal((await line.run(['scores', ...args])).code, 2, args.join(' '))
})

test('replay: 1 if a score was changed in the database, and the score is named', async () => {
  const set = (high: number) =>
    db.run(sql`update score_snapshots set confidence_high = ${high}
      where encode(snapshot_id, 'hex') = ${first.id}`)
  const [row] = await db.rows<{ high: number }>(sql`
    select confidence_high as high from score_snapshots
    where encode(snapshot_id, 'hex') = ${first.id}`)
  const high = row?.high ?? assert.fail('the score is there')
  await set(high + 1)
  const one = await asked('replay', first.id)
  const all = await asked('replay', '--all')
  await set(high)
  assert.deepEqual([one.code, all.code, all.differ], [1, 1, 1])
  assert.deepEqual(all.differing, [{ snapshotId: first.id, difference: one.difference }])
  assert.match(all.err, new RegExp(`DIFFERS ${first.id}`))
})

test('replay: 2 if engines/ has no file for the engine of a score; the engine is named and no score differs', async () => {
  const set = (sha256: string) =>
    db.run(sql`update score_snapshots set engine_sha256 = decode(${sha256}, 'hex')
      where encode(snapshot_id, 'hex') = ${first.id}`)
  const gone = '01'.repeat(32)
  await set(gone)
  const one = await asked('replay', first.id)
  const result = await line.run(['scores', 'replay', first.id])
  const all = await asked('replay', '--all')
  await set(scoring.engine.binarySha256)
  assert.deepEqual([one.code, one.ok, one.replayed, one.difference], [2, false, 0, null])
  assert.deepEqual([all.code, all.replayed, all.notReplayed, all.differ], [2, 1, 1, 0])
  assert.equal(all.unavailable[0].sha256, gone)
  assert.match(result.out, new RegExp(`Engine [\\d.]+ \\(SHA-256 ${gone}\\) is not available`))
  assert.doesNotMatch(result.out + result.err + all.err, /DIFFER/)
})

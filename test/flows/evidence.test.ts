/** Sources and evidence as an operator imports them: real commands on a real database. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Db, sql } from '../../src/platform/db/db.ts'
import { achievementId, badgeIssuer, issuedBadge } from '../support/build/badges.ts'
import { addWorkers, evidenceLineOf, workerIdOf } from '../support/build/evidence.ts'
import { holdInserts } from '../support/fault/hold.ts'
import { ended } from '../support/start/command-line.ts'
import { installation } from '../support/start/installation.ts'

const registration = ['examiner', '--name', 'The Examiner', '--kind', 'accredited'].concat([
  '--group',
  'examiners',
])

async function withSource() {
  const there = await installation()
  await addWorkers(there.db, 3)
  assert.equal((await there.run(['sources', 'register', ...registration])).code, 0)
  return there
}

/** Holds the import before it inserts the evidence of line N. */
function holdImport(url: string, n: number) {
  return holdInserts(url, { table: 'evidence', when: `new.external_id = 'item-${n}'` })
}

/** Returns everything that an import stores, except ids and times. */
function stateOf(db: Db): Promise<unknown[]> {
  return db.rows(sql`
    select e.source_id, e.external_id, e.worker_id, e.skill_id, e.type, e.value, e.observed_on::text,
      encode(e.digest, 'hex') as digest, e.state, p.payload, d.reason
    from evidence e left join evidence_private p using (evidence_id)
    left join score_recomputations d using (worker_id)
    order by e.source_id, e.external_id`)
}

test('import: one invalid line in a hundred is reported, the others are stored, and a second run changes nothing', async () => {
  const { report, file, db } = await withSource()
  const bad: readonly [line: unknown, field: string | null, reason: RegExp][] = [
    [evidenceLineOf(90_001, { value: 1_001 }), 'value', /0 to 1000/],
    [evidenceLineOf(90_002, { skillId: 'hss:unheard-of' }), 'skillId', /vocabulary/],
    [evidenceLineOf(90_003, { type: 'credential', skillId: 'hss:git' }), 'type', /this skill/],
    [evidenceLineOf(90_004, { observedOn: '2999-01-01' }), 'observedOn', /future/],
    [evidenceLineOf(90_005, { sourceId: 'nobody' }), 'sourceId', /registered source/],
    [evidenceLineOf(90_006, { workerId: workerIdOf(9) }), 'workerId', /registered worker/],
    ['{"a":', null, /not JSON/],
    [{ ...evidenceLineOf(90_007), age: 40 }, 'age', /not a known field/],
    [evidenceLineOf(90_008, { externalId: 'a\0' }), null, /NUL/],
    ['x'.repeat(300_000), null, /longer than 262144 bytes/],
    [evidenceLineOf(0, { value: 77 }), 'externalId', /another content/],
    [evidenceLineOf(90_009, { externalId: 'txt\u202eexe' }), 'externalId', /reorders/],
  ]
  const lines = bad.flatMap(([line], i) => [
    ...Array.from({ length: 99 }, (_, n) => evidenceLineOf(i * 99 + n)),
    line,
  ])
  const from = file('evidence.ndjson', lines)
  const result = { rejected: 12, lines: 1_200, interrupted: false }
  const first = await report('evidence', 'import', '--from', from)
  assert.partialDeepStrictEqual(first, { code: 1, added: 1_188, unchanged: 0, ...result })
  const errors = readFileSync(`${from}.errors.ndjson`, 'utf8')
  const refusals = errors.split('\n').filter(Boolean)
  for (const [i, [, field, reason]] of bad.entries()) {
    const refusal = JSON.parse(refusals[i] ?? '')
    assert.deepEqual([refusal.line, refusal.field], [(i + 1) * 100, field])
    assert.match(refusal.reason, reason)
    assert.deepEqual(Object.keys(refusal), ['line', 'field', 'reason'])
  }
  const before = await stateOf(db)
  assert.equal(before.length, 1_188)
  const second = await report('evidence', 'import', '--from', from)
  assert.partialDeepStrictEqual(second, { code: 1, added: 0, unchanged: 1_188, ...result })
  assert.deepEqual(await stateOf(db), before)
  assert.equal(readFileSync(`${from}.errors.ndjson`, 'utf8'), errors)
})

test('a dry run reports the effect of an import and adds nothing', async () => {
  const { report, file, db } = await withSource()
  const from = file('evidence.ndjson', [evidenceLineOf(1), evidenceLineOf(2, { value: -1 })])
  const result = await report('evidence', 'import', '--from', from, '--dry-run')
  assert.partialDeepStrictEqual(result, { code: 1, added: 1, rejected: 1, dryRun: true })
  assert.deepEqual(await stateOf(db), [])
})

test('SIGKILL during an import, repeatedly: the final state is that of an undisturbed run', async () => {
  const [killed, calm] = [await withSource(), await withSource()]
  const lines = Array.from({ length: 4_000 }, (_, n) =>
    evidenceLineOf(n, n % 5 === 0 ? { private: { notes: `note ${n}` } } : {}),
  )
  const [from, calmFrom] = [killed.file('in.ndjson', lines), calm.file('in.ndjson', lines)]
  for (const line of [700, 1_500, 2_400, 3_500]) {
    const held = await holdImport(killed.url, line)
    const child = killed.start(['evidence', 'import', '--from', from])
    const closed = once(child, 'close')
    await held.reached(child)
    child.kill('SIGKILL')
    const [, signal] = await closed
    await held.release()
    assert.equal(signal, 'SIGKILL')
    const halves = await killed.db.rows(sql`
      select e.external_id from evidence e left join evidence_private p using (evidence_id)
      where (p.evidence_id is null) = (substr(e.external_id, 6)::int % 5 = 0)
        or not exists (select from score_recomputations d where d.worker_id = e.worker_id)`)
    assert.deepEqual(halves, [])
  }
  const last = await killed.report('evidence', 'import', '--from', from)
  assert.equal(last.code, 0)
  assert.equal(last.added + last.unchanged, 4_000)
  assert.equal((await calm.report('evidence', 'import', '--from', calmFrom)).added, 4_000)
  assert.deepEqual(await stateOf(killed.db), await stateOf(calm.db))
})

test('a recomputation leaves the workers of a running import until it has ended', async () => {
  const { run, report, start, file, url } = await withSource()
  assert.equal((await run(['keys', 'create'])).code, 0)
  const lines = Array.from({ length: 2_000 }, (_, n) => evidenceLineOf(n))
  const held = await holdImport(url, 1_500)
  const child = start(['evidence', 'import', '--from', file('in.ndjson', lines)])
  const end = ended(child)
  await held.reached(child)
  assert.partialDeepStrictEqual(await report('recompute'), { code: 0, scored: 0, waiting: 3 })
  await held.release()
  assert.equal((await end).code, 0)
  assert.partialDeepStrictEqual(await report('recompute'), { code: 0, scored: 3, waiting: 0 })
})

test('Ctrl-C ends an import in good order: everything reported as added is stored', async () => {
  const { start, file, db, url } = await withSource()
  const lines = Array.from({ length: 10_000 }, (_, n) => evidenceLineOf(n))
  const held = await holdImport(url, 2_500)
  const child = start(['evidence', 'import', '--from', file('in.ndjson', lines), '--json'])
  const end = ended(child)
  await held.reached(child)
  child.kill('SIGINT')
  await held.release()
  const { code, out } = await end
  const result = JSON.parse(out)
  assert.deepEqual([code, result.interrupted], [1, true])
  assert.equal((await stateOf(db)).length, result.added)
})

test('an import needs constant memory for a file of any length', async () => {
  const { start, file } = await withSource()
  const peakOf = async (count: number): Promise<number> => {
    const lines = Array.from({ length: count }, (_, n) =>
      evidenceLineOf(n, { private: { notes: 'n'.repeat(500) } }),
    )
    const args = ['evidence', 'import', '--from', file(`${count}.ndjson`, lines)]
    const { code, peakBytes, err } = await ended(start(args))
    assert.equal(code, 0, err)
    return peakBytes
  }
  const short = await peakOf(8_000)
  const long = await peakOf(40_000)
  assert.ok(long < short + 60e6, `${short} bytes for 8,000 lines, ${long} for 40,000`)
})

test('private data appears in no output, whatever fails', async () => {
  const { run, file } = await withSource()
  const canaries = { artifactUrl: 'https://CANARY.example', submitter: 'CANARY', notes: 'CANARY' }
  const lines = [
    evidenceLineOf(1, { private: canaries }),
    evidenceLineOf(1, { private: { ...canaries, notes: 'CANARY-2' } }),
    evidenceLineOf(2, { private: canaries, value: 5_000 }),
    { ...evidenceLineOf(3), private: { ...canaries, submitter: 'CANARY\n' } },
    `{"private":{"notes":"CANARY"},`,
  ]
  const from = file('in.ndjson', lines)
  const runs = [
    await run(['evidence', 'import', '--from', from]),
    await run(['evidence', 'import', '--from', '-', '--json'], readFileSync(from, 'utf8')),
    await run(['evidence', 'revoke', 'examiner/item-1', '--reason', 'policy', '--yes', '--json']),
    await run(['sources', 'list', '--json']),
  ]
  const errors = readFileSync(`${from}.errors.ndjson`, 'utf8')
  assert.equal(errors.split('\n').filter(Boolean).length, 4)
  for (const text of [errors, ...runs.flatMap(({ out, err }) => [out, err])])
    assert.doesNotMatch(text, /CANARY/)
})

test('evidence is revoked once, by id or by the source’s name for it; missing evidence is reported', async () => {
  const { report, run, file, db } = await withSource()
  const from = file('in.ndjson', [evidenceLineOf(1), evidenceLineOf(2, { externalId: 'a/b' })])
  await report('evidence', 'import', '--from', from)
  const [{ id } = { id: '' }] = await db.rows<{ id: string }>(
    sql`select evidence_id as id from evidence where external_id = 'item-1'`,
  )
  const names = [id.toUpperCase(), 'examiner/item-1', 'examiner/a/b', 'examiner/none']
  const args = [
    'evidence',
    'revoke',
    ...names,
    '--reason',
    'source_invalid',
    '--yes',
    '--by',
    'Ada L.',
  ]
  const first = await report(...args)
  assert.equal(first.code, 1)
  assert.equal(first.revoked.length, 2)
  assert.deepEqual(first.notFound, ['examiner/none'])
  const second = await report(...args)
  assert.deepEqual([second.revoked.length, second.alreadyRevoked.length], [0, 2])
  const rows = await db.rows<{ by: string }>(
    sql`select revoked_by as by from evidence where state = 'revoked' and revoked_reason = 'source_invalid'`,
  )
  assert.deepEqual(rows, [{ by: 'Ada L.' }, { by: 'Ada L.' }])
  for (const wrong of [
    ['evidence', 'revoke', id],
    ['evidence', 'revoke', id, '--reason', 'boredom'],
    ['evidence', 'revoke', 'item-1', '--reason', 'policy', '--yes'],
    ['evidence', 'revoke', id, '--reason', 'policy', '--by', 'a\u001b[2J'],
    ['evidence', 'import', '--from', from, '--errors', from],
    ['evidence', 'import', '--from', 'nowhere'],
  ])
    assert.equal((await run(wrong)).code, 2, wrong.join(' '))
})

test('sources come from options or a file, and the list shows their assurance', async () => {
  const { report, run, file } = await withSource()
  const acme = { id: 'acme', name: 'Acme', kind: 'organisation', group: 'acme-group' }
  const from = file('sources.ndjson', [acme, { ...acme, id: 'no', assurance: 800 }, 'nothing'])
  const result = await report('sources', 'register', '--from', from)
  assert.partialDeepStrictEqual(result, { code: 1, registered: 1, rejected: 2 })
  const errors = readFileSync(`${from}.errors.ndjson`, 'utf8')
  assert.match(errors, /"line":2,"field":"assurance","reason":"is at most 700/)
  assert.match(errors, /"line":3,"field":null,"reason":"The line is not JSON/)
  const ofKind = (kind: string) => registration.map((one) => (one === 'accredited' ? kind : one))
  const self = await run(['sources', 'register', ...ofKind('self')])
  assert.deepEqual([self.code, self.out], [2, ''])
  assert.match(self.err, /--group is always self/)
  const again = await report('sources', 'register', ...registration, '--assurance', '900')
  assert.partialDeepStrictEqual(again, { code: 0, result: 'changed' })
  const dry = ['sources', 'register', ...registration, '--assurance', '100', '--dry-run']
  assert.partialDeepStrictEqual(await report(...dry), { result: 'changed', dryRun: true })
  const { sources } = await report('sources', 'list')
  assert.deepEqual(
    sources.map(({ id, assurance }: { id: string; assurance: number }) => [id, assurance]),
    [
      ['acme', 700],
      ['examiner', 900],
    ],
  )
  for (const wrong of [
    ['sources', 'register'],
    ['sources', 'register', 'x', '--from', from],
    ['sources', 'register', ...registration, '--assurance', 'much'],
  ])
    assert.equal((await run(wrong)).code, 2, wrong.join(' '))
})

test('CSV: the import is the same, a rejected row is reported with its line, and an unknown column stops the import', async () => {
  const { report, run, file, db } = await withSource()
  const header = 'sourceId,externalId,workerId,skillId,type,value,observedOn,private.notes'
  const row = (n: number, { value, notes }: { value: number | string; notes: string }) =>
    `examiner,item-${n},${workerIdOf(1)},hss:typescript,assessment,${value},2026-05-01,${notes}`
  const rows = [
    row(1, { value: 500, notes: '"two\nlines, CANARY ""quoted"""' }),
    row(2, { value: '5 %', notes: 'CANARY' }),
    row(3, { value: 700, notes: '' }),
    `${row(4, { value: 700, notes: 'CANARY' })},x`,
  ]
  const from = file('in.CSV', [header, ...rows])
  const result = { code: 1, lines: 4, rejected: 2 }
  const dry = await report('evidence', 'import', '--from', from, '--dry-run')
  assert.partialDeepStrictEqual(dry, { ...result, added: 2 })
  assert.deepEqual(await stateOf(db), [])
  const first = await report('evidence', 'import', '--from', from)
  assert.partialDeepStrictEqual(first, { ...result, added: 2 })
  assert.deepEqual(readFileSync(`${from}.errors.ndjson`, 'utf8').split('\n').slice(0, 2), [
    '{"line":4,"field":"value","reason":"must be a whole number from 0 to 1000"}',
    '{"line":6,"field":null,"reason":"The line has 9 fields, the header 8."}',
  ])
  const before = await stateOf(db)
  assert.match(JSON.stringify(before), /two\\\\nlines, CANARY/)
  const again = await report('evidence', 'import', '--from', from, '--format', 'csv')
  assert.partialDeepStrictEqual(again, { ...result, unchanged: 2 })
  assert.deepEqual(await stateOf(db), before)
  const wrong = file('wrong.csv', [`${header},email`, ...rows])
  const refused = await run(['evidence', 'import', '--from', wrong])
  assert.deepEqual([refused.code, refused.out], [2, ''])
  assert.match(refused.err, /"email" in the header is no field; there are workerId, /)
  assert.equal((await run(['evidence', 'import', '--from', from, '--format', 'xls'])).code, 2)
  assert.equal((await run(['evidence', 'import', '--from', file('no.csv', [''])])).code, 2)
  const workers =
    'username,displayName,terms.version,terms.acceptedAt,skills.0.name\nada,Ada,1,,Git\nada-l,Ada L,1,2026-01-01T00:00:00Z,Git\n'
  const imported = await run(
    ['workers', 'import', '--from', '-', '--format', 'csv', '--json'],
    workers,
  )
  assert.partialDeepStrictEqual(JSON.parse(imported.out), { created: 1, rejected: 1 })
  assert.match(imported.err, /"line":2,"field":"terms.acceptedAt","reason":"is missing"/)
  const sources = 'id,name,kind,assurance,group\nacme,Acme,organisation,650,acme\n'
  const args = ['sources', 'register', '--from', '-', '--format', 'csv']
  assert.partialDeepStrictEqual(JSON.parse((await run([...args, '--json'], sources)).out), {
    registered: 1,
    rejected: 0,
  })
})

test('Open Badges: a signed badge becomes private evidence once; a badge without known keys is rejected', async () => {
  const { report, run, file, db } = await withSource()
  const keys = ['--issuer', badgeIssuer.id, '--key', badgeIssuer.key]
  const registered = await report('sources', 'register', ...registration, ...keys)
  assert.partialDeepStrictEqual(registered, { code: 0, result: 'changed' })
  const credential = await issuedBadge({ name: 'CANARY', validUntil: '2999-01-01T00:00:00Z' })
  const line = { workerId: workerIdOf(1), sourceId: 'examiner', credential }
  const from = file('badges.ndjson', [
    line,
    { ...line, credential: { ...credential, name: 'CANARY 2' } },
    { ...line, workerId: workerIdOf(2) },
    { ...line, value: 1_000 },
    evidenceLineOf(1),
  ])
  const achievements = file('achievements.json', [
    { [achievementId]: { skillId: 'hss:typescript', type: 'assessment', value: 700 } },
  ])
  const args = ['evidence', 'import', '--from', from, '--achievements', achievements]
  assert.partialDeepStrictEqual(await report(...args), { code: 1, added: 2, rejected: 3 })
  const errors = readFileSync(`${from}.errors.ndjson`, 'utf8')
  assert.match(errors, /"line":2,"field":"credential.proof.proofValue","reason":"does not hold/)
  assert.match(errors, /"line":3,"field":"externalId","reason":"is in use for another content"/)
  assert.match(errors, /"line":4,"field":"value","reason":"is not a known field"/)
  assert.doesNotMatch(errors, /CANARY/)
  const before = await stateOf(db)
  assert.partialDeepStrictEqual(await report(...args), { added: 0, unchanged: 2, rejected: 3 })
  assert.deepEqual(await stateOf(db), before)
  const [row] = await db.rows<{ payload: string }>(sql`select payload from evidence_private`)
  assert.deepEqual(JSON.parse(row?.payload ?? '').openBadge, credential)
  const unmapped = await run(['evidence', 'import', '--from', '-'], JSON.stringify(line))
  assert.match(unmapped.err, /"field":"credential.credentialSubject.achievement.id"/)
  const wrong = file('wrong.json', [
    { [achievementId]: { skillId: 'x', type: 'assessment', value: 7 } },
  ])
  const refused = await run(['evidence', 'import', '--from', from, '--achievements', wrong])
  assert.equal(refused.code, 2)
})

/** The command line as its user sees it: real processes on a real database. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { didDocumentOf, publicKeyDocumentOf } from '../../src/credentials/documents.ts'
import { readSigners } from '../../src/credentials/key-files.ts'
import { findKeys } from '../../src/credentials/key-store.ts'
import { findPublications } from '../../src/credentials/list-store.ts'
import { originOf } from '../../src/credentials/payload.ts'
import { publishDueLists } from '../../src/credentials/publish-lists.ts'
import { sql } from '../../src/platform/db/db.ts'
import { keptEngines } from '../../src/scoring/scores/engine.ts'
import { keyRow, signerOf } from '../support/build/credentials.ts'
import { issueOne, issuer, testRegistry } from '../support/build/registry.ts'
import { holdInserts } from '../support/fault/hold.ts'
import { ended } from '../support/start/command-line.ts'
import { emptyDatabase, type TestDatabase } from '../support/start/database.ts'
import { installation as installed, ndjson } from '../support/start/installation.ts'
import { program } from '../support/start/program.ts'

async function installation(database?: TestDatabase) {
  const there = await installed(database)
  return { ...there, keys: join(there.folder, 'data/keys') }
}

async function installationWithKey() {
  const there = await installation()
  assert.equal((await there.run(['keys', 'create'])).code, 0)
  return there
}

function scoreLine(n: number, over: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    username: `user-${n}`,
    score: n % 1_001,
    confidenceLow: 0,
    confidenceHigh: 1_000,
    evidenceCount: n % 40,
    engineVersion: '1.4.2',
    engineBinarySha256: 'a'.repeat(64),
    ...over,
  }
}

const parsed = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

async function issuedCount(db: TestDatabase['db']): Promise<number> {
  const [row] = await db.rows<{ n: number }>(sql`select count(*) as n from score_credentials`)
  return row?.n ?? -1
}

test('2: invalid arguments print the usage on standard error and nothing on standard output', async () => {
  const { run } = await installation()
  const wrong = [
    [],
    ['bogus'],
    ['keys', 'bogus'],
    ['migrate', '--bogus'],
    ['credentials', 'issue'],
    ['credentials', 'issue', '--from', 'nowhere'],
    ['credentials', 'issue', '--from', '-', '--proof', 'rsa'],
    ['credentials', 'revoke'],
    ['credentials', 'revoke', '--id', '1'],
    ['credentials', 'verify', 'nowhere'],
    ['credentials', 'verify', '-', '--list', 'x'],
    ['serve', '--processes', '0'],
    ['evidence', 'list', '--username', 'ada', '--username', 'bob'],
    ['accounts', 'create', '\ufffd'],
  ]
  for (const args of wrong) {
    const { code, out, err } = await run(args)
    assert.equal(code, 2, args.join(' '))
    assert.equal(out, '', args.join(' '))
    assert.match(err, /\w/)
    assert.doesNotMatch(err, /\n +at /)
    if (args.includes('\ufffd')) assert.match(err, /an argument holds U\+FFFD/)
  }
})

test('0: --help of every command answers fast and needs no settings', async () => {
  const { start, env } = await installation()
  const run = (args: readonly string[]) => ended(start(args))
  env.PORT = 'not a port'
  for (const args of [[], ['serve'], ['keys', 'revoke'], ['credentials', 'issue'], ['doctor']]) {
    const { code, out } = await run([...args, '--help'])
    assert.equal(code, 0)
    assert.match(out, /^Usage: assay/)
  }
  const { out } = await run(['webhooks', 'create', '--help'])
  assert.match(out, /--account .*\(required\)/)
  assert.doesNotMatch(out, /--description .*\(required\)/)
})

test('2: all invalid settings are reported together, without a password', async () => {
  const { run, env } = await installation()
  Object.assign(env, { PORT: 'x', NODES: '0', DATABASE_URL: 'mysql://assay:s3cret@db/assay' })
  const { code, out, err } = await run(['keys', 'list', '--json'])
  assert.equal(code, 2)
  for (const name of ['PORT', 'NODES', 'DATABASE_URL']) assert.ok(err.includes(name), name)
  assert.equal(parsed(out).length, 1)
  assert.equal(parsed(out)[0].ok, false)
  assert.equal(`${out}${err}`.includes('s3cret'), false)
})

test('1: an unreachable database is reported in one line', async () => {
  const { run, env } = await installation()
  env.DATABASE_URL = 'postgres://assay:s3cret@127.0.0.1:1/assay'
  const { code, err } = await run(['keys', 'list'])
  assert.equal(code, 1)
  assert.equal(err.trim().split('\n').length, 1)
  assert.equal(err.includes('s3cret'), false)
  const verify = await run(['credentials', 'verify', '-'], '{}')
  assert.equal(verify.code, 2, 'could not check')
})

test('migrate: --status lists pending migrations and ends with 1 until they are applied', async () => {
  const { run, env } = await installation(await emptyDatabase())
  const before = await run(['migrate', '--status'])
  assert.equal(before.code, 1)
  assert.match(before.out, /^pending 0001_/)
  const early = await run(['keys', 'list'])
  assert.equal(early.code, 1)
  assert.match(early.err, /assay migrate/)
  const applied = parsed((await run(['migrate', '--json'])).out)[0].applied
  assert.equal(applied.length, readdirSync('migrations').length)
  assert.equal((await run(['migrate', '--status'])).code, 0)
  assert.match((await run(['migrate'])).out, /up to date/)
  const calls = await emptyDatabase()
  after(() => calls.drop())
  Object.assign(env, { REQUEST_LOG_DATABASE_URL: calls.url })
  assert.match((await run(['migrate', '--status'])).out, /up to date.*\nrequest log: pending 0001_/)
  assert.equal((await run(['migrate', '--status'])).code, 1)
  assert.match((await run(['migrate'])).out, /^The database is up to date\.\nrequest log: applied/)
  assert.equal((await run(['migrate', '--status'])).code, 0)
  Object.assign(env, { DATABASE_READ_URLS: calls.url })
  const doctor = (await run(['doctor'])).out
  assert.match(doctor, /^ok +request log +all are applied/m)
  assert.match(doctor, /^warn +replica 1 +it is no standby/m)
})

test('keys: the first key signs at once, the second is pending, and a revoked key needs --yes and stays revoked', async () => {
  const { run, keys, db } = await installation()
  const first = parsed((await run(['keys', 'create', '--json'])).out)[0]
  const second = parsed((await run(['keys', 'create', '--json'])).out)[0]
  assert.deepEqual([first.state, second.state], ['active', 'pending'])
  for (const name of readdirSync(keys)) assert.equal(statSync(join(keys, name)).mode & 0o077, 0)
  const early = await run(['keys', 'rotate'])
  assert.equal(early.code, 1)
  assert.match(early.err, /Too early: before \d{4}-/)
  assert.equal((await run(['keys', 'rotate', '--now'])).code, 0)
  assert.equal((await run(['keys', 'rotate'])).code, 1)
  const asked = await run(['keys', 'revoke', first.kid])
  assert.equal(asked.code, 2)
  assert.match(asked.err, /every credential that it signed becomes invalid/)
  assert.equal(
    (await findKeys(db)).some((key) => key.state === 'revoked'),
    false,
  )
  const method = `did:web:scores.example.org#${first.kid}`
  assert.equal((await run(['keys', 'revoke', method, '--yes'])).code, 0)
  assert.equal((await run(['keys', 'revoke', first.kid, '--yes'])).code, 0)
  assert.equal((await run(['keys', 'revoke', 'z6MkNobody', '--yes'])).code, 1)
  const table = (await run(['keys', 'list'])).out.trimEnd().split('\n')
  assert.equal(table.length, 3)
  for (const row of table) assert.ok(row.length <= 120, row)
  const listed = parsed((await run(['keys', 'list', '--json'])).out)[0].keys
  assert.deepEqual(
    listed.map(({ kid, state }: { kid: string; state: string }) => [kid, state]),
    [
      [first.kid, 'revoked'],
      [second.kid, 'active'],
    ],
  )
})

test('issue: valid lines are issued in order; invalid ones go to the error file with place and reason, and the exit code is 1', async () => {
  const { run, file, db } = await installationWithKey()
  const lines = [
    scoreLine(1),
    '{"username":',
    scoreLine(2, { scoreBand: 'exceptional' }),
    '',
    'x'.repeat(20_000),
    scoreLine(1),
    scoreLine(1, { score: 7 }),
    scoreLine(3, { id: undefined }),
  ]
  file('scores.ndjson', lines)
  const issue = ['credentials', 'issue', '--from', 'scores.ndjson']
  const { code, out, err } = await run(issue)
  assert.equal(code, 1)
  assert.match(err, /7 lines: 2 issued, 1 issued before, 4 rejected/)
  assert.deepEqual(
    parsed(out).map(({ credentialSubject: { id } }) => id),
    [1, 1, 3].map((n) => `https://scores.example.org/u/user-${n}`),
  )
  const refused = parsed(readFileSync(file('scores.ndjson.errors.ndjson'), 'utf8'))
  assert.deepEqual(
    refused.map(({ line, field }) => [line, field]),
    [
      [2, null],
      [3, 'scoreBand'],
      [5, null],
      [7, 'id'],
    ],
  )
  assert.equal(refused[0].text, '{"username":')
  assert.equal(await issuedCount(db), 2)
  const fromPipe = await run(['credentials', 'issue', '--from', '-'], ndjson([scoreLine(1), '!']))
  assert.equal(fromPipe.code, 1)
  assert.deepEqual(parsed(fromPipe.out)[0], parsed(out)[0])
  assert.match(fromPipe.err, /"line":2/)
})

test('issue: --json prints one object, --proof selects the form, and the input file is never overwritten', async () => {
  const { run, file } = await installationWithKey()
  const [kept] = keptEngines()
  const ofKeptEngine = scoreLine(2, { engineBinarySha256: kept?.binarySha256 })
  file('scores.ndjson', [scoreLine(1), ofKeptEngine])
  const issue = ['credentials', 'issue', '--from', 'scores.ndjson']
  for (const form of ['native', 'eddsa-jcs-2022', 'eddsa-rdfc-2022']) {
    const { code, out } = await run([...issue, '--out', 'out', '--json', '--proof', form])
    assert.equal(code, 0)
    const [report, ...more] = parsed(out)
    assert.deepEqual([report.ok, report.lines, more.length], [true, 2, 0])
    assert.deepEqual(
      [report.errors, existsSync(file('scores.ndjson.errors.ndjson'))],
      [null, false],
    )
    const credentials = readFileSync(file('out'), 'utf8').split('\n')
    const verified = await run(['credentials', 'verify', '-', '--json'], credentials[0])
    assert.equal(verified.code, 0)
    const notes = [`proof:${form}`, 'engine_not_kept', 'status_source:live']
    assert.deepEqual(parsed(verified.out)[0].notes, notes, 'the same as over HTTP')
    if (form !== 'native') continue
    const ofKept = await run(['credentials', 'verify', '-', '--json'], credentials[1])
    assert.deepEqual(parsed(ofKept.out)[0].notes, [`proof:${form}`, 'status_source:live'])
  }
  assert.equal((await run([...issue, '--json'])).code, 2)
  symlinkSync('scores.ndjson', file('soft'))
  linkSync(file('scores.ndjson'), file('hard'))
  for (const name of ['./scores.ndjson', 'soft', 'hard'])
    assert.equal((await run([...issue, '--out', name])).code, 2, name)
  assert.equal(parsed(readFileSync(file('scores.ndjson'), 'utf8')).length, 2)
})

test('1: a full disk is reported with the file and the next step, for every output', async () => {
  const { run, file, env, folder } = await installationWithKey()
  file('scores.ndjson', [scoreLine(1)])
  const full = await run(['credentials', 'issue', '--from', 'scores.ndjson', '--out', '/dev/full'])
  assert.equal(full.code, 1)
  assert.match(full.err, /\/dev\/full did not take everything \(no space is left\).*same command/)
  for (const args of [
    ['keys', 'list'],
    ['credentials', 'issue', '--from', 'scores.ndjson'],
  ]) {
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', '"$0" "$@" > /dev/full', process.execPath, program, ...args],
      { cwd: folder, env, encoding: 'utf8' },
    )
    assert.equal(status, 1, args.join(' '))
    assert.match(stderr, /ENOSPC|no space is left/, args.join(' '))
  }
})

test('issue --dry-run: finds the invalid lines without a key and issues nothing', async () => {
  const { run, db } = await installation()
  const dry = ['credentials', 'issue', '--from', '-', '--dry-run', '--json']
  const { code, out, err } = await run(dry, ndjson([scoreLine(1), '{}', scoreLine(2)]))
  assert.equal(code, 1)
  assert.deepEqual([parsed(out)[0].lines, parsed(out)[0].rejected], [3, 1])
  assert.match(err, /"line":2,"field":"username"/)
  assert.equal((await run(dry, ndjson([scoreLine(1)]))).code, 0)
  assert.equal(await issuedCount(db), 0)
})

test('issue: without the active key on this machine the message is clear and the output file is unchanged', async () => {
  const { run, file, env } = await installationWithKey()
  env.SIGNING_KEYS_DIR = file('elsewhere')
  file('scores.ndjson', [scoreLine(1)])
  writeFileSync(file('out'), 'of an earlier run')
  const issue = ['credentials', 'issue', '--from', 'scores.ndjson', '--out', 'out']
  const { code, err } = await run(issue)
  assert.equal(code, 1)
  assert.match(err, /private key of the active key z6Mk\w+ is not in .*elsewhere/)
  assert.equal(readFileSync(file('out'), 'utf8'), 'of an earlier run')
})

/** Holds the process before it inserts the credential of `user-N`. */
function holdIssuing(url: string, n: number) {
  return holdInserts(url, { table: 'score_credentials', when: `new.subject like '%/user-${n}'` })
}

test('issue: after SIGKILL in the middle, a second run issues each line once and writes them in order', async () => {
  const { run, start, file, db, url } = await installationWithKey()
  const lines = Array.from({ length: 1_000 }, (_, i) => scoreLine(i))
  file('scores.ndjson', lines)
  const issue = ['credentials', 'issue', '--from', 'scores.ndjson']
  const held = await holdIssuing(url, 600)
  const child = start(issue)
  const killed = ended(child)
  await held.reached(child)
  child.kill('SIGKILL')
  const written = (await killed).out.split('\n').slice(0, -1)
  await held.release()
  const committed = await issuedCount(db)
  assert.ok(written.length > 0 && written.length <= committed && committed < lines.length)
  const { code, out, err } = await run(issue)
  assert.equal(code, 0)
  assert.match(err, new RegExp(`${lines.length - committed} issued, ${committed} issued before`))
  const all = parsed(out)
  assert.deepEqual(
    all.map(({ id }) => id),
    lines.map(({ id }) => `urn:uuid:${String(id)}`),
  )
  assert.deepEqual(
    written.map((line) => JSON.parse(line)),
    all.slice(0, written.length),
  )
  assert.equal(await issuedCount(db), lines.length)
})

test('issue: Ctrl-C ends after the current batch and says how to continue', async () => {
  const { start, file, db, url } = await installationWithKey()
  writeFileSync(
    file('scores.ndjson'),
    ndjson(Array.from({ length: 20_000 }, (_, i) => scoreLine(i))),
  )
  const held = await holdIssuing(url, 1_500)
  const child = start(['credentials', 'issue', '--from', 'scores.ndjson'])
  const stopped = ended(child)
  await held.reached(child)
  child.kill('SIGINT')
  await held.release()
  const { code, out, err } = await stopped
  assert.equal(code, 1)
  assert.match(err, /Interrupted/)
  const issued = await issuedCount(db)
  assert.ok(issued < 20_000)
  assert.equal(parsed(out).length, issued)
})

/** Sends Ctrl-C to a command that waits before its first audit entry of `action` is stored. */
async function interrupt(
  { start, url }: Awaited<ReturnType<typeof installation>>,
  action: string,
  args: readonly string[],
) {
  const held = await holdInserts(url, { table: 'audit_log', when: `new.action = '${action}'` })
  const child = start(args)
  const stopped = ended(child)
  await held.reached(child)
  child.kill('SIGINT')
  return { stopped, release: () => held.release() }
}

test('Ctrl-C lets the transaction end: a command of one transaction says what it did, or that nothing was changed', async () => {
  const there = await installation()
  const done = await interrupt(there, 'accounts.created', ['accounts', 'create', 'Done'])
  await done.release()
  const { code, out } = await done.stopped
  assert.deepEqual([code, out.startsWith('created the account Done')], [0, true])

  const undone = await interrupt(there, 'accounts.created', ['accounts', 'create', 'Undone'])
  await there.db.rows(sql`
    select pg_terminate_backend(pid) from pg_locks
    where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`)
  const stopped = await undone.stopped
  await undone.release()
  assert.deepEqual(
    [stopped.code, stopped.out, stopped.err],
    [130, '', 'assay: Interrupted. Nothing was changed.\n'],
  )
  const { out: list } = await there.run(['accounts', 'list'])
  assert.deepEqual([/Done/.test(list), /Undone/.test(list)], [true, false])
})

test('Ctrl-C in a change of several transactions: it counts what it did, and a second run does the rest', async () => {
  const there = await installationWithKey()
  const { run, file } = there
  const lines = Array.from({ length: 600 }, (_, n) => scoreLine(n))
  const issued = await run(['credentials', 'issue', '--from', '-'], ndjson(lines))
  writeFileSync(file('names'), issued.out)
  const revocation = ['credentials', 'revoke', '--from', 'names', '--json', '--yes']
  const held = await interrupt(there, 'credentials.revoked', revocation)
  await held.release()
  const { code, out } = await held.stopped
  assert.equal(code, 1)
  assert.partialDeepStrictEqual(parsed(out), [{ ok: false, revoked: 256, interrupted: true }])
  const again = await run(revocation)
  assert.equal(again.code, 0)
  assert.partialDeepStrictEqual(parsed(again.out), [
    { ok: true, revoked: 344, alreadyRevoked: 256, interrupted: false },
  ])
})

test('issue: 50,000 lines need less than 200 MB', async () => {
  const { start, file } = await installationWithKey()
  writeFileSync(
    file('scores.ndjson'),
    ndjson(Array.from({ length: 50_000 }, (_, i) => scoreLine(i))),
  )
  const issue = ['credentials', 'issue', '--from', 'scores.ndjson', '--out', 'out', '--json']
  const { code, out, peakBytes } = await ended(start(issue))
  assert.equal(code, 0)
  assert.equal(parsed(out)[0].issued, 50_000)
  assert.ok(peakBytes > 0 && peakBytes < 200e6, `${Math.round(peakBytes / 1e6)} MB`)
})

test('revoke: every kind of name works, once and permanently; 1 if one is not found', async () => {
  const { run, file, db } = await installationWithKey()
  const lines = Array.from({ length: 6 }, (_, i) => scoreLine(i))
  const issued = await run(['credentials', 'issue', '--from', '-'], ndjson(lines))
  const credentials = parsed(issued.out)
  const verify = await run(['credentials', 'verify', '-', '--json'], JSON.stringify(credentials[2]))
  const digest = parsed(verify.out)[0].presented.payloadSha256
  const given = await run([
    'credentials',
    'revoke',
    '--id',
    credentials[0].id,
    credentials[1].id,
    '--digest',
    digest,
    '--token',
    credentials[3].credentialStatus.id,
    '--yes',
    '--json',
  ])
  assert.equal(given.code, 0)
  assert.deepEqual(parsed(given.out)[0], {
    ok: true,
    revoked: 4,
    alreadyRevoked: 0,
    notFound: 0,
    interrupted: false,
    scores: 0,
  })
  const unconfirmed = await run(['credentials', 'revoke', '--id', credentials[5].id])
  assert.deepEqual([unconfirmed.code, unconfirmed.out], [2, ''])
  assert.match(unconfirmed.err, /Add --yes to do it/)
  const dry = await run(['credentials', 'revoke', '--id', credentials[5].id, '--dry-run'])
  assert.match(dry.out, /^Dry run: nothing was changed[^]*1 revoked, 0 revoked before/)
  const unknown = '0'.repeat(64)
  file('names', [credentials[4], digest, unknown])
  const fromFile = await run(['credentials', 'revoke', '--from', 'names', '--yes'])
  assert.equal(fromFile.code, 1)
  assert.match(fromFile.out, /1 revoked, 1 revoked before, 1 not found/)
  assert.ok(fromFile.err.includes(unknown))
  const states = await Promise.all(
    credentials.map((one) => run(['credentials', 'verify', '-'], JSON.stringify(one))),
  )
  assert.deepEqual(
    states.map(({ code }) => code),
    [1, 1, 1, 1, 1, 0],
  )
  assert.equal(await issuedCount(db), 6)
})

test('list: credentials of a worker under all its states, page by page', async () => {
  const { run } = await installationWithKey()
  const lines = [1, 2, 1, 1].map((n, i) => {
    return { ...scoreLine(n), id: `00000000-0000-4000-8000-00000000010${i}` }
  })
  const issued: { id: string }[] = []
  for (const one of lines)
    issued.push(...parsed((await run(['credentials', 'issue', '--from', '-'], ndjson([one]))).out))
  const ids = issued.map(({ id }) => id.replace('urn:uuid:', ''))
  await run(['credentials', 'revoke', '--id', String(ids[2]), '--yes'])
  const list = async (...args: string[]) =>
    parsed((await run(['credentials', 'list', '--json', ...args])).out)[0].credentials
  const stateOf = ({ credentialId, state }: Record<string, string>) => [credentialId, state]
  assert.deepEqual((await list('--username', '@user-1')).map(stateOf), [
    [ids[3], 'current'],
    [ids[2], 'revoked'],
    [ids[0], 'superseded'],
  ])
  assert.deepEqual((await list('--limit', '2')).map(stateOf), [
    [ids[3], 'current'],
    [ids[2], 'revoked'],
  ])
  assert.deepEqual(await list('--username', 'nobody'), [])
})

test('revoke: a file with a line that names no credential ends with 2 and the line; credentials named before it are revoked', async () => {
  const { run, file } = await installationWithKey()
  const issued = await run(
    ['credentials', 'issue', '--from', '-'],
    ndjson([scoreLine(1), scoreLine(2)]),
  )
  const [before, behind] = parsed(issued.out)
  for (const lines of [['?'], [before, '?', behind]]) {
    file('names', lines)
    const ended = await run(['credentials', 'revoke', '--from', 'names', '--yes'])
    assert.equal(ended.code, 2)
    assert.match(ended.err, new RegExp(`line ${lines.length === 1 ? 1 : 2}: no id`))
  }
  const result = async (credential: unknown) =>
    parsed((await run(['credentials', 'verify', '-', '--json'], JSON.stringify(credential))).out)[0]
  assert.equal((await result(before)).reason, 'revoked')
  assert.equal((await result(behind)).valid, true)
})

test('show: 0 for a valid credential; a revoked or expired one is printed with a note and 1', async () => {
  const { run, db } = await installationWithKey()
  await run(['credentials', 'issue', '--from', '-'], ndjson([scoreLine(1), scoreLine(2)]))
  const show = (n: number, ...flags: string[]) =>
    run(['credentials', 'show', `user-${n}`, ...flags])
  const standing = await show(1)
  assert.deepEqual([standing.code, standing.err], [0, ''])
  const { id } = JSON.parse(standing.out)
  await run(['credentials', 'revoke', '--id', id, '--yes'])
  const revoked = await show(1)
  assert.equal(revoked.code, 1)
  assert.equal(revoked.out, standing.out)
  assert.match(revoked.err, /^user-1: the credential was revoked on \d{4}-\d\d-\d\dT[\d:]{8}Z\.$/m)
  const [report] = parsed((await show(1, '--json')).out)
  assert.partialDeepStrictEqual(report, { ok: false, credential: { id } })
  assert.match(report.message, /revoked on/)
  await db.run(sql`update signing_keys set state = 'revoked', revoked_at = '2026-05-14'`)
  const unsigned = await show(2)
  assert.equal(unsigned.code, 1)
  assert.match(unsigned.err, /the key that signed the credential was revoked on 2026-05-14/)
})

test('export: each credential is written as it was issued, the latest first, to a file of its owner', async () => {
  const { run, file } = await installationWithKey()
  const lines = ndjson([scoreLine(1), scoreLine(2), scoreLine(3)])
  const issued = parsed((await run(['credentials', 'issue', '--from', '-'], lines)).out)
  const out = file('all.ndjson')
  const [report] = parsed((await run(['credentials', 'export', '--out', out, '--json'])).out)
  assert.deepEqual(report, { ok: true, exported: 3, out })
  assert.equal(statSync(out).mode & 0o777, 0o600)
  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? 1 : -1)
  assert.deepEqual(parsed(readFileSync(out, 'utf8')), issued.toSorted(byId))
  const one = await run(['credentials', 'export', '--username', '@user-2'])
  assert.deepEqual(parsed(one.out), [issued[1]])
  assert.equal((await run(['credentials', 'export', '--json'])).code, 2)
})

test('show: 1 for a credential that has expired', async () => {
  const registry = await testRegistry()
  const { run } = await installation(registry)
  const issuedAt = new Date('2020-01-01T00:00:00Z')
  await issueOne(registry.db, { username: 'ada', issuedAt }, { ...issuer, validityDays: 30 })
  const { code, out, err } = await run(['credentials', 'show', 'ada'])
  assert.equal(code, 1)
  assert.equal(JSON.parse(out).validUntil, '2020-01-31T00:00:00Z')
  assert.equal(err.trim(), 'ada: the credential expired on 2020-01-31T00:00:00Z.')
})

test('verify: works offline from files without a database and ends with 0, 1 or 2', async () => {
  const { run, file, db, env, keys } = await installationWithKey()
  const { out } = await run(['credentials', 'issue', '--from', '-'], ndjson([scoreLine(1)]))
  const credential = parsed(out)[0]
  writeFileSync(file('credential.json'), JSON.stringify(credential))
  const origin = originOf('https://scores.example.org')
  const [key] = await findKeys(db)
  assert.ok(key !== undefined)
  writeFileSync(file('did.json'), JSON.stringify(didDocumentOf(origin, [key])))
  const signer = (await readSigners(keys)).get(key.kid)
  assert.ok(signer !== undefined)
  const fetchList = async (name: string): Promise<void> => {
    await publishDueLists(db, { origin, signer }, new Date())
    const { statusListCredential } = credential.credentialStatus
    const found = await findPublications(db, { listIds: [], publications: [] })
    const list = found.find(({ listId }) => statusListCredential.endsWith(`/${listId}`))?.fresh
    const document = { ...JSON.parse(list?.payload ?? ''), proof: list?.proofs['eddsa-rdfc-2022'] }
    writeFileSync(file(name), JSON.stringify(document))
  }
  await fetchList('before.json')
  assert.equal((await run(['credentials', 'revoke', '--id', credential.id, '--yes'])).code, 0)
  await fetchList('after.json')
  env.DATABASE_URL = 'postgres://127.0.0.1:1/nobody'
  const offline = ['credentials', 'verify', 'credential.json', '--key', 'did.json']
  assert.equal((await run([...offline, '--list', 'before.json'])).code, 0)
  const revoked = await run([...offline, '--list', 'after.json'])
  assert.equal(revoked.code, 1)
  assert.match(revoked.out, /^NOT VALID \(revoked\)/)
  const missing = await run([...offline, '--list', 'did.json'])
  assert.equal(missing.code, 2)
  assert.ok(
    missing.out.includes(`list ${credential.credentialStatus.statusListCredential} is missing`),
  )
  const several = await run([...offline, '--list', 'did.json', '--list', 'after.json'])
  assert.match(several.out, /^NOT VALID \(revoked\)/)
  mkdirSync(file('lists'))
  assert.match((await run([...offline, '--list', 'lists'])).out, /is missing/)
  for (const name of ['before.json', 'did.json'])
    copyFileSync(file(name), file(join('lists', name)))
  writeFileSync(file('lists/notes.txt'), 'no JSON')
  const folder = await run([
    'credentials',
    'verify',
    '--key',
    'did.json',
    '--list',
    'lists',
    'credential.json',
  ])
  assert.equal(folder.code, 0, folder.err)
  assert.equal((await run([...offline, '--list', 'nowhere'])).code, 2)
  assert.match(
    (await run(offline)).out,
    /^NOT CHECKED \(status_unavailable\)[^]*revocation +not checked/,
  )
  const otherKey = publicKeyDocumentOf(origin, keyRow(signerOf(8)))
  writeFileSync(file('other-key.json'), JSON.stringify(otherKey))
  const keyless = await run([...offline.with(4, 'other-key.json'), '--list', 'before.json'])
  assert.equal(keyless.code, 2)
  assert.match(keyless.out, /^NOT CHECKED \(unknown_key\): .*not in the key file: give did\.json/)
  for (const text of ['', '[]', 'no JSON'])
    assert.equal((await run(offline.with(2, '-'), text)).code, 2, text)
  const twice = `{"issuer":1,${JSON.stringify(credential).slice(1)}`
  const ambiguous = await run([...offline.with(2, '-'), '--json'], twice)
  assert.equal(ambiguous.code, 1)
  assert.equal(parsed(ambiguous.out)[0].reason, 'ambiguous_json')
})

test('serve --demo: the printed commands work, verify --url shows each lesson, doctor warns of nothing, and Ctrl-C ends it with 0', async () => {
  const { start, run, file, env } = await installation(await emptyDatabase())
  // The test reads the port from the log.
  env.LOG_LEVEL = 'info'
  const child = start(['serve', '--demo'])
  after(() => child.kill('SIGKILL'))
  let log = ''
  const printed = new Promise<void>((resolve) => {
    child.stdout?.on('data', (text) => {
      log += text
      if (/"msg":"listening"/.test(log) && /^Candidates and scores, /m.test(log)) resolve()
    })
  })
  const stopped = ended(child)
  await Promise.race([printed, stopped.then(({ err }) => assert.fail(`it ended: ${err}`))])
  const port = /"port":(\d+)/.exec(log)?.[1]
  const url = `http://127.0.0.1:${port}`
  const answers = (log.match(/^curl .*$/gm) ?? []).map((command) => {
    const here = command.replaceAll(env.PUBLIC_URL ?? '', url)
    return JSON.parse(spawnSync('sh', ['-c', here], { encoding: 'utf8' }).stdout)
  })
  assert.deepEqual(
    answers.map(({ valid, query, reason, status }) => query ?? reason ?? status ?? valid),
    [true, 'typescript', 'signature_invalid', 'revoked'],
  )
  const demo = (name: string): string => file(`data/demo/credentials/${name}.json`)
  for (const [name, code] of [
    ['valid', 0],
    ['superseded', 0],
    ['revoked', 1],
    ['expired', 1],
  ] as const) {
    const asked = await run(['credentials', 'verify', demo(name), '--url', url])
    assert.equal(asked.code, code, `${name}: ${asked.out}${asked.err}`)
  }
  const doctor = await run(['doctor', '--json'])
  assert.equal(doctor.code, 0, doctor.out)
  const [{ findings }] = parsed(doctor.out)
  // The PostgreSQL of the tests runs without fsync.
  const ofService = findings.filter(({ check }: { check: string }) => check !== 'server')
  assert.deepEqual(
    ofService.filter(({ level }: { level: string }) => level !== 'ok'),
    [],
  )
  // What a probe checks, doctor checks under the same name.
  const { checks } = (await (await fetch(`${url}/readyz`)).json()) as { checks: object }
  const named = new Set(findings.map(({ check }: { check: string }) => check))
  assert.deepEqual(
    Object.keys(checks).filter((name) => !named.has(name)),
    [],
  )
  const status = await run(['status'])
  assert.ok(status.code === 0 || status.code === 1, status.err)
  assert.match(status.out, /^processes 1 serve requests, 1 run background jobs; release /m)
  assert.match(status.out, /^keys +signing key z6Mk/m)
  assert.match(status.out, /^webhooks +\d+ active endpoints?: \d fail/m)
  child.kill('SIGINT')
  assert.equal((await stopped).code, 0)
  const gone = await run(['credentials', 'verify', demo('valid'), '--url', url])
  assert.equal(gone.code, 2)
})

test('2: an address that redirects or gives another answer is not trusted', async () => {
  const { run } = await installation()
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    if (request.url === '/api/v1/score-vc/verify')
      response.writeHead(307, { location: '/elsewhere' }).end()
    else response.end('{"valid":true}')
  }).listen(0, '127.0.0.1')
  after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (const path of ['', '/elsewhere']) {
    const url = `http://127.0.0.1:${port}${path}`
    assert.equal((await run(['credentials', 'verify', '-', '--url', url], '{}')).code, 2)
  }
  assert.deepEqual(asked, ['/api/v1/score-vc/verify', '/elsewhere'])
})

test('doctor: names each problem with its remedy, and ends with 1 only if a problem stops the service', async () => {
  const { run, keys, file, env } = await installation(await emptyDatabase())
  const unmigrated = await run(['doctor'])
  assert.equal(unmigrated.code, 1)
  assert.match(unmigrated.out, /^fail +schema .*assay migrate/m)
  assert.doesNotMatch(unmigrated.out, /make room on its disk/)
  await run(['migrate'])
  const keyless = await run(['doctor'])
  assert.equal(keyless.code, 0)
  assert.match(keyless.out, /^warn +signing +none is active: .*assay keys create/m)
  await run(['keys', 'create'])
  const keyed = await run(['doctor'])
  assert.match(keyed.out, /^ok +signing/m)
  assert.match(keyed.out, /^warn +settings +OPERATOR_NAME is not set: .*scores\.example\.org/m)
  env.OPERATOR_NAME = 'Example Scores Ltd'
  assert.doesNotMatch((await run(['doctor'])).out, /OPERATOR_NAME/)
  assert.match(keyed.out, /^ok +settings kept +all \d+ .*in force/m)
  assert.match(keyed.out, /^ok +mail +off.*SMTP_URL.*sign-in-link/m)
  assert.match(keyed.out, /^ok +provider +off.*OIDC_ISSUER/m)
  assert.match(keyed.out, /^warn +security +SECURITY_CONTACT is not set/m)
  env.SECURITY_CONTACT = 'mailto:security@example.org'
  env.DATABASE_URL_FILE = file('database-url')
  writeFileSync(env.DATABASE_URL_FILE, `${env.DATABASE_URL}\n`, { mode: 0o644 })
  env.DATABASE_URL = ''
  const open = await run(['doctor'])
  assert.match(open.out, /^ok +security +security\.txt names mailto:security@example\.org$/m)
  assert.match(open.out, /^warn +secret files +other users can read .*database-url: chmod 600$/m)
  assert.match(open.out, /^ok +schema/m)
  chmodSync(env.DATABASE_URL_FILE, 0o600)
  assert.match((await run(['doctor'])).out, /^ok +secret files +DATABASE_URL_FILE$/m)
  env.OIDC_ISSUER = 'http://127.0.0.1:1'
  env.OIDC_CLIENT_ID = 'assay'
  const half = await run(['doctor'])
  assert.equal(half.code, 1)
  assert.match(half.out, /^fail +settings +OIDC_CLIENT_SECRET must be set where .*OIDC_ISSUER/m)
  env.OIDC_CLIENT_SECRET = 'secret'
  const dead = await run(['doctor'])
  assert.equal(dead.code, 0)
  assert.match(dead.out, /^warn +provider +127\.0\.0\.1:1 does not answer.*connect_refused/m)
  assert.match(dead.out, /callback URL \S+\/sign-in\/oidc\/callback/)
  for (const name of ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET']) env[`OIDC_${name}`] = ''
  writeFileSync(join(keys, 'broken.pem'), 'no key')
  const broken = await run(['doctor'])
  assert.equal(broken.code, 1)
  assert.match(broken.out, /^fail +key files .*broken\.pem/m)
  rmSync(join(keys, 'broken.pem'))
  await run(['credentials', 'issue', '--from', '-'], ndjson([scoreLine(1)]))
  assert.match((await run(['doctor'])).out, /^ok +status lists/m)
  env.PUBLIC_URL = 'http://localhost:9000'
  const elsewhere = await run(['doctor'])
  assert.equal(elsewhere.code, 0)
  assert.match(elsewhere.out, /^warn +status lists .*scores\.example\.org.*localhost%3A9000/m)
  assert.match(elsewhere.out, /^warn +settings +PUBLIC_URL with http .*cookie lacks Secure/m)
  env.FORMER_PUBLIC_URLS = 'https://scores.example.org'
  assert.match((await run(['doctor'])).out, /^ok +status lists/m)
  env.NODES = '-1'
  assert.match((await run(['doctor'])).out, /^fail +settings .*NODES/m)
  assert.ok(existsSync(file('data')))
})

test('doctor: warns of lists before they expire; expired lists stop the service', async () => {
  const { run, db } = await installationWithKey()
  await run(['credentials', 'issue', '--from', '-'], ndjson([scoreLine(1)]))
  for (const [hours, code, expected] of [
    [11, 0, /^warn +status lists .*no process renews them/m],
    [-1, 1, /^fail +status lists .*verifiers refuse it/m],
  ] as const) {
    await db.run(sql`
      update status_lists set valid_until = clock_timestamp() + ${hours} * interval '1 hour'`)
    const doctor = await run(['doctor'])
    assert.equal(doctor.code, code)
    assert.match(doctor.out, expected)
  }
})

test('doctor: reports files that other users can read, and prints no password of a setting', async () => {
  const { run, keys, file, env } = await installationWithKey()
  assert.match((await run(['doctor'])).out, /^ok +data folder.*\nok +key files/m)
  const name = readdirSync(keys).find((one) => one.endsWith('.pem')) ?? ''
  chmodSync(join(keys, name), 0o640)
  chmodSync(file('data'), 0o701)
  const keyring = `k1:${Buffer.alloc(32, 1).toString('base64')}\n`
  writeFileSync(join(file('data'), 'webhook-secrets.keys'), keyring, { mode: 0o604 })
  const open = await run(['doctor'])
  assert.equal(open.code, 0)
  assert.match(open.out, /^warn +data folder .*chmod o-rwx/m)
  assert.match(
    open.out,
    new RegExp(`^warn +key files .*${name}, .*webhook-secrets.keys: chmod 600`, 'm'),
  )
  env.PUBLIC_URL = 'https://operator:hunter2@scores.example.org'
  for (const args of [['doctor'], ['doctor', '--json']]) {
    const { code, out, err } = await run(args)
    assert.equal(code, 1)
    assert.match(out, /PUBLIC_URL/)
    assert.doesNotMatch(out + err, /hunter2/)
  }
})

test('doctor: reports a clock that differs from the database by seconds; half a minute or another PostgreSQL version stops the service', async () => {
  const { run, db, url } = await installationWithKey()
  const name = new URL(url).pathname.slice(1)
  const runInDatabase = (text: string) => db.run({ text, name: '', values: [] })
  await runInDatabase(`alter database ${name} set search_path to public, pg_catalog`)
  for (const [seconds, level] of [
    [20, 'warn'],
    [-20, 'warn'],
    [60, 'fail'],
    [-60, 'fail'],
  ] as const) {
    await runInDatabase(`
      create or replace function public.clock_timestamp() returns timestamptz language sql
      as $$ select pg_catalog.clock_timestamp() + interval '${seconds} seconds' $$`)
    const { code, out } = await run(['doctor'])
    assert.match(out, new RegExp(`^${level} +clock .*synchronise both`, 'm'))
    assert.equal(code, level === 'fail' ? 1 : 0)
  }
  await runInDatabase('drop function public.clock_timestamp()')
  assert.match((await run(['doctor'])).out, /^ok +clock/m)
  for (const [number, level] of [
    [140_022, 'fail'],
    [150_000, 'ok'],
    [189_999, 'ok'],
    [190_000, 'fail'],
  ] as const) {
    await runInDatabase(`
      create or replace function public.current_setting(text) returns text language sql
      as $$ select case $1 when 'server_version_num' then '${number}'
        else pg_catalog.current_setting($1) end $$`)
    assert.match((await run(['doctor'])).out, new RegExp(`^${level} +database +PostgreSQL`, 'm'))
  }
})

test('doctor: reports secrets that differ from those that the database was filled with', async () => {
  const { run, env, file } = await installation()
  const ring = (fill: number): string => `k1:${Buffer.alloc(32, fill).toString('base64')}`
  const keyed = { SECRETS_KEYRING: ring(2) }
  assert.match((await run(['doctor'])).out, /^ok +api keys +none yet\nok +secrets +no webhook/m)
  Object.assign(env, keyed)
  for (const args of [
    ['accounts', 'create', 'Example GmbH'],
    ['api-keys', 'create', 'Example GmbH', '--scope', 'scores:read'],
    [
      'webhooks',
      'create',
      'https://hooks.example.org/',
      '--account',
      'Example GmbH',
      '--event',
      'score.updated',
    ],
  ])
    assert.equal((await run(args)).code, 0, args.join(' '))
  const sound = await run(['doctor'])
  assert.equal(sound.code, 0, sound.out)
  assert.match(
    sound.out,
    /^ok +api keys +1 active.*\nok +secrets +those of webhooks can be opened/m,
  )
  const plain = [
    'http://hooks.example.org/',
    '--account',
    'Example GmbH',
    '--event',
    'score.updated',
  ]
  const createPlain = () => run(['webhooks', 'create', ...plain])
  assert.equal((await createPlain()).code, 2)
  Object.assign(env, { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_PORTS: '80,443' })
  assert.equal((await createPlain()).code, 0, 'on the command line the setting counts')
  const warned = await run(['doctor'])
  assert.equal(warned.code, 0)
  assert.match(warned.out, /^warn +settings +WEBHOOK_ALLOW_HTTP=true is for development/m)
  for (const [setting, value, expected] of [
    ['SECRETS_KEYRING', '', /^fail +secrets +.*the key k1, and this machine lacks it/m],
    ['SECRETS_KEYRING', ring(3), /^fail +secrets +.*has another key of that name/m],
  ] as const) {
    Object.assign(env, keyed, { [setting]: value })
    const { code, out } = await run(['doctor'])
    assert.equal(code, 1)
    assert.match(out, expected)
  }
  Object.assign(env, { SECRETS_KEYRING: '' })
  mkdirSync(file('data'))
  writeFileSync(file('data/webhook-secrets.keys'), 'k1:short')
  assert.match(
    (await run(['doctor'])).out,
    /^fail +secrets +.*webhook-secrets.keys must hold kid:key/m,
  )
})

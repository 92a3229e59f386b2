/**
 * The audit log as an operator uses it: the entries of every command, and the answers of `audit
 * verify`.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { recordAction } from '../../src/audit/record.ts'
import { prepareDemo } from '../../src/demo/prepare.ts'
import { loadEngine } from '../../src/scoring/scores/engine.ts'
import { score } from '../support/build/credentials.ts'
import { emptyDatabase } from '../support/start/database.ts'
import { installation } from '../support/start/installation.ts'

const { run, folder, env, url, db } = await installation(await emptyDatabase())

interface Listed {
  seq: number
  actor: string
  action: string
  subjects: string
  details: string
}

async function listed(...args: string[]): Promise<Listed[]> {
  const { code, out } = await run(['audit', 'list', '--json', ...args])
  assert.equal(code, 0)
  return JSON.parse(out).entries
}

async function newest(): Promise<{ action: string; subjects: string[]; details: unknown }> {
  const [entry] = await listed('--limit', '1')
  assert.ok(entry)
  assert.ok(entry.actor.endsWith(`@${hostname()}`))
  const { action, subjects, details } = entry
  return { action, subjects: JSON.parse(subjects), details: JSON.parse(details) }
}

async function report(...args: string[]) {
  const { code, out, err } = await run([...args, '--json'])
  assert.equal(code, 0, err)
  return JSON.parse(out)
}

async function unguarded(statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`set session_replication_role = replica; ${statement}`)
  await client.end()
}

test('every operator action writes one entry; a command without effect writes none', async () => {
  const { applied } = await report('migrate')
  const migrated = await listed('--action', 'database.migrated', '--limit', '200')
  assert.deepEqual(
    migrated.reverse().flatMap(({ subjects }) => JSON.parse(subjects)),
    applied,
  )
  const { kid: first } = await report('keys', 'create')
  assert.deepEqual(await newest(), {
    action: 'keys.created',
    subjects: [first],
    details: { state: 'active' },
  })
  const { kid: second } = await report('keys', 'create')
  assert.deepEqual((await newest()).details, { state: 'pending' })
  assert.equal((await run(['keys', 'rotate'])).code, 1, 'too early: nothing is done')
  assert.equal((await newest()).action, 'keys.created')
  await report('keys', 'rotate', '--now')
  assert.deepEqual(await newest(), {
    action: 'keys.rotated',
    subjects: [second, first],
    details: { active: second, retired: first, atOnce: true },
  })

  const file = join(folder, 'scores.ndjson')
  const out = join(folder, 'credentials.ndjson')
  const ids = ['1', '2', '3'].map((n) => `00000000-0000-4000-8000-00000000000${n}`)
  const lines = ids.map((id, n) => JSON.stringify({ ...score({ username: `user-${n}` }), id }))
  writeFileSync(file, lines.join('\n'))
  await report('credentials', 'issue', '--from', file, '--out', out)
  const issued = {
    action: 'credentials.issued',
    subjects: [second],
    details: { count: 3, firstId: ids[0], lastId: ids[2] },
  }
  assert.deepEqual(await newest(), issued)
  await report('credentials', 'issue', '--from', file, '--out', out)
  assert.equal((await listed('--action', 'credentials.issued')).length, 1, 'issued nothing')

  await report('credentials', 'revoke', '--id', String(ids[0]), '--id', String(ids[1]), '--yes')
  const { action, subjects, details } = await newest()
  assert.deepEqual([action, details], ['credentials.revoked', { count: 2 }])
  assert.ok(subjects.length === 2 && subjects.every((digest) => /^[0-9a-f]{64}$/.test(digest)))
  await report('credentials', 'revoke', '--id', String(ids[0]), '--yes')
  assert.equal((await listed('--action', 'credentials.revoked')).length, 1, 'revoked nothing')

  await run(['keys', 'revoke', first])
  assert.equal((await newest()).action, 'credentials.revoked', 'not confirmed: nothing is done')
  await report('keys', 'revoke', first, '--yes')
  assert.deepEqual(await newest(), {
    action: 'keys.revoked',
    subjects: [first],
    details: { credentials: 'revoked' },
  })

  const ofKey = ['credentials', 'revoke-of-key', second, '--yes']
  assert.equal((await run(ofKey)).code, 1, 'the key is not revoked')
  await report('keys', 'revoke', second, '--yes', '--keep-credentials')
  assert.deepEqual((await newest()).details, { credentials: 'kept' })
  assert.equal((await report(...ofKey)).changed, true)
  const revokedLater = { action: 'keys.credentials_revoked', subjects: [second], details: {} }
  assert.deepEqual(await newest(), revokedLater)
  assert.equal((await report(...ofKey)).changed, false)
  assert.equal((await listed('--action', 'keys.credentials_revoked')).length, 1)
  assert.equal(
    (await run(['credentials', 'revoke-of-key', `z6Mk${'A'.repeat(44)}`, '--yes'])).code,
    1,
  )
})

test('imports of workers, sources and evidence write entries with ids and counts; repeats and dry runs write none', async () => {
  const input = (name: string, ...lines: object[]): string => {
    const file = join(folder, name)
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'))
    return file
  }
  const workers = input('workers.ndjson', { username: 'ada-lovelace', displayName: 'Ada Canary' })
  await report('workers', 'import', '--from', workers, '--dry-run')
  assert.equal((await listed('--action', 'workers.imported')).length, 0, 'a dry run')
  await report('workers', 'import', '--from', workers)
  const imported = await newest()
  const [workerId] = imported.subjects
  assert.deepEqual(imported, {
    action: 'workers.imported',
    subjects: [workerId],
    details: { created: 1, updated: 0 },
  })
  const consent = ['ada-lovelace', 'score_sharing']
  await report('consent', 'grant', ...consent, '--text-version', '1')
  const details = { permission: 'score_sharing' }
  assert.deepEqual(await newest(), { action: 'consent.granted', subjects: [workerId], details })
  await report('consent', 'withdraw', ...consent)
  assert.deepEqual(await newest(), { action: 'consent.withdrawn', subjects: [workerId], details })
  await report('identity', 'verify', 'ada-lovelace')
  assert.deepEqual(await newest(), {
    action: 'identity.verified',
    subjects: [workerId],
    details: {},
  })
  await report('identity', 'revoke', 'ada-lovelace')
  assert.equal((await newest()).action, 'identity.revoked')

  const firstTwoOf = (name: string): string => {
    const lines = readFileSync(join('docs', name), 'utf8').split('\n').slice(0, 2)
    return input(name, ...lines.map((line) => JSON.parse(line)))
  }
  const sources = firstTwoOf('sources.ndjson')
  const evidence = firstTwoOf('evidence.ndjson')
  await report('sources', 'register', '--from', sources)
  assert.deepEqual(await newest(), {
    action: 'sources.registered',
    subjects: ['acme-reviews', 'skill-exams'],
    details: { registered: 2, changed: 0 },
  })
  await report('evidence', 'import', '--from', evidence)
  const taken = await newest()
  assert.deepEqual([taken.action, taken.details], ['evidence.imported', { count: 2 }])
  const revoke = [
    'evidence',
    'revoke',
    'acme-reviews/2026-117',
    '--reason',
    'source_invalid',
    '--yes',
  ]
  await report(...revoke)
  assert.deepEqual(await newest(), {
    action: 'evidence.revoked',
    subjects: taken.subjects.slice(0, 1),
    details: { reason: 'source_invalid' },
  })

  const before = await listed()
  await report('workers', 'import', '--from', workers)
  await report('consent', 'withdraw', ...consent)
  await report('sources', 'register', '--from', sources)
  await report('evidence', 'import', '--from', evidence)
  await report(...revoke)
  assert.deepEqual(await listed(), before)
  assert.doesNotMatch(JSON.stringify(before), /ada-lovelace|Canary|2026-117/)
})

test('an action whose entry cannot be written is rolled back', async () => {
  const before = await listed()
  const keys = (await report('keys', 'list')).keys
  await unguarded('alter table audit_log add constraint closed check (seq < 1) not valid')
  try {
    assert.equal((await run(['keys', 'create'])).code, 1)
  } finally {
    await unguarded('alter table audit_log drop constraint closed')
  }
  assert.deepEqual((await report('keys', 'list')).keys, keys)
  assert.deepEqual(await listed(), before)
})

test('list: an entry is one line without control characters', async () => {
  const actor = 'eve\r\n9  forged\u001b[2J\u009b1A\u202e\u2028@host'
  const kid = `z6Mk${'A'.repeat(44)}`
  const at = new Date('2099-01-01T00:00:00Z')
  await db.transaction((tx) =>
    recordAction(
      tx,
      { actor, action: 'keys.revoked', subjects: [kid], details: { credentials: 'revoked' } },
      at,
    ),
  )
  const { out } = await run(['audit', 'list', '--since', '2098-12-31'])
  assert.equal(out.split('\n').length, 3, 'a header, the entry, and the end of the last line')
  assert.match(out, /eve\\u\{d\}\\u\{a\}9 forged\\u\{1b\}\[2J/)
  assert.doesNotMatch(out.replaceAll('\n', ''), /[\p{C}\u2028\u2029]/u)
  const json = (await run(['audit', 'list', '--json'])).out
  assert.equal(json.trimEnd().split(/[\r\n]/).length, 1)
})

test('list: entries are sorted newest first and filtered by time, action and number', async () => {
  const all = await listed('--limit', '1000')
  assert.deepEqual(
    all.map(({ seq }) => seq),
    all.map((_, i) => all.length - i),
  )
  assert.equal((await listed('--limit', '2')).length, 2)
  assert.equal((await listed('--since', '2099-01-01T00:00Z')).length, 1)
  assert.equal((await listed('--since', '2099-01-02')).length, 0)
})

test('verify: 0 for an intact log with its head, 1 for a broken log with the entry, 2 if it cannot be checked', async () => {
  const whole = await report('audit', 'verify')
  assert.equal(whole.entries, (await listed('--limit', '100000')).length)
  assert.equal((await report('audit', 'verify', '--expect', whole.head)).since, 0)
  await unguarded(`delete from audit_log where seq = ${whole.entries}`)
  assert.equal((await run(['audit', 'verify'])).code, 0)
  const cut = await run(['audit', 'verify', '--expect', whole.head])
  assert.equal(cut.code, 1)
  assert.match(cut.out, new RegExp(`BROKEN at entry ${whole.entries}: .*cut off`))

  await unguarded(`update audit_log set actor = 'mallory@host' where seq = 3`)
  const changed = await run(['audit', 'verify', '--json'])
  assert.equal(changed.code, 1)
  assert.equal(JSON.parse(changed.out).broken.seq, 3)

  env.DATABASE_URL = 'postgres://assay@127.0.0.1:1/assay'
  assert.equal((await run(['audit', 'verify'])).code, 2)
  env.DATABASE_URL = url
})

test('2: audit commands reject invalid arguments', async () => {
  for (const args of [
    ['verify', '--expect', 'abc'],
    ['list', '--since', 'yesterday'],
    ['list', '--since', '2026-02-31T00:00:00.0000Z'],
    ['list', '--action', 'keys.burned'],
    ['list', '--limit', '0'],
    ['list', '--limit', '1e3'],
  ])
    assert.equal((await run(['audit', ...args])).code, 2, args.join(' '))
})

test('the demo writes the entries of an operator, once', async () => {
  const line = await installation(await emptyDatabase())
  assert.equal((await line.run(['migrate'])).code, 0)
  const dataDir = join(line.folder, 'data')
  const config = {
    publicUrl: 'http://localhost:8080',
    dataDir,
    signingKeysDir: `${dataDir}/keys`,
  }
  const demo = {
    config,
    db: line.db,
    log: { info: () => {}, warn: () => {} },
    engine: await loadEngine(),
  }
  const now = new Date('2026-05-14T09:00:00Z')
  await prepareDemo({ ...demo, now })
  await prepareDemo({ ...demo, now: new Date(now.getTime() + 60_000) })
  const { out } = await line.run(['audit', 'list', '--json'])
  const actions = JSON.parse(out).entries.map((entry: Listed) => entry.action)
  assert.deepEqual(
    actions.filter((action: string) => action !== 'database.migrated'),
    [
      'agent_reporting.review_requested',
      'agent_reporting.locked',
      'api_keys.created',
      'accounts.created',
      'api_keys.created',
      'credits.granted',
      'api_keys.created',
      'accounts.created',
      'disputes.opened',
      'evidence.revoked',
      'consent.withdrawn',
      'scores.recomputed',
      'evidence.imported',
      'workers.imported',
      'sources.registered',
      'keys.created',
    ],
  )
  assert.equal((await line.run(['audit', 'verify'])).code, 0)
})

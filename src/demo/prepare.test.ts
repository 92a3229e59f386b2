import assert from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import { createSigningKey } from '../../test/support/build/signing-keys.ts'
import { type TestDatabase, testDatabase } from '../../test/support/start/database.ts'
import { isApiKey } from '../accounts/access/api-key.ts'
import { isActive } from '../accounts/access/manage.ts'
import { findAccount, findKeys as findApiKeys } from '../accounts/access/store.ts'
import { findCreditAccount } from '../billing/credits/store.ts'
import { makeKeyFile } from '../credentials/key-files.ts'
import { findKeys } from '../credentials/key-store.ts'
import { signatureCache } from '../credentials/signature-cache.ts'
import { findStatuses } from '../credentials/store.ts'
import { trustOf } from '../credentials/trust.ts'
import { verifyCredential } from '../credentials/verify.ts'
import { type Db, openDb, sql } from '../platform/db/db.ts'
import { findReportsOf } from '../reports/store.ts'
import { findOpenReviews, findState } from '../reports/unlock.ts'
import { readEvidenceLine } from '../scoring/evidence/evidence-line.ts'
import { ingestEvidence } from '../scoring/evidence/ingest-evidence.ts'
import { registerSource } from '../scoring/evidence/register-source.ts'
import type { EvidenceLine, SourceLine } from '../scoring/evidence/schema.ts'
import { readSourceLine } from '../scoring/evidence/source-line.ts'
import { loadEngine } from '../scoring/scores/engine.ts'
import { registerWorkers } from '../scoring/scores/keep-sharing.ts'
import { scoringVocabulary } from '../scoring/scores/scoring.ts'
import { loadReleasedVocabulary } from '../standard/releases.ts'
import { domains } from '../standard/schema.ts'
import { type Registration, readRegistration } from '../workers/registration.ts'
import { accountName } from './account.ts'
import { renderCommands } from './commands.ts'
import { demoSources } from './evidence.ts'
import { prepareDemo } from './prepare.ts'
import { samples, sampleWorkers, withdrawn } from './scenario.ts'
import { secondAccountName } from './story.ts'
import { demoWorkers } from './workers.ts'

const publicUrl = 'http://localhost:8080'
const now = new Date('2026-06-01T10:00:00.250Z')
const log = { info: () => {}, warn: () => {} }
const engine = await loadEngine()
const making = { log, engine }

/** Opens an empty database and folder, or a copy of those of another demo. */
async function openDemo(original?: { database: TestDatabase; dataDir: string }) {
  const database = await testDatabase(original?.database)
  // The connection limits of `ensureDemo` in src/main/demo.ts.
  const { url } = database
  const limits = { connectionsMax: 4, statementTimeoutMs: 0, connectionWaitMs: 60_000 }
  const db = openDb({ url, ...limits, applicationName: 'demo', onError: () => {} })
  const dataDir = mkdtempSync(join(tmpdir(), 'assay-demo-'))
  if (original !== undefined) cpSync(original.dataDir, dataDir, { recursive: true })
  after(async () => {
    await db.close()
    await database.drop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const config = { publicUrl, dataDir, signingKeysDir: join(dataDir, 'keys') }
  return { database, db, config, dataDir }
}

const made = await openDemo()
assert.equal(await prepareDemo({ ...made, now, ...making }), true)
/** Returns a prepared demo: a copy, because preparing one takes a second of processor time. */
const preparedDemo = () => openDemo(made)

function read(dataDir: string, file: string) {
  return JSON.parse(readFileSync(join(dataDir, 'demo/credentials', `${file}.json`), 'utf8'))
}

async function verified(db: Db, credential: Record<string, unknown>, at: Date, url = publicUrl) {
  return verifyCredential(credential, null, {
    trust: trustOf([url], await findKeys(db)),
    signatures: signatureCache(),
    now: at,
    statusOf: async (question) => {
      const [status] = await findStatuses(db, [question])
      return status ?? { kind: 'unknown' }
    },
  })
}

async function assertSamples(db: Db, dataDir: string, at: Date, url = publicUrl) {
  for (const [file, { reason }] of Object.entries(samples)) {
    const result = await verified(db, read(dataDir, file), at, url)
    assert.equal(result.reason ?? null, reason, file)
    assert.equal(result.valid, reason === null, file)
    if (result.valid) assert.equal(result.notes.includes('superseded'), file === 'superseded', file)
  }
}

test('each sample credential verifies with its reason, under a key active at its signing time', async () => {
  const { db, dataDir } = await preparedDemo()
  await assertSamples(db, dataDir, now)
  const key = (await findKeys(db))[0]
  assert.ok(key !== undefined && key.state === 'active' && key.activatedAt !== null)
  const { validFrom, validUntil } = read(dataDir, 'expired')
  assert.ok(Date.parse(validFrom) > key.activatedAt.getTime(), 'signed while its key was active')
  assert.ok(Date.parse(validUntil) < now.getTime() - 10 * 86_400_000)
})

interface Shown {
  username: string
  score: number | null
  band: string
  change: string
  engine: string
  shared: boolean
  snapshots: number
}

function findShown(db: Db): Promise<Shown[]> {
  return db.rows<Shown>(sql`
    select p.username, s.score, s.band, s.change, encode(s.engine_sha256, 'hex') as engine,
      s.vc_sha256 is not null as shared, (select count(*)::int from score_snapshots all_of
        where all_of.worker_id = p.worker_id) as snapshots
    from profiles p left join score_snapshots s on s.worker_id = p.worker_id and s.state = 'active'`)
}

test('sixty workers have scores of the released engine in every band, a history, and mixed consents', async () => {
  const { db } = await preparedDemo()
  const workers = await findShown(db)
  assert.equal(workers.length, 60)
  assert.equal(demoWorkers.length, 60)
  const scored = workers.filter(({ score }) => score !== null)
  const unscored = new Map(
    workers.flatMap(({ username, score, snapshots }) =>
      score === null ? [[username, snapshots] as const] : [],
    ),
  )
  assert.equal(unscored.get('demo-tobiah-lund'), 0, 'a worker with one source has no score')
  assert.ok((unscored.get('demo-pilar-quintana') ?? 0) > 0, 'the score of a worker has faded')
  assert.deepEqual([...new Set(scored.map(({ engine: used }) => used))], [engine.binarySha256])
  for (const band of ['emerging', 'developing', 'verified', 'strong', 'exceptional'])
    assert.ok(scored.filter((one) => one.band === band).length > 1, band)
  assert.ok(new Set(scored.map(({ score }) => score)).size > 40, 'scores differ')
  assert.ok(scored.some(({ snapshots }) => snapshots > 4))
  const unseen = new Set(scored.flatMap(({ shared, username }) => (shared ? [] : username)))
  for (const username of [withdrawn.username, sampleWorkers.expired, 'demo-emrys-vaughan'])
    assert.ok(unseen.has(username), username)
  const events = await db.rows<{ type: string }>(sql`select distinct type from webhook_events`)
  for (const type of ['score.updated', 'score.revised', 'evidence.revoked', 'dispute.opened'])
    assert.ok(
      events.some((event) => event.type === type),
      type,
    )
  const skills = loadReleasedVocabulary().records
  const shown = new Set(demoWorkers.flatMap(({ career }) => career.map(({ slug }) => slug)))
  for (const domain of domains) {
    const known = skills.filter((skill) => skill.domain === domain)
    assert.ok(known.filter(({ id }) => shown.has(id.slice('hss:'.length))).length > 8, domain)
  }
})

test('importing the demo’s files of workers, sources and evidence changes nothing', async () => {
  const { db, dataDir } = await preparedDemo()
  const lines = (name: string): unknown[] =>
    readFileSync(join(dataDir, 'demo', name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const vocabulary = scoringVocabulary(loadReleasedVocabulary().records)
  await db.transaction(async (tx) => {
    const workers = lines('people.ndjson').map(
      (line) => readRegistration(line, now) as Registration,
    )
    const registered = await registerWorkers(tx, workers, { by: 'test', at: now })
    for (const one of registered) assert.equal('result' in one && one.result, 'unchanged')
    const sources = lines('sources.ndjson').map((line) => readSourceLine(line) as SourceLine)
    assert.equal(sources.length, demoSources.length)
    for (const source of sources) {
      const answer = await registerSource(tx, source, { actor: 'test', now })
      assert.equal('result' in answer && answer.result, 'unchanged')
    }
    const evidence = lines('evidence.ndjson').map((line) => readEvidenceLine(line) as EvidenceLine)
    assert.ok(evidence.length > 500)
    for (const one of await ingestEvidence(tx, evidence, { vocabulary, now }))
      assert.equal('result' in one && one.result, 'unchanged')
  })
})

test('the demo account has credits, two keys in private files, and a new key if its file is lost', async () => {
  const { db, config, dataDir } = await preparedDemo()
  const file = join(dataDir, 'demo/api-key')
  const key = readFileSync(file, 'utf8').trim()
  assert.ok(isApiKey(key) && key.startsWith('svc_live_'))
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const testFile = join(dataDir, 'demo/test-key')
  assert.match(readFileSync(testFile, 'utf8'), /^svc_test_/)
  assert.equal(statSync(testFile).mode & 0o777, 0o600)
  const account = await findAccount(db, 'demo')
  assert.ok(account !== undefined)
  assert.equal((await findCreditAccount(db, account.id))?.balance, 1_000)
  rmSync(file)
  await prepareDemo({ config, db, now, ...making })
  assert.notEqual(readFileSync(file, 'utf8').trim(), key)
  assert.equal((await findCreditAccount(db, account.id))?.balance, 1_000)
})

test('the story has an expired key, two reports and a second account with an open review, once', async () => {
  const { db, config, dataDir } = await preparedDemo()
  rmSync(join(dataDir, 'demo/made.json'))
  await prepareDemo({ config, db, now, ...making })
  const [account, second] = await Promise.all(
    [accountName, secondAccountName].map((name) => findAccount(db, name)),
  )
  assert.ok(account !== undefined && second !== undefined)
  const keys = await findApiKeys(db, account.id)
  assert.deepEqual(
    keys.filter((key) => !isActive(key, now)).map(({ name }) => name),
    ['spring trial'],
  )
  const reports = await findReportsOf(db, account.id, { before: null, limit: 5 })
  assert.deepEqual(
    reports.map(({ decision }) => decision),
    ['rejected', 'interview_requested'],
  )
  assert.equal(await findState(db, second.id), 'locked')
  assert.equal((await findOpenReviews(db, { after: null, limit: 5 })).length, 1)
})

test('without a usable engine no demo is created, and an existing one stays', async () => {
  const { db, config, dataDir } = await openDemo()
  assert.equal(await prepareDemo({ config, db, now, ...making, engine: null }), false)
  assert.equal(existsSync(join(dataDir, 'demo')), false)
  await prepareDemo({ config, db, now, ...making })
  assert.equal(await prepareDemo({ config, db, now, ...making, engine: null }), true)
})

test('before the valid sample expires, the next start issues all credentials again', async () => {
  const { db, config, dataDir } = await preparedDemo()
  const { id } = read(dataDir, 'valid')
  const halfAYear = new Date(now.getTime() + 200 * 86_400_000)
  await prepareDemo({ config, db, now: halfAYear, ...making })
  assert.equal(read(dataDir, 'valid').id, id)
  const later = new Date(now.getTime() + 340 * 86_400_000)
  await prepareDemo({ config, db, now: later, ...making })
  assert.notEqual(read(dataDir, 'valid').id, id)
  await assertSamples(db, dataDir, later)
  assert.equal((await findShown(db)).length, 60)
})

test('with a complete demo, a second call makes one query and writes nothing', async () => {
  const { db, config, dataDir } = await preparedDemo()
  const credentials = join(dataDir, 'demo/credentials')
  const written = () => readdirSync(credentials).map((name) => statSync(join(credentials, name)))
  const before = written().map(({ ino, mtimeMs }) => `${ino} ${mtimeMs}`)
  let queries = 0
  const counting: Db = {
    ...db,
    rows: (statement) => {
      queries++
      return db.rows(statement)
    },
    transaction: () => assert.fail('a complete demo starts no transaction'),
  }
  await prepareDemo({ config, db: counting, now, ...making })
  assert.equal(queries, 1)
  assert.deepEqual(
    written().map(({ ino, mtimeMs }) => `${ino} ${mtimeMs}`),
    before,
  )
})

test('after a start that is interrupted before the commit, the next start makes no second key', async () => {
  const { db, config, dataDir } = await openDemo()
  const cutOff: Db = {
    ...db,
    transaction: (work) =>
      db.transaction(async (tx) => {
        await work(tx)
        throw new Error('killed')
      }),
  }
  await assert.rejects(prepareDemo({ config, db: cutOff, now, ...making }), /killed/)
  await prepareDemo({ config, db, now, ...making })
  assert.equal(readdirSync(join(dataDir, 'keys')).length, 1)
  await assertSamples(db, dataDir, now)
})

test('after a start that is interrupted between any two files, the next start completes the files', async () => {
  const { db, config, dataDir } = await preparedDemo()
  const demo = join(dataDir, 'demo')
  const names = readdirSync(demo).filter((name) => !/^(credentials|.*-key)$/.test(name))
  const files = [...readdirSync(join(demo, 'credentials')), ...names.map((name) => `../${name}`)]
  const whole = files.map((name) => readFileSync(join(demo, 'credentials', name), 'utf8'))
  for (let kept = 0; kept < files.length; kept++) {
    for (const name of files.slice(kept)) rmSync(join(demo, 'credentials', name))
    await prepareDemo({ config, db, now: new Date(now.getTime() + kept * 60_000), ...making })
    for (const [i, name] of files.entries()) {
      if (name === 'wrong-issuer.json') continue
      assert.equal(readFileSync(join(demo, 'credentials', name), 'utf8'), whole[i], name)
    }
  }
})

test('two concurrent starts create one demo', async () => {
  const { db, config, dataDir } = await openDemo()
  const other = { ...config, dataDir: join(dataDir, 'other') }
  await Promise.all([
    prepareDemo({ config, db, now, ...making }),
    prepareDemo({ config: other, db, now, ...making }),
  ])
  assert.equal((await findKeys(db)).length, 1)
  assert.deepEqual(read(dataDir, 'valid'), read(other.dataDir, 'valid'))
  await assertSamples(db, dataDir, now)
})

test('a new PUBLIC_URL gets new files, signed by the same key', async () => {
  const { db, config, dataDir } = await preparedDemo()
  const moved = { ...config, publicUrl: 'https://scores.example.org' }
  await prepareDemo({ config: moved, db, now, ...making })
  assert.equal((await findKeys(db)).length, 1)
  assert.equal(read(dataDir, 'valid').issuer, 'did:web:scores.example.org')
  await assertSamples(db, dataDir, now, moved.publicUrl)
})

test('files of an earlier database are rewritten', async () => {
  const first = await preparedDemo()
  const second = await openDemo()
  await prepareDemo({ config: first.config, db: second.db, now, ...making })
  await assertSamples(second.db, first.dataDir, now)
})

test('the demo uses an operator’s signing key, even a key that is one minute old', async () => {
  const { db, config, dataDir } = await openDemo()
  const kid = await makeKeyFile(config.signingKeysDir)
  await createSigningKey(contextAt(db, new Date(now.getTime() - 60_000)), kid)
  await prepareDemo({ config, db, now, ...making })
  assert.deepEqual(
    (await findKeys(db)).map((key) => key.kid),
    [kid],
  )
  await assertSamples(db, dataDir, now)
})

test('if the file of the active key is missing, the error names the key and no demo is created', async () => {
  const { db, config, dataDir } = await openDemo()
  const kid = await makeKeyFile(join(dataDir, 'elsewhere'))
  await createSigningKey(contextAt(db, now), kid)
  await assert.rejects(prepareDemo({ config, db, now, ...making }), new RegExp(kid))
  assert.equal(existsSync(config.signingKeysDir), false)
})

test('the printed commands name existing files and the status of the revoked credential', async () => {
  const { config, dataDir } = await preparedDemo()
  const printed = renderCommands(
    config,
    { ...config, publicUrl: 'http://localhost:1' },
    { developer: 'http://link', operator: null },
  )
  assert.match(printed, new RegExp(`^PUBLIC_URL=${config.publicUrl} bin/assay demo tick$`, 'm'))
  assert.match(
    renderCommands(config, config, { developer: null, operator: null }),
    /^bin\/assay demo tick$/m,
  )
  const commands = printed.split('\n').filter((line) => line.startsWith('curl '))
  assert.equal(commands.length, 4)
  const order = [
    'Documentation: ',
    'valid.json',
    '/candidates/search?q=',
    'svc_test_',
    'http://link',
  ]
  const places = order.map((text) => printed.indexOf(text))
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
  )
  assert.ok(!places.includes(-1), printed)
  const files = commands.flatMap((command) => command.match(/@(\S+\.json)/)?.[1] ?? [])
  assert.equal(files.length, 2)
  for (const file of files) assert.ok(existsSync(file), file)
  assert.ok(commands[3]?.includes(read(dataDir, 'revoked').credentialStatus.id))
})

test('after eight concurrent starts with eight addresses, all files belong to the last one', async () => {
  const { db, config, dataDir } = await preparedDemo()
  const urls = [1, 2, 3, 4, 5, 6, 7, 8].map((port) => `http://localhost:${port}`)
  const prepare = (url: string) =>
    prepareDemo({ config: { ...config, publicUrl: url }, db, now, ...making })
  // The credentials exist already, so that all starts reach the writing of files together.
  for (const url of urls) await prepare(url)
  await Promise.all(urls.map(prepare))
  const { publicUrl: last } = JSON.parse(readFileSync(join(dataDir, 'demo/made.json'), 'utf8'))
  await assertSamples(db, dataDir, now, last)
  assert.deepEqual(readdirSync(join(dataDir, 'demo')).sort(), [
    'README.md',
    'api-key',
    'credentials',
    'evidence.ndjson',
    'made.json',
    'people.ndjson',
    'sources.ndjson',
    'test-key',
  ])
})

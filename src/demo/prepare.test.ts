import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import type { Db } from '../platform/db.ts'
import { makeKeyFile } from '../score-credentials/key-files.ts'
import { createKey } from '../score-credentials/rotate-keys.ts'
import { signatureCache } from '../score-credentials/signature-cache.ts'
import { findKeys, findStatuses } from '../score-credentials/store.ts'
import { trustOf } from '../score-credentials/trust.ts'
import { verifyCredential } from '../score-credentials/verify.ts'
import { demoCommands } from './commands.ts'
import { prepareDemo } from './prepare.ts'
import { lessons, story } from './story.ts'

const publicUrl = 'http://localhost:8080'
const now = new Date('2026-06-01T10:00:00.250Z')
const log = { info: () => {} }

async function demoPlace() {
  const database = await testDatabase()
  const dataDir = mkdtempSync(join(tmpdir(), 'assay-demo-'))
  after(async () => {
    await database.drop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const config = { publicUrl, dataDir, signingKeysDir: join(dataDir, 'keys') }
  return { db: database.db, config, dataDir }
}

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

async function assertLessons(db: Db, dataDir: string, at: Date, url = publicUrl) {
  for (const [file, { reason }] of Object.entries(lessons)) {
    const result = await verified(db, read(dataDir, file), at, url)
    assert.equal(result.reason ?? null, reason, file)
    assert.equal(result.valid, reason === null, file)
    assert.equal(result.notes.includes('superseded'), file === 'superseded', file)
  }
  for (const { file } of story.filter(({ file }) => file.startsWith('demo-')))
    assert.equal((await verified(db, read(dataDir, file), at, url)).valid, true, file)
}

test('each file of the demo gets its reason, and there are a dozen of the issuer', async () => {
  const { db, config, dataDir } = await demoPlace()
  await prepareDemo({ config, db, now, log })
  await assertLessons(db, dataDir, now)
  assert.equal(story.length, 12)
  const key = (await findKeys(db))[0]
  assert.ok(key !== undefined && key.state === 'active' && key.activatedAt !== null)
  const { validFrom, validUntil } = read(dataDir, 'expired')
  assert.ok(Date.parse(validFrom) > key.activatedAt.getTime(), 'signed while its key was active')
  assert.ok(Date.parse(validUntil) < now.getTime() - 30 * 86_400_000)
})

test('half a year later the valid one is still valid; the next start tells the story anew', async () => {
  const { db, config, dataDir } = await demoPlace()
  await prepareDemo({ config, db, now, log })
  const later = new Date(now.getTime() + 200 * 86_400_000)
  assert.equal((await verified(db, read(dataDir, 'valid'), later)).valid, true)
  const { id } = read(dataDir, 'valid')
  await prepareDemo({ config, db, now: later, log })
  assert.notEqual(read(dataDir, 'valid').id, id)
  await assertLessons(db, dataDir, later)
})

test('a second call with everything there asks the database once and writes nothing', async () => {
  const { db, config, dataDir } = await demoPlace()
  await prepareDemo({ config, db, now, log })
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
    transaction: () => assert.fail('nothing is to be made'),
  }
  await prepareDemo({ config, db: counting, now, log })
  assert.equal(queries, 1)
  assert.deepEqual(
    written().map(({ ino, mtimeMs }) => `${ino} ${mtimeMs}`),
    before,
  )
})

test('cut off before the commit, the next start makes no second key', async () => {
  const { db, config, dataDir } = await demoPlace()
  const cutOff: Db = {
    ...db,
    transaction: (work) =>
      db.transaction(async (tx) => {
        await work(tx)
        throw new Error('killed')
      }),
  }
  await assert.rejects(prepareDemo({ config, db: cutOff, now, log }), /killed/)
  await prepareDemo({ config, db, now, log })
  assert.equal(readdirSync(join(dataDir, 'keys')).length, 1)
  await assertLessons(db, dataDir, now)
})

test('cut off after the commit, between any two files, the next start completes the same credentials', async () => {
  const { db, config, dataDir } = await demoPlace()
  await prepareDemo({ config, db, now, log })
  const demo = join(dataDir, 'demo')
  const files = [...readdirSync(join(demo, 'credentials')), '../README.md', '../made.json']
  const whole = files.map((name) => readFileSync(join(demo, 'credentials', name), 'utf8'))
  for (let kept = 0; kept < files.length; kept++) {
    for (const name of files.slice(kept)) rmSync(join(demo, 'credentials', name))
    await prepareDemo({ config, db, now: new Date(now.getTime() + kept * 60_000), log })
    for (const [i, name] of files.entries()) {
      if (name === 'wrong-issuer.json') continue
      assert.equal(readFileSync(join(demo, 'credentials', name), 'utf8'), whole[i], name)
    }
  }
})

test('two starts at once make one demo', async () => {
  const { db, config, dataDir } = await demoPlace()
  const other = { ...config, dataDir: join(dataDir, 'other') }
  await Promise.all([
    prepareDemo({ config, db, now, log }),
    prepareDemo({ config: other, db, now, log }),
  ])
  assert.equal((await findKeys(db)).length, 1)
  assert.deepEqual(read(dataDir, 'valid'), read(other.dataDir, 'valid'))
  await assertLessons(db, dataDir, now)
})

test('a new PUBLIC_URL gets files of its own, signed by the same key', async () => {
  const { db, config, dataDir } = await demoPlace()
  await prepareDemo({ config, db, now, log })
  const moved = { ...config, publicUrl: 'https://scores.example.org' }
  await prepareDemo({ config: moved, db, now, log })
  assert.equal((await findKeys(db)).length, 1)
  assert.equal(read(dataDir, 'valid').issuer, 'did:web:scores.example.org')
  await assertLessons(db, dataDir, now, moved.publicUrl)
})

test('files of an earlier database are made anew', async () => {
  const first = await demoPlace()
  await prepareDemo({ ...first, now, log })
  const second = await demoPlace()
  await prepareDemo({ config: first.config, db: second.db, now, log })
  await assertLessons(second.db, first.dataDir, now)
})

test('a database with a key of the operator gets no other key, even one that is a minute old', async () => {
  const { db, config, dataDir } = await demoPlace()
  const kid = await makeKeyFile(config.signingKeysDir)
  await createKey(db, kid, new Date(now.getTime() - 60_000))
  await prepareDemo({ config, db, now, log })
  assert.deepEqual(
    (await findKeys(db)).map((key) => key.kid),
    [kid],
  )
  await assertLessons(db, dataDir, now)
})

test('an active key whose file is elsewhere is said, and nothing is made', async () => {
  const { db, config, dataDir } = await demoPlace()
  const kid = await makeKeyFile(join(dataDir, 'elsewhere'))
  await createKey(db, kid, now)
  await assert.rejects(prepareDemo({ config, db, now, log }), new RegExp(kid))
  assert.equal(existsSync(config.signingKeysDir), false)
})

test('the printed commands name files that exist and the status of the revoked one', async () => {
  const { db, config, dataDir } = await demoPlace()
  await prepareDemo({ config, db, now, log })
  const commands = demoCommands(config)
    .split('\n')
    .filter((line) => line.startsWith('curl '))
  assert.equal(commands.length, 3)
  const files = commands.flatMap((command) => command.match(/@(\S+\.json)/)?.[1] ?? [])
  assert.equal(files.length, 2)
  for (const file of files) assert.ok(existsSync(file), file)
  assert.ok(commands[2]?.includes(read(dataDir, 'revoked').credentialStatus.id))
})

test('eight starts at once for eight addresses: the files are all of the one that was last', async () => {
  const { db, config, dataDir } = await demoPlace()
  const urls = [1, 2, 3, 4, 5, 6, 7, 8].map((port) => `http://localhost:${port}`)
  const prepare = (url: string) =>
    prepareDemo({ config: { ...config, publicUrl: url }, db, now, log })
  // Issued before, so that all come to their files at the same time.
  for (const url of urls) await prepare(url)
  await Promise.all(urls.map(prepare))
  const { publicUrl: last } = JSON.parse(readFileSync(join(dataDir, 'demo/made.json'), 'utf8'))
  await assertLessons(db, dataDir, now, last)
  assert.deepEqual(readdirSync(join(dataDir, 'demo')).sort(), [
    'README.md',
    'credentials',
    'made.json',
  ])
})

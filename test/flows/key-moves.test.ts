/**
 * A new pepper is first in the ring. Each key moves to it at its next use, and nothing else moves a
 * key.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { newApiKey } from '../../src/access/api-key.ts'
import { openKeyAuthenticator } from '../../src/access/authenticate.ts'
import { revokeApiKey } from '../../src/access/manage.ts'
import { moveKeys } from '../../src/access/move-keys.ts'
import { findPeppers, insertMoves } from '../../src/access/store.ts'
import { parseKeyring } from '../../src/platform/crypto/keyring.ts'
import { sql } from '../../src/platform/db/db.ts'
import { UnavailableError } from '../../src/platform/http/errors.ts'
import { contextAt } from '../support/build/actions.ts'
import { newKey, type TestKey } from '../support/build/keys.ts'
import { ask } from '../support/start/ask.ts'
import { commandLine } from '../support/start/command-line.ts'
import { testDatabase } from '../support/start/database.ts'
import { startNode } from '../support/start/node.ts'
import { assay, startServer } from '../support/start/processes.ts'
import { testPeppers } from '../support/start/service.ts'

const database = await testDatabase()
const { db } = database
const newer = `k2:${Buffer.alloc(32, 8).toString('base64')},${testPeppers}`
const newest = `k3:${Buffer.alloc(32, 9).toString('base64')},${newer}`
const { run, env, remove } = commandLine(database.url)
env['API_KEY_PEPPERS'] = newer
after(async () => {
  remove()
  await database.drop()
})
const ring = parseKeyring(newer)
const moveAll = () => db.transaction((tx) => moveKeys(tx, ring, new Date()))

/** Uses the key on a new server. The server writes the move when it stops. */
async function used({ headers }: TestKey, peppers = newer): Promise<number> {
  const node = await startNode(database.url, { env: { API_KEY_PEPPERS: peppers } })
  try {
    return (await ask(node.base, { path: '/things/a', headers })).status
  } finally {
    await node.stop()
  }
}

test('a writer of move rows without the pepper moves no key', async () => {
  const key = await newKey(db, { credits: 10 })
  const forged = { keyId: key.keyId, pepper: 'k2', digest: Buffer.alloc(32, 1) }
  for (const proof of [Buffer.alloc(32), Buffer.alloc(32, 1)]) {
    await insertMoves(db, [{ ...forged, proof }])
    assert.deepEqual(await moveAll(), [])
    assert.deepEqual(await moveAll(), [], 'it is forgotten')
  }
  assert.equal(await used(key, testPeppers), 200)
})

test('a used key moves to the first pepper of the ring once and stays valid during the move', async () => {
  const [key, idle] = [await newKey(db, { credits: 10 }), await newKey(db, { credits: 10 })]
  assert.equal(await used(key), 200)
  assert.deepEqual(await moveAll(), [key.keyId])
  assert.equal(await used(key), 200)
  assert.deepEqual(await moveAll(), [])
  const peppers = await findPeppers(db, new Date())
  assert.deepEqual(
    peppers.map(({ kid, activeKeys }) => [kid, activeKeys]),
    [
      ['k1', 2],
      ['k2', 1],
    ],
  )
  const { code, out } = await run(['api-keys', 'peppers', '--json'])
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(out).peppers, [
    { kid: 'k2', activeKeys: 1, here: true, present: true },
    { kid: 'k1', activeKeys: 2, here: true, present: false },
  ])
  assert.equal(await used(idle), 200)
})

test('a pepper without keys that was never in use is reported as incoming, not as removable', async () => {
  env['API_KEY_PEPPERS'] = `${newer},k9:${Buffer.alloc(32, 9).toString('base64')}`
  const { out } = await run(['api-keys', 'peppers'])
  env['API_KEY_PEPPERS'] = newer
  assert.match(out, /^k1 .* old: keys move to the first one$/m)
  assert.match(out, /^k9 +0 {2}new: put it first once every server has it$/m)
})

test('503, never 401: a machine without the pepper of a moved key cannot judge the key', async () => {
  const key = await newKey(db, { credits: 10 })
  assert.equal(await used(key), 200)
  assert.deepEqual((await moveAll()).includes(key.keyId), true)
  assert.equal(await used(key, testPeppers), 503)
})

test('a server without one pepper serves the keys under its other peppers, stays ready and reports degraded', async () => {
  const own = await testDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'assay-peppers-'))
  const known = await newKey(own.db)
  const foreign = await newKey(own.db, { peppers: newer })
  const operatorEnv = {
    DATABASE_URL: own.url,
    ASSAY_DATA_DIR: folder,
    API_KEY_PEPPERS: testPeppers,
    PUBLIC_URL: 'https://scores.example.org',
  }
  const server = await startServer(operatorEnv, ['--no-jobs'])
  after(async () => {
    server.signal('SIGINT')
    await server.ended
    await own.drop()
    rmSync(folder, { recursive: true })
  })
  const path = `/api/v1/scores/${'ab'.repeat(32)}`
  const present = (key: string) =>
    ask(server.base, { path, headers: { Authorization: `Bearer ${key}` } })
  assert.equal((await present(known.key)).status, 402, 'admitted: the account has no credits')

  const uncertain = await Promise.all([foreign.key, newApiKey('live')].map(present))
  for (const { status, headers } of uncertain) {
    assert.equal(status, 503)
    assert.match(headers['retry-after'] ?? '', /^\d+$/)
  }
  const [body, other] = uncertain.map((reply) => reply.body.toString())
  assert.equal(body, other, 'the answer does not tell a key under the missing pepper from no key')
  assert.equal((await present(known.key.slice(0, -1))).status, 401, 'not of the form of a key')

  const keysCheck = async () => {
    const reply = await ask(server.base, { path: '/readyz' })
    assert.equal(reply.status, 200)
    return JSON.parse(reply.body.toString()).checks.keys
  }
  const expected = 'degraded: active API keys need peppers that this machine lacks: k2'
  assert.equal(await keysCheck(), expected)
  const doctor = await assay(['doctor'], operatorEnv)
  assert.match(doctor.out, /^fail +api keys +1 of 2 active keys get 503 .*the pepper k2, and/m)
  const list = await assay(['api-keys', 'list', foreign.accountId], operatorEnv)
  assert.match(list.out, / k2 /)

  await revokeApiKey(contextAt(own.db), foreign.keyId)
  for (const key of [foreign.key, newApiKey('live')])
    assert.equal((await present(key)).status, 401, 'no active key rests on the missing pepper')
  assert.equal(await keysCheck(), 'ok')
})

test('a pepper with other bytes under its name checks no key, and no key moves to it', async () => {
  const own = await testDatabase()
  after(() => own.drop())
  const known = await newKey(own.db)
  await newKey(own.db, { peppers: newer })
  const wrong = parseKeyring(`k2:${Buffer.alloc(32, 1).toString('base64')},${testPeppers}`)
  const authenticator = openKeyAuthenticator({
    db: own.db,
    peppers: async () => wrong,
    clock: () => new Date(),
  })
  const present = (key: string) => authenticator.authenticate(`Bearer ${key}`, undefined)
  assert.ok(await present(known.key))
  await assert.rejects(present(newApiKey('live')), UnavailableError)
  await authenticator.recordUses()
  assert.deepEqual(await own.db.rows(sql`select key_id from api_key_moves`), [])
})

test('keys used before and during the change of the first pepper move to it and then need no other pepper', async () => {
  const own = await testDatabase()
  after(() => own.drop())
  const [{ key: early }, { key: late }] = [await newKey(own.db), await newKey(own.db)]
  const changed = parseKeyring(newest)
  let peppers = async () => ring
  const clock = () => new Date()
  const authenticator = openKeyAuthenticator({ db: own.db, peppers: () => peppers(), clock })
  const present = (key: string) => authenticator.authenticate(`Bearer ${key}`, undefined)
  const move = async () => {
    await authenticator.recordUses()
    return own.db.transaction((tx) => moveKeys(tx, changed, clock()))
  }
  assert.ok(await present(early))
  let underWay: ReturnType<typeof present> | undefined
  await own.db.transaction(async (tx) => {
    peppers = async () => {
      // A look-up needs this table, so this look-up begins under the old ring and ends under the
      // new one.
      await tx.run(sql`lock table credit_accounts`)
      underWay = present(late)
      return changed
    }
    await assert.rejects(present(newApiKey('live')), UnavailableError)
  })
  assert.ok(await underWay)
  assert.deepEqual(await move(), [], 'what was noted under the old ring')
  for (const key of [early, late]) assert.ok(await present(key))
  assert.equal((await move()).length, 2)
  peppers = async () => new Map([...changed].slice(0, 1))
  await assert.rejects(present(newApiKey('live')), UnavailableError)
  for (const key of [early, late]) assert.ok(await present(key))
})

test('503: a server started before a new pepper cannot judge its keys; once it finds the pepper in its file, it serves the next call', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-peppers-'))
  const file = join(folder, 'api-key-peppers')
  writeFileSync(file, newer)
  const own = { API_KEY_PEPPERS: '', ASSAY_DATA_DIR: folder }
  const node = await startNode(database.url, { env: own })
  after(async () => {
    await node.stop()
    rmSync(folder, { recursive: true })
  })
  const key = await newKey(db, { credits: 10 })
  const statusOf = async ({ headers }: TestKey) =>
    (await ask(node.base, { path: '/things/a', headers })).status
  assert.equal(await statusOf(key), 200)
  const later = await newKey(db, { credits: 10, peppers: newest })
  assert.deepEqual([await statusOf(later), await statusOf(key)], [503, 200])
  writeFileSync(file, newest)
  assert.deepEqual([await statusOf(later), await statusOf(later)], [503, 200])
})

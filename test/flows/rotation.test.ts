/**
 * The whole life of signing keys (pending, active, retired, revoked), by command and over HTTP on
 * two running servers.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { type Json, publicUrl } from '../support/build/credentials.ts'
import { bitIn } from '../support/build/registry.ts'
import { testDatabase } from '../support/start/database.ts'
import {
  get,
  type IssuedJson,
  issue,
  listOf,
  scoreLine,
  statusOf,
  verdictsByList,
  verify,
} from '../support/start/deployment.ts'
import {
  assay,
  type Env,
  eventually,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const database = await testDatabase()
after(() => database.drop())
const folder = temporaryFolder()
const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: publicUrl,
  TRUSTED_PROXIES: '127.0.0.1',
}
const keyPath = '/.well-known/service-score-vc-public-key.json'
let [one, other] = await Promise.all([startServer(env), startServer(env)])

async function createKey(): Promise<string> {
  const { kid } = await report(['keys', 'create'], env)
  return String(kid)
}

const rotate = () => report(['keys', 'rotate', '--now'], env)

async function issueOne(): Promise<IssuedJson> {
  const [credential] = await issue(env, folder, [scoreLine()])
  if (credential === undefined) throw new Error('a score gives a credential')
  return credential
}

function kidOf(document: { verificationMethod?: unknown }): string {
  const { verificationMethod: method } = document
  const id = typeof method === 'string' ? method : (method as { id: string }).id
  return id.split('#')[1] ?? ''
}

function proofKid({ proof }: Record<string, unknown>): string {
  return kidOf(proof as { verificationMethod: string })
}

/** Returns the status of the readiness probe and its check of signing. */
async function readiness({ base }: ServerProcess): Promise<[number, unknown]> {
  const { status, body } = await get<{ checks: Json }>(base, '/readyz')
  return [status, body.checks.signing]
}

/** Returns the level and the message of the check of signing. */
async function doctorOfSigning(): Promise<[string, string]> {
  const { out } = await assay(['doctor', '--json'], env)
  const { findings } = JSON.parse(out) as { findings: Record<string, string>[] }
  const { level = '', message = '' } = findings.find(({ check }) => check === 'signing key') ?? {}
  return [level, message]
}

/** Waits until `see` is true on both servers, whose registry caches refresh separately. */
async function bothSee(what: string, see: (server: ServerProcess) => Promise<boolean>) {
  for (const server of [one, other]) await eventually(what, { see: () => see(server) })
}

const activeIs = (kid: string) =>
  bothSee(`${kid} is active`, async ({ base }) => {
    const { status, body } = await get(base, keyPath)
    return status === 200 && kidOf(body) === kid
  })

const byText = (a: string, b: string): number => (a < b ? -1 : 1)

async function didOf({ base }: ServerProcess) {
  const { body } = await get<{
    verificationMethod: { id: string; revoked?: string }[]
    assertionMethod: string[]
  }>(base, '/.well-known/did.json')
  const kids = (ids: string[]) => ids.map((id) => id.split('#')[1] ?? '').toSorted(byText)
  return {
    all: kids(body.verificationMethod.map(({ id }) => id)),
    asserting: kids(body.assertionMethod),
    revoked: kids(body.verificationMethod.flatMap(({ id, revoked }) => (revoked ? [id] : []))),
  }
}

let first = ''
let second = ''
let third = ''
let ofFirst: IssuedJson
let ofSecond: IssuedJson

test('503: signing_not_configured until a key exists; then every request works without a restart', async () => {
  for (const path of [keyPath, '/.well-known/did.json']) {
    const { status, body } = await get(one.base, path)
    assert.deepEqual([status, body.error], [503, 'signing_not_configured'], path)
  }
  const tried = await assay(['credentials', 'issue', '--from', '/dev/null'], env)
  assert.equal(tried.ended, 1)
  assert.match(tried.err, /No signing key is active\. Run `assay keys create`/)

  assert.deepEqual(await readiness(one), [200, 'degraded: no signing key is active'])

  first = await createKey()
  await activeIs(first)
  assert.deepEqual(await readiness(one), [200, 'ok'])
  ofFirst = await issueOne()
  assert.equal(proofKid(ofFirst), first)
  assert.equal((await verify(one.base, ofFirst)).body.valid, true)
})

test('a second key is published before it signs; an early rotation is rejected with the allowed time', async () => {
  second = await createKey()
  await bothSee(
    'the DID document has both',
    async (server) => (await didOf(server)).all.length === 2,
  )
  assert.deepEqual((await didOf(one)).asserting, [first], 'a pending key asserts nothing')
  await activeIs(first)
  const { status, body } = await get(one.base, `${keyPath}?kid=${second}`)
  assert.deepEqual([status, kidOf(body)], [200, second])
  const early = await assay(['keys', 'rotate'], env)
  assert.equal(early.ended, 1)
  assert.match(early.err, /Too early.* before \d{4}-\d\d-\d\dT/)
})

test('rotation: credentials of the first key still verify, with the note key_retired; the second key signs at once', async () => {
  await rotate()
  await activeIs(second)
  ofSecond = await issueOne()
  assert.equal(proofKid(ofSecond), second)
  for (const { base } of [one, other]) {
    const { body } = await verify(base, ofFirst)
    assert.deepEqual([body.valid, body.notes.includes('key_retired')], [true, true])
    const { body: fresh } = await verify(base, ofSecond)
    assert.deepEqual([fresh.valid, fresh.notes.includes('key_retired')], [true, false])
  }
})

test('after two rotations and a restart a credential of the first key is valid, online and offline', async () => {
  third = await createKey()
  await rotate()
  await activeIs(third)
  one.signal('SIGTERM')
  assert.equal(await one.ended, 0)
  one = await startServer(env)
  for (const credential of [ofFirst, ofSecond]) {
    const { body } = await verify(one.base, credential)
    assert.deepEqual([body.valid, body.notes.includes('key_retired')], [true, true])
    const [offline] = await verdictsByList(one.base, [credential])
    assert.equal(offline?.valid, true)
  }
  for (const kid of [first, second, third]) {
    const { status, body } = await get(one.base, `${keyPath}?kid=${kid}`)
    assert.deepEqual([status, kidOf(body)], [200, kid])
  }
  const { all, asserting, revoked } = await didOf(one)
  assert.deepEqual([all, asserting, revoked], [[first, second, third].toSorted(byText), all, []])
})

test('a revoked key: verification and status show it at the next call, the list and the DID document soon after', async () => {
  const unconfirmed = await assay(['keys', 'revoke', first], env)
  assert.equal(unconfirmed.ended, 2)
  assert.match(unconfirmed.err, /Nothing was changed/)
  assert.equal((await verify(other.base, ofFirst)).body.valid, true)

  await report(['keys', 'revoke', first, '--yes'], env)
  for (const { base } of [other, one]) {
    const { body } = await verify(base, ofFirst)
    assert.deepEqual([body.valid, body.reason], [false, 'key_revoked'])
    assert.equal((await verify(base, ofSecond)).body.valid, true)
    assert.equal((await statusOf(base, ofFirst)).body.status, 'revoked')
    assert.equal((await statusOf(base, ofSecond)).body.status, 'active')
  }
  await bothSee('the signed list', async ({ base }) => {
    const bits = [ofFirst, ofSecond].map(async (credential) => {
      const { body } = await listOf(base, credential)
      return bitIn(body, credential)
    })
    return isDeepStrictEqual(await Promise.all(bits), [true, false])
  })
  await bothSee('the DID document', async (server) => (await didOf(server)).revoked.length === 1)
  const { all, asserting, revoked } = await didOf(other)
  assert.deepEqual(
    [all, asserting, revoked],
    [[first, second, third].toSorted(byText), [second, third].toSorted(byText), [first]],
  )
  const { status } = await get(other.base, `${keyPath}?kid=${first}`)
  assert.equal(status, 404)
})

test('the active key is revoked: 503 signing_not_configured while verification continues; a new key signs all lists again', async () => {
  const signedBy = async ({ base }: ServerProcess) => proofKid((await listOf(base, ofSecond)).body)
  await bothSee(
    'lists are signed by the third',
    async (server) => (await signedBy(server)) === third,
  )
  await report(['keys', 'revoke', third, '--yes'], env)
  assert.equal((await verify(other.base, ofSecond)).body.valid, true)
  await bothSee('no key is active', async ({ base }) => (await get(base, keyPath)).status === 503)
  const { status, body } = await listOf(one.base, ofSecond)
  assert.deepEqual([status, body.error], [503, 'signing_not_configured'])
  assert.deepEqual(await readiness(one), [200, 'degraded: no signing key is active'])
  const [level, message] = await doctorOfSigning()
  assert.equal(level, 'fail')
  assert.match(message, /^none is active: .* Run `assay keys create`\.$/)

  const fourth = await createKey()
  await activeIs(fourth)
  await bothSee(
    'lists are signed by the fourth',
    async (server) => (await signedBy(server)) === fourth,
  )
  const [offline] = await verdictsByList(other.base, [ofSecond])
  assert.equal(offline?.valid, true)
  const credential = await issueOne()
  assert.equal(proofKid(credential), fourth)
  assert.equal((await verify(other.base, credential)).body.valid, true)
})

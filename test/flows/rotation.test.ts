/**
 * The whole life of signing keys (pending, active, retired, revoked), by command and over HTTP on
 * two running servers.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../support/build/credentials.ts'
import { bitIn } from '../support/build/registry.ts'
import { testDatabase } from '../support/start/database.ts'
import {
  get,
  type IssuedJson,
  issue,
  listOf,
  revoke,
  scoreLine,
  statusOf,
  verdictsByList,
  verify,
} from '../support/start/deployment.ts'
import { type Fence, fencesOf, nameOf } from '../support/start/docs-page.ts'
import {
  assay,
  type Env,
  eventually,
  freePort,
  programs,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'
import { program } from '../support/start/program.ts'

const database = await testDatabase()
after(() => database.drop())
const folder = temporaryFolder()
/** The commands of the docs reach the first server under its public address. */
const port = await freePort()
const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: `http://localhost:${port}`,
  TRUSTED_PROXIES: '127.0.0.1',
}
const startFirst = () => startServer({ ...env, PORT: String(port) })
const keyPath = '/.well-known/service-score-vc-public-key.json'
let [one, other] = await Promise.all([startFirst(), startServer(env)])

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
  const { level = '', message = '' } = findings.find(({ check }) => check === 'signing') ?? {}
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

/** A folder like a fresh clone beside a demo, in which the commands of the docs run. */
const clone = temporaryFolder()
mkdirSync(join(clone, '.data/demo/credentials'), { recursive: true })
for (const name of ['api-key', 'test-key']) writeFileSync(join(clone, '.data/demo', name), 'unused')
mkdirSync(join(clone, 'bin'))
const assayCommand = `exec '${process.execPath}' '${program}' "$@"`
writeFileSync(join(clone, 'bin/assay'), `#!/bin/sh\n${assayCommand}\n`, { mode: 0o755 })
cpSync('packages/sdk', join(clone, 'packages/sdk'), { recursive: true })
symlinkSync(resolve('node_modules'), join(clone, 'node_modules'))
const hasPyNaCl = spawnSync('/usr/bin/python3', ['-c', 'import nacl']).status === 0

/** Returns the sections of a page, each under its heading. The first has none. */
function sectionsOf(page: string, headings: readonly string[]): string {
  const sections = readFileSync(join('docs', page), 'utf8').split(/^## /m)
  const named = headings.map((heading) => sections.find((text) => text.startsWith(`${heading}\n`)))
  assert.ok(!named.includes(undefined), `${page} has ${headings.join(', ')}`)
  return [sections[0], ...named].join('')
}

/** Runs the commands of a page word for word, and compares what they print with the page. */
function runPage(text: string): void {
  const fences = fencesOf(text.replaceAll('localhost:8080', `localhost:${port}`))
  for (const { info, text } of fences) {
    const name = nameOf(text)
    if (name !== undefined && /^(ts|python)$/.test(info)) writeFileSync(join(clone, name), text)
  }
  const runs = ({ info }: Fence) => info === 'sh' || (info === 'sh pynacl' && hasPyNaCl)
  const script = fences.filter(runs).map((fence) => fence.text)
  const path = [dirname(process.execPath), '/usr/bin', programs['PATH']].join(':')
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-e', '-c', script.join('')], {
    cwd: clone,
    env: { ...programs, HOME: clone, PATH: path },
    encoding: 'utf8',
  })
  assert.equal(status, 0, `${stdout}${stderr}`)
  const plain = (line: string): string => line.replace(/\s+/g, ' ').trim()
  const lines = new Set(stdout.split('\n').map(plain))
  const printed = fences
    .filter(({ info }) => info === 'text')
    .flatMap((one) => one.text.split('\n'))
  for (const line of printed)
    assert.ok(lines.has(plain(line)), `printed is "${line}", not:\n${stdout}`)
}

/** Verifies offline by the commands of docs/verify-offline.md and docs/sdk.md. */
function verifyByDocs(credential: IssuedJson): void {
  writeFileSync(join(clone, '.data/demo/credentials/valid.json'), JSON.stringify(credential))
  runPage(readFileSync('docs/verify-offline.md', 'utf8'))
  runPage(sectionsOf('sdk.md', ['Verify a credential offline']))
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

test('before a rotation the commands of the docs verify offline', () => {
  runPage(sectionsOf('sdk.md', ['Install it']))
  verifyByDocs(ofFirst)
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

test('after a rotation, and after the next revocation, the commands of the docs verify offline', async () => {
  for (const credential of [ofFirst, ofSecond]) verifyByDocs(credential)
  const lines = Array.from({ length: 40 }, () => scoreLine())
  const listOfFirst = ofFirst.credentialStatus.statusListCredential
  const beside = (await issue(env, folder, lines)).find(
    ({ credentialStatus }) => credentialStatus.statusListCredential === listOfFirst,
  )
  await revoke(env, [beside?.id.slice('urn:uuid:'.length) ?? ''])
  await bothSee(
    'the second key signs the list of the first credential',
    async ({ base }) => proofKid((await listOf(base, ofFirst)).body) === second,
  )
  for (const credential of [ofFirst, ofSecond]) verifyByDocs(credential)
})

test('after two rotations and a restart a credential of the first key is valid, online and offline', async () => {
  third = await createKey()
  await rotate()
  await activeIs(third)
  one.signal('SIGTERM')
  assert.equal(await one.ended, 0)
  one = await startFirst()
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

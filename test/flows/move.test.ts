/**
 * A deployment moves to another address and back. Credentials issued under either address stay
 * verifiable by third parties.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { originOf } from '../../src/credentials/payload.ts'
import { convertProof, openSigners } from '../../src/credentials/signers.ts'
import { sql } from '../../src/platform/db/db.ts'
import type { Json } from '../support/build/credentials.ts'
import { type PeerForm, peerVerdict, verifierSuite } from '../support/oracle/peer.ts'
import { ask } from '../support/start/ask.ts'
import { testDatabase } from '../support/start/database.ts'
import {
  type IssuedJson,
  issue,
  pathOf,
  revoke,
  scoreLine,
  verify,
} from '../support/start/deployment.ts'
import {
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
const [oldUrl, newUrl] = ['https://old.example.org', 'https://new.example.org:8443']
const common: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  TRUSTED_PROXIES: '127.0.0.1',
}
const keyPath = '/.well-known/service-score-vc-public-key.json'
const forms: PeerForm[] = ['eddsa-rdfc-2022', 'eddsa-jcs-2022']
const suites = await Promise.all(forms.map(verifierSuite))

let env: Env = {}
let server: ServerProcess
await startAs(oldUrl)
await report(['keys', 'create'], env)

async function startAs(publicUrl: string, formerPublicUrls = ''): Promise<void> {
  env = { ...common, PUBLIC_URL: publicUrl, FORMER_PUBLIC_URLS: formerPublicUrls }
  server = await startServer(env)
}

async function moveTo(publicUrl: string, formerPublicUrls: string): Promise<void> {
  server.signal('SIGTERM')
  assert.equal(await server.ended, 0)
  await startAs(publicUrl, formerPublicUrls)
}

/** Returns the document at `path` in the answer to a request with this Host header. */
async function documentOf(host: string, path: string): Promise<Json> {
  const { status, body } = await ask(server.base, { path, headers: { Host: host } })
  assert.equal(status, 200, `${host}${path}: ${body.toString()}`)
  return JSON.parse(body.toString())
}

/**
 * Fetches a URL from the one server, for every host. A status list must have the requested URL as
 * its id.
 */
async function fetchUrl(url: string): Promise<Json> {
  const document = await documentOf(new URL(url).host, pathOf(url))
  if (url.includes('/status-lists/')) assert.equal(document.id, url)
  return document
}

/** Issues `count` credentials, each in both W3C proof forms. */
async function issueBoth(count: number): Promise<IssuedJson[][]> {
  const native = await issue(
    env,
    folder,
    Array.from({ length: count }, () => scoreLine()),
  )
  const signers = await openSigners(join(folder, 'keys'))
  const origins = [originOf(oldUrl), originOf(newUrl)]
  return Promise.all(
    native.map((credential) =>
      Promise.all(
        forms.map(async (form) => {
          const made = await convertProof(credential, form, { origins, signers })
          assert.ok('credential' in made)
          return made.credential as IssuedJson
        }),
      ),
    ),
  )
}

const verdict = (credential: IssuedJson) =>
  peerVerdict(credential, { suites, now: new Date(), fetchUrl })

async function assertAll(
  credentials: readonly IssuedJson[],
  expected: 'valid' | 'revoked',
): Promise<void> {
  for (const credential of credentials) {
    const isRevoked = expected === 'revoked'
    const { body } = await verify(server.base, credential)
    assert.deepEqual([body.valid, body.reason], [!isRevoked, isRevoked ? 'revoked' : undefined])
    const token = await documentOf(
      new URL(credential.credentialStatus.id).host,
      pathOf(credential.credentialStatus.id),
    )
    assert.equal(token.revoked, isRevoked)
    await eventually(`${String(credential.issuer)}: ${expected}`, {
      see: async () => (await verdict(credential)) === expected,
    })
    assert.equal(await verdict(credential), expected)
  }
}

async function revokeOne([credential]: readonly IssuedJson[]): Promise<void> {
  const id = credential?.id.slice('urn:uuid:'.length) ?? ''
  await revoke(env, [id])
}

let kept: IssuedJson[] = []
let withdrawn: IssuedJson[] = []
let ofNew: IssuedJson[] = []

test('before the move both W3C forms verify with the documents of the address', async () => {
  await eventually('the key is active', {
    see: async () => {
      const path = '/.well-known/did.json'
      return (await ask(server.base, { path })).status === 200
    },
  })
  ;[kept = [], withdrawn = []] = await issueBoth(2)
  await assertAll([...kept, ...withdrawn], 'valid')
})

test("after the move both addresses verify, a revocation reaches the former address's lists, and a new key signs them", async () => {
  await moveTo(newUrl, oldUrl)
  ;[ofNew = []] = await issueBoth(1)
  await assertAll([...kept, ...withdrawn, ...ofNew], 'valid')
  const { kid } = await report(['keys', 'create'], env)
  await report(['keys', 'rotate', '--now'], env)
  await eventually('the new key signs', {
    see: async () => {
      const { verificationMethod } = await documentOf('old.example.org', keyPath)
      return (verificationMethod as Json).id === `did:web:old.example.org#${String(kid)}`
    },
  })
  await revokeOne(withdrawn)
  await assertAll(withdrawn, 'revoked')
  await assertAll([...kept, ...ofNew], 'valid')
})

test('the Host header selects only among configured origins', async () => {
  const former = 'did:web:old.example.org'
  const current = 'did:web:new.example.org%3A8443'
  const hosts: [host: string, issuer: string, vocabulary: string][] = [
    ['old.example.org', former, oldUrl],
    ['OLD.example.org:443', former, oldUrl],
    ['old.example.org:80', current, newUrl],
    ['old.example.org:8443', current, newUrl],
    ['new.example.org:8443', current, newUrl],
    ['new.example.org', current, newUrl],
    ['unlisted.example.org', current, newUrl],
    ['127.0.0.1', current, newUrl],
  ]
  for (const [host, issuer, publicUrl] of hosts) {
    const did = await documentOf(host, '/.well-known/did.json')
    assert.equal(did.id, issuer, host)
    const key = await documentOf(host, keyPath)
    assert.deepEqual([key.issuer, key.id], [issuer, `${publicUrl}${keyPath}`], host)
    const context = JSON.stringify(await documentOf(host, '/standard/v1/context.jsonld'))
    assert.ok(context.includes(`${publicUrl}/standard/v1/vocab#`), host)
    const forwarded = { Host: host, 'X-Forwarded-Host': 'old.example.org' }
    const { body } = await ask(server.base, { path: '/.well-known/did.json', headers: forwarded })
    assert.equal(JSON.parse(body.toString()).id, issuer, 'X-Forwarded-Host is not read')
    for (const document of [did, key, context])
      assert.ok(!JSON.stringify(document).includes('unlisted'))
  }
})

test('after the move back everything verifies, and new credentials join the lists that were opened first', async () => {
  await moveTo(oldUrl, newUrl)
  const [again = []] = await issueBoth(1)
  await assertAll([...kept, ...ofNew, ...again], 'valid')
  await assertAll(withdrawn, 'revoked')
  await revokeOne(ofNew)
  await assertAll(ofNew, 'revoked')
  const lists = await database.db.rows(sql`
    select issuer, count(*)::int as lists from status_lists group by issuer order by issuer`)
  assert.deepEqual(lists, [
    { issuer: 'did:web:new.example.org%3A8443', lists: 4 },
    { issuer: 'did:web:old.example.org', lists: 4 },
  ])
})

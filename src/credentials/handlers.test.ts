/** Every handler with each of its statuses, on a real database and without the HTTP server. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import {
  changed,
  inside,
  issuedAt,
  type Json,
  now,
  origin,
  publicUrl,
  score,
  sign,
  signer,
  signerOf,
  vector,
} from '../../test/support/build/credentials.ts'
import { issueOne, issuer, revokeNow, testRegistry } from '../../test/support/build/registry.ts'
import {
  createSigningKey,
  revokeSigningKey,
  rotateSigningKeys,
} from '../../test/support/build/signing-keys.ts'
import { type Answer, anybody } from '../edge/http/endpoint.ts'
import { openDb } from '../platform/db/db.ts'
import { readsOfPrimary } from '../platform/db/replicas.ts'
import { scoreCredentialHandlers } from './handlers.ts'
import { publishDueLists } from './publish-lists.ts'
import { openRegistryCache } from './registry-cache.ts'
import { vcSha256Of } from './trust.ts'
import { openVerifier, type VerifierOptions } from './verifier.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())

await publishDueLists(db, issuer, now)
const issued = await issueOne(db)
const revoked = await issueOne(db)
await revokeNow(contextAt(db, now), [
  { by: 'token', bytes: Buffer.from(revoked.statusToken, 'hex') },
])
const registryCache = openRegistryCache(db, [publicUrl])
await registryCache.refresh()

const unregistered: string[] = []
const clockHand = { now }
const serving = {
  registryCache,
  publicUrl,
  clock: () => clockHand.now,
  keyLimits: { perMinute: 600, perDay: 100_000 },
  engines: new Set([score().engineBinarySha256]),
  onUnregistered: (kid: string) => void unregistered.push(kid),
}
const handlersOf = (options: VerifierOptions & typeof serving) =>
  scoreCredentialHandlers({ ...options, verifier: openVerifier(options) })
const handlers = handlersOf({ reads: readsOfPrimary(db), ...serving })
/** Nothing listens on port 1. */
const away = openDb({
  url: 'postgres://nobody@127.0.0.1:1/none',
  connectionsMax: 1,
  applicationName: 'away',
  onError: () => {},
})
after(() => away.close())
const handlersWithoutDatabase = handlersOf({ reads: readsOfPrimary(away), ...serving })

interface Call {
  path?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
  bodyAmbiguity?: string | null
}

async function call(
  operationId: keyof typeof handlers,
  { path = {}, query = {}, body, bodyAmbiguity = null }: Call = {},
  of = handlers,
): Promise<Answer> {
  const request = { path, query, body, bodyAmbiguity, requestId: 'r', ...anybody }
  return of[operationId](request as never)
}

function bodyOf(answer: Answer): Json {
  if ('document' in answer)
    return JSON.parse(answer.document.representations[0]?.bytes.toString() ?? '')
  if ('body' in answer) return answer.body as Json
  return assert.fail(`no body: ${JSON.stringify(answer)}`)
}

function refusalOf(answer: Answer): string | null {
  return 'refusal' in answer ? answer.refusal : null
}

/** Runs a test with its own database and signing key, so that other tests keep theirs. */
async function withOwnRegistry(
  test: (own: {
    db: typeof db
    handlers: typeof handlers
    refresh(): Promise<void>
  }) => Promise<void>,
) {
  const own = await testRegistry()
  try {
    const ownCache = openRegistryCache(own.db, [publicUrl])
    await ownCache.refresh()
    const ownHandlers = handlersOf({
      reads: readsOfPrimary(own.db),
      ...serving,
      registryCache: ownCache,
    })
    await test({ db: own.db, handlers: ownHandlers, refresh: () => ownCache.refresh() })
  } finally {
    await own.drop()
  }
}

// public key and DID document

test('200: the public key endpoint returns the closed document of the active key', async () => {
  assert.deepEqual(bodyOf(await call('getScoreCredentialPublicKey')), {
    schemaVersion: 'service.score_vc_public_key.v1',
    id: 'https://scores.example.org/.well-known/service-score-vc-public-key.json',
    issuer: 'did:web:scores.example.org',
    proofType: 'ServiceScoreEd25519Signature2026',
    proofPurpose: 'assertionMethod',
    verificationMethod: {
      id: vector.key.verificationMethod,
      type: 'Ed25519VerificationKey2020',
      controller: 'did:web:scores.example.org',
      publicKeyBase64url: vector.key.publicKeyBase64url,
    },
  })
})

test('the key endpoints follow a rotation and a revocation at the next refresh', async () => {
  await withOwnRegistry(async (own) => {
    const next = signerOf(8)
    const didOf = async () => bodyOf(await call('getDidDocument', {}, own.handlers))
    const keyOf = (kid: string) =>
      call('getScoreCredentialPublicKey', { query: { kid } }, own.handlers)
    await createSigningKey(contextAt(own.db, issuedAt), next.kid)
    await own.refresh()
    const published = await didOf()
    const names = [signer, next].map(({ kid }) => `${origin.issuer}#${kid}`)
    const methods = published.verificationMethod as Json[]
    assert.deepEqual(
      methods.map(({ id }) => id),
      names,
      'a pending key is published before it signs',
    )
    assert.deepEqual(published.assertionMethod, names.slice(0, 1), 'and asserts nothing yet')
    await rotateSigningKeys(contextAt(own.db, now), { atOnce: true })
    await own.refresh()
    assert.deepEqual((await didOf()).assertionMethod, names)
    const active = bodyOf(await call('getScoreCredentialPublicKey', {}, own.handlers))
    assert.equal(inside(active, 'verificationMethod').id, names[1])
    assert.equal(inside(bodyOf(await keyOf(signer.kid)), 'verificationMethod').id, names[0])
    await revokeSigningKey(contextAt(own.db, now), signer.kid)
    await own.refresh()
    const did = await didOf()
    assert.deepEqual(did.assertionMethod, [names[1]])
    const [compromised, sound] = did.verificationMethod as Json[]
    assert.equal(compromised?.revoked, '2026-06-01T10:00:00Z')
    assert.equal(sound?.revoked, undefined)
    assert.equal(refusalOf(await keyOf(signer.kid)), 'not_found', 'a revoked key is not handed out')
  })
})

test('200: the DID document lists every key as Multikey', async () => {
  assert.deepEqual(bodyOf(await call('getDidDocument')), {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
    id: origin.issuer,
    verificationMethod: [
      {
        id: vector.key.verificationMethod,
        type: 'Multikey',
        controller: origin.issuer,
        publicKeyMultibase: vector.key.publicKeyMultibase,
      },
    ],
    assertionMethod: [vector.key.verificationMethod],
  })
})

test('a key document is built once and then served unchanged', async () => {
  for (const operationId of ['getScoreCredentialPublicKey', 'getDidDocument'] as const) {
    const [first, again] = [await call(operationId), await call(operationId)]
    assert.ok('document' in first && 'document' in again)
    assert.equal(first.document, again.document)
  }
})

// status by token

function statusOf(statusToken: string, query: Record<string, string> = {}, of = handlers) {
  return call('getScoreCredentialStatus', { path: { statusToken }, query }, of)
}

test('200: the status of an active credential is the closed body without revokedAt', async () => {
  assert.deepEqual(await statusOf(issued.statusToken), {
    status: 200,
    body: {
      schemaVersion: 'service.score_vc_status.v1',
      status: 'active',
      revoked: false,
      checkedAt: '2026-06-01T10:00:00Z',
    },
  })
})

test('200: the status of a revoked credential includes the time', async () => {
  assert.deepEqual(bodyOf(await statusOf(revoked.statusToken)), {
    schemaVersion: 'service.score_vc_status.v1',
    status: 'revoked',
    revoked: true,
    revokedAt: '2026-06-01T10:00:00Z',
    checkedAt: '2026-06-01T10:00:00Z',
  })
})

test('200: the status token and the digest of the same credential match', async () => {
  const answer = await statusOf(issued.statusToken, { vcSha256: issued.vcSha256 })
  assert.equal(bodyOf(answer).status, 'active')
})

test('404: an unknown token and a wrong digest get identical answers', async () => {
  const unknown = await statusOf('0'.repeat(64))
  const mismatch = await statusOf(issued.statusToken, { vcSha256: revoked.vcSha256 })
  assert.equal(refusalOf(unknown), 'status_token_not_found')
  assert.deepEqual(mismatch, unknown)
  const digestAsToken = await statusOf(issued.vcSha256)
  assert.deepEqual(digestAsToken, unknown, 'a digest is no token')
})

test('503: the status endpoint rejects while the database is unavailable', async () => {
  const answer = statusOf(issued.statusToken, {}, handlersWithoutDatabase)
  await assert.rejects(answer, { name: 'UnavailableError' })
})

test('300 concurrent status calls each get the answer for their own token', async () => {
  const tokens = Array.from({ length: 300 }, (_, i) => (i % 2 === 0 ? issued : revoked).statusToken)
  const answers = await Promise.all(tokens.map((token) => statusOf(token)))
  for (const [i, answer] of answers.entries()) assert.equal(bodyOf(answer).revoked, i % 2 === 1)
})

// status list

function listIdOf(credential: { credentialStatus: Record<string, string> }): string {
  const url = credential.credentialStatus.statusListCredential ?? ''
  return url.slice(origin.statusListUrlPrefix.length)
}

function listOf(listId: string, query: Record<string, string> = {}) {
  return call('getScoreCredentialStatusList', { path: { listId }, query })
}

test('200: a status list is signed with eddsa-rdfc-2022 unless the query selects another form', async () => {
  const listId = listIdOf(issued.credential)
  for (const [query, cryptosuite] of [
    [{}, 'eddsa-rdfc-2022'],
    [{ proof: 'eddsa-rdfc-2022' }, 'eddsa-rdfc-2022'],
    [{ proof: 'eddsa-jcs-2022' }, 'eddsa-jcs-2022'],
    [{ proof: 'native' }, undefined],
  ] as const) {
    const list = bodyOf(await listOf(listId, query))
    assert.equal(inside(list, 'proof').cryptosuite, cryptosuite)
    assert.equal(list.id, `${origin.statusListUrlPrefix}${listId}`)
  }
})

test('200: a list that was opened after the last refresh is served', async () => {
  await withOwnRegistry(async (own) => {
    await own.db.run({
      name: 'close',
      text: 'update status_lists set closed_at = now(), dies_at = now()',
      values: [],
    })
    const { credential } = await issueOne(own.db)
    const listId = listIdOf(credential)
    clockHand.now = new Date()
    const answer = await call('getScoreCredentialStatusList', { path: { listId } }, own.handlers)
    clockHand.now = now
    assert.equal(bodyOf(answer).id, `${origin.statusListUrlPrefix}${listId}`)
  })
})

test('404: an unknown list is not found, and an impossible list id causes no database read', async () => {
  assert.equal(refusalOf(await listOf('aaaaaaaaaa')), 'status_list_not_found')
  const counted = registryCache.ageMs()
  for (const id of ['2026-0007', 'x'.repeat(5_000), '../../etc', '%00', '__proto__'])
    assert.equal(refusalOf(await listOf(id)), 'status_list_not_found', id)
  assert.ok(registryCache.ageMs() >= counted, 'the registry cache was not refreshed')
})

test('503: a list past its validity is not served', async () => {
  clockHand.now = new Date('2026-07-01T00:00:00Z')
  const answer = listOf(listIdOf(issued.credential))
  await assert.rejects(answer, { name: 'UnavailableError' })
  clockHand.now = now
})

// verify

function verify(body: Json, of = handlers) {
  return call('verifyScoreCredential', { body }, of)
}

test('200: the verifier accepts a genuine credential', async () => {
  const answer = await verify({ ...issued.credential })
  assert.equal('status' in answer && answer.status, 200)
  assert.equal(bodyOf(answer).valid, true)
})

test('200: the verifier reports a revoked credential', async () => {
  assert.equal(bodyOf(await verify({ ...revoked.credential })).reason, 'revoked')
})

test('200: a credential is valid at once if its key is younger than the last refresh', async () => {
  await withOwnRegistry(async (own) => {
    const next = signerOf(8)
    await createSigningKey(contextAt(own.db, issuedAt), next.kid)
    await rotateSigningKeys(contextAt(own.db, issuedAt), { atOnce: true })
    const { credential } = await issueOne(own.db, {}, { ...issuer, signer: next })
    const answer = await call('verifyScoreCredential', { body: credential }, own.handlers)
    assert.equal(bodyOf(answer).valid, true)
  })
})

test('200: a key that is cached as pending verifies as soon as it is active, and not before', async () => {
  await withOwnRegistry(async (own) => {
    const next = signerOf(8)
    await createSigningKey(contextAt(own.db, issuedAt), next.kid)
    await own.refresh()
    const early = sign(vector.payload, { by: next })
    const before = await call('verifyScoreCredential', { body: early }, own.handlers)
    assert.equal(bodyOf(before).reason, 'unknown_key')
    assert.equal(bodyOf(before).signatureValid, false)
    await rotateSigningKeys(contextAt(own.db, issuedAt), { atOnce: true })
    const { credential } = await issueOne(own.db, {}, { ...issuer, signer: next })
    const after = await call('verifyScoreCredential', { body: credential }, own.handlers)
    assert.equal(bodyOf(after).valid, true)
  })
})

test('200: the verdict is unknown_key if the database cannot be asked for a younger key', async () => {
  const blind = { ...serving, registryCache: openRegistryCache(away, [publicUrl]) }
  const of = handlersOf({ reads: readsOfPrimary(away), ...blind })
  const answer = await call('verifyScoreCredential', { body: issued.credential }, of)
  assert.equal(bodyOf(answer).reason, 'unknown_key')
})

test('200: the handler reports ambiguous JSON as a finding', async () => {
  const request = { body: { ...issued.credential }, bodyAmbiguity: 'A name occurs twice.' }
  const result = bodyOf(await call('verifyScoreCredential', request))
  assert.deepEqual([result.reason, result.message], ['ambiguous_json', 'A name occurs twice.'])
})

test('200: the verdict is status_unavailable while the database is unavailable (decision D29)', async () => {
  const result = bodyOf(await verify({ ...issued.credential }, handlersWithoutDatabase))
  assert.equal(result.reason, 'status_unavailable')
  assert.deepEqual([result.signatureValid, result.issuerMatch], [true, true])
  assert.deepEqual(result.revocation, { checked: false, revoked: false })
})

test('only a valid signature on an unregistered credential raises the alarm', async () => {
  const forged = changed(vector.payload, (copy) => {
    inside(copy, 'credentialSubject').score = 999
  })
  const result = bodyOf(await verify(sign(forged)))
  assert.equal(result.reason, 'status_unknown')
  assert.equal(result.credential, undefined, 'a forged score is not shown')
  assert.deepEqual(unregistered, [signer.kid])
  const tampered = changed({ ...issued.credential }, (copy) => {
    inside(copy, 'credentialSubject').score = 999
  })
  assert.equal(bodyOf(await verify(tampered)).reason, 'signature_invalid')
  assert.deepEqual(unregistered, [signer.kid])
})

test('a forged credential with the token of a revoked one raises the alarm', async () => {
  unregistered.length = 0
  const { proof: _, ...payload } = { ...revoked.credential }
  const forged = changed(payload, (copy) => {
    inside(copy, 'credentialSubject').score = 999
  })
  assert.equal(bodyOf(await verify(sign(forged))).reason, 'status_unknown')
  assert.deepEqual(unregistered, [signer.kid])
})

test('the verifier looks up a credential without credentialStatus by its digest', async () => {
  const { credentialStatus: _, proof: __, ...payload } = { ...issued.credential }
  const result = bodyOf(await verify(sign(payload)))
  assert.equal(result.reason, 'status_unknown')
  const digest = vcSha256Of(payload)
  assert.equal(inside(result, 'presented').payloadSha256, digest.toString('hex'))
  await registry.client.query(
    'update score_credentials set vc_sha256 = $1 where status_token = $2',
    [digest, Buffer.from(issued.statusToken, 'hex')],
  )
  assert.equal(bodyOf(await verify(sign(payload))).valid, true)
})

test('200: the verifier description names the endpoint, the media types and the limits', async () => {
  const body = bodyOf(await call('describeScoreCredentialVerifier'))
  assert.equal(body.endpoint, 'https://scores.example.org/api/v1/score-vc/verify')
  assert.equal(body.maxBodyBytes, 262_144)
  assert.deepEqual(body.acceptedContentTypes, ['application/json', 'application/ld+json'])
  assert.deepEqual(inside(inside(body, 'rateLimits'), 'anonymous'), {
    perMinute: 60,
    perDay: 1_000,
  })
})

test('200: the verdict notes an engine that is not kept, only if the claims are signed', async () => {
  const without = handlersOf({ reads: readsOfPrimary(db), ...serving, engines: new Set() })
  const verify = async (body: unknown, of = handlers) =>
    bodyOf(await call('verifyScoreCredential', { body }, of))
  const { credential } = await issueOne(db)
  const kept = await verify(credential)
  const notKept = await verify(credential, without)
  assert.deepEqual([kept.valid, notKept.valid], [true, true])
  assert.deepEqual(kept.notes, ['proof:native', 'status_source:live'])
  assert.deepEqual(notKept.notes, ['proof:native', 'engine_not_kept', 'status_source:live'])
  const forged = await verify({ ...credential, validUntil: '2099-01-01T00:00:00Z' }, without)
  assert.equal(forged.signatureValid, false)
  assert.ok(!Object(forged).notes.includes('engine_not_kept'))
})

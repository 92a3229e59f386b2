/**
 * The engine has the same hash in the engine document, manifest, provenance, score, credential and
 * file.
 */
import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { sql } from '../../src/platform/db/db.ts'
import { originOf } from '../../src/score-credentials/payload.ts'
import { scoreWorkers } from '../../src/scores/score-workers.ts'
import {
  addEvidence,
  addPublicWorkers,
  addSources,
  enough,
  scoredAt,
  scoringBy,
} from '../support/build/scores.ts'
import { ask } from '../support/start/ask.ts'
import { startIssuing, startService } from '../support/start/service.ts'

const publicUrl = 'https://scores.example.org'
const service = await startService(publicUrl)
after(() => service.stop())
const { signer } = await startIssuing(service)

async function get(url: string) {
  const { status, body } = await ask(service.base, { path: new URL(url, publicUrl).pathname })
  assert.equal(status, 200, url)
  return JSON.parse(body.toString())
}

const { engine } = await get('/.well-known/service-engine.json')
const manifest = await get(engine.manifest_url)

test('engine document and manifest name the released bundle by hash and size', () => {
  const bytes = readFileSync(manifest.binary.path)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  assert.equal(engine.binary_sha256, sha256)
  assert.equal(manifest.binary.sha256, sha256)
  assert.equal(manifest.binary.size, bytes.length)
  assert.deepEqual(
    manifest.content_hashes.filter(({ role }: { role: string }) => role === 'bundle'),
    [{ path: manifest.binary.path, role: 'bundle', sha256, size: bytes.length }],
  )
  assert.equal(engine.version, manifest.engine.version)
  assert.equal(engine.golden_vectors_sha256, manifest.engine.golden_vectors_sha256)
})

test('every hash of the manifest matches its file, and the golden vectors are listed', () => {
  for (const { path, sha256, size } of manifest.content_hashes) {
    const bytes = readFileSync(path)
    assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256, path)
    assert.equal(bytes.length, size, path)
  }
  const golden = manifest.content_hashes.filter(({ role }: { role: string }) => role === 'golden')
  const lines = golden.map(
    (file: { path: string; sha256: string }) => `${file.sha256}  ${file.path}\n`,
  )
  assert.equal(
    createHash('sha256').update(lines.join('')).digest('hex'),
    engine.golden_vectors_sha256,
  )
  const roles = new Set(manifest.content_hashes.map(({ role }: { role: string }) => role))
  const all = 'bundle context golden lockfile schema source table vocabulary'
  assert.deepEqual(roles, new Set(all.split(' ')))
})

test('the provenance verifies with Ed25519 alone under the published key and names the same bundle', async () => {
  const envelope = await get(manifest.release.provenance_url)
  const { verificationMethod } = await get('/.well-known/service-score-vc-public-key.json')
  const [{ keyid, sig }] = envelope.signatures
  assert.equal(keyid, verificationMethod.id)
  const payload = Buffer.from(envelope.payload, 'base64')
  const head = `DSSEv1 ${envelope.payloadType.length} ${envelope.payloadType} ${payload.length} `
  const key = createPublicKey({
    format: 'jwk',
    key: { kty: 'OKP', crv: 'Ed25519', x: verificationMethod.publicKeyBase64url },
  })
  const signed = Buffer.concat([Buffer.from(head), payload])
  assert.ok(verify(null, signed, key, Buffer.from(sig, 'base64')))
  assert.ok(!verify(null, payload, key, Buffer.from(sig, 'base64')))

  const statement = JSON.parse(payload.toString())
  assert.ok(payload.includes('"_type":"https://in-toto.io/Statement/v1"'))
  assert.equal(statement.predicateType, 'https://slsa.dev/provenance/v1')
  assert.deepEqual(statement.subject, [
    { name: manifest.binary.path, digest: { sha256: engine.binary_sha256 } },
  ])
  const { buildDefinition, runDetails } = statement.predicate
  assert.equal(runDetails.builder.id, originOf(publicUrl).issuer)
  assert.deepEqual(buildDefinition.externalParameters, manifest.binary.build.options)
  const used = new Set(
    buildDefinition.resolvedDependencies.map(({ name }: { name: string }) => name),
  )
  for (const name of ['src/scoring-core/score.ts', 'src/scores/bundle.ts', 'package-lock.json'])
    assert.ok(used.has(name), name)
})

test('a score and its credential name the published hash', async () => {
  const { db } = service.database
  await addSources(db)
  const [workerId = ''] = await addPublicWorkers(db, 1)
  await addEvidence(db, workerId, enough)
  const issuer = {
    origin: originOf(publicUrl),
    signer,
    validityDays: 365,
    supersedeRevokes: false,
  }
  const [scored] = await db.transaction((tx) =>
    scoreWorkers(tx, scoringBy(issuer), [{ workerId, correction: null }], scoredAt),
  )
  assert.equal(scored?.snapshot?.engineSha256.toString('hex'), engine.binary_sha256)
  assert.equal(scored?.snapshot?.engineVersion, engine.version)
  const [row] = await db.rows<{ payload: string }>(sql`
    select payload from score_credentials where vc_sha256 = ${scored?.snapshot?.vcSha256 ?? null}`)
  const { credentialSubject } = JSON.parse(row?.payload ?? '')
  assert.equal(credentialSubject.engineBinarySha256, engine.binary_sha256)
  assert.equal(credentialSubject.engineVersion, engine.version)
  assert.deepEqual((await get(credentialSubject.engineId)).engine, engine)
})

test('the algorithm and the changelog are at the addresses that the documents name', async () => {
  for (const url of [engine.algorithm_url, manifest.release.changelog_url]) {
    const reply = await ask(service.base, { path: new URL(url).pathname })
    assert.equal(reply.status, 200, url)
    assert.match(String(reply.headers['content-type']), /^text\/html/)
    assert.match(reply.body.toString(), /<h1[ >]/)
  }
})

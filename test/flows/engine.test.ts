/**
 * The engine has the same hash in the engine document, manifest, score, credential and file.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { originOf } from '../../src/credentials/payload.ts'
import { sql } from '../../src/platform/db/db.ts'
import { scoreWorkers } from '../../src/scoring/scores/score-workers.ts'
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

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { readConfig } from '../config/config.ts'
import { operationsOf } from '../edge/http/contract.ts'
import { type PublicDocument, publicDocument } from '../edge/http/document.ts'
import { anybody } from '../edge/http/endpoint.ts'
import { discoveryContract } from './contract.ts'
import type { EngineFacts } from './engine-facts.ts'
import { exampleEngine, exampleRelease } from './examples.ts'
import { discoveryHandlers } from './handlers.ts'
import { engineDiscovery, releaseManifest } from './schema.ts'

const publicUrl = 'https://scores.example.org'
const issuer = 'did:web:scores.example.org'
const standard = {
  version: '1.0.0',
  catalogHash: 'sha256:00',
  skillCount: 3,
  license: 'CC0-1.0',
}

const limits = { perMinute: 1, perDay: 1 }
const operations = operationsOf(discoveryContract, {
  ...readConfig({}),
  keyLimits: limits,
  agentReportLimits: limits,
})

interface State {
  verificationMethod: string | null
  engine: EngineFacts
}

/** Discovery of one service. `state` can change while it runs. */
function start(engine: EngineFacts = exampleEngine) {
  const state: State = { verificationMethod: null, engine }
  const handlers = discoveryHandlers({
    publicUrl,
    sessionCookie: '__Host-session',
    operations,
    webhooks: [],
    release: exampleRelease,
    engine: () => state.engine,
    standard,
    signing: () => ({
      issuer,
      proofForms: ['native'],
      verificationMethod: state.verificationMethod,
    }),
    errorPage: () =>
      publicDocument({ body: '', contentType: 'text/html; charset=utf-8', maxAgeSeconds: 1 }),
  })
  const documentOf = async (name: keyof typeof handlers): Promise<PublicDocument> => {
    const answer = await handlers[name]({
      path: { name: '' },
      query: {},
      body: null,
      bodyAmbiguity: null,
      requestId: 'r',
      ...anybody,
    })
    assert.ok('document' in answer, name)
    return answer.document
  }
  return { state, documentOf }
}

function parsed(document: PublicDocument): Record<string, unknown> {
  return JSON.parse(String(document.representations[0]?.bytes))
}

test('discovery: the OpenAPI document is the same bytes at both paths, made once', async () => {
  const { documentOf } = start()
  const one = await documentOf('getOpenApi')
  const other = await documentOf('getWellKnownOpenApi')
  assert.deepEqual(one.representations[0]?.bytes, other.representations[0]?.bytes)
  assert.equal(await documentOf('getOpenApi'), one)
  assert.deepEqual(Object.keys(Object(parsed(one).paths)).length, operations.length)
})

test('discovery: the engine document has the published shape and the addresses of this deployment', async () => {
  const { documentOf } = start()
  const document = parsed(await documentOf('getEngineDiscovery'))
  assert.ok(Compile(engineDiscovery).Check(document))
  assert.equal(document.issuer, issuer)
  const { status_url_template } = Object(document.score_vc)
  assert.equal(status_url_template, `${publicUrl}/standard/v1/score-vc-status/{statusToken}`)
  assert.equal(Object(document.standard).skill_count, standard.skillCount)
  assert.deepEqual(Object(document.engine).score_scale, { min: 0, max: 1_000 })
})

test('discovery: the engine document follows the signing key, and is the same object until it changes', async () => {
  const { state, documentOf } = start()
  const unsigned = await documentOf('getEngineDiscovery')
  const { signing_configured, verification_method } = Object(parsed(unsigned).score_vc)
  assert.deepEqual([signing_configured, verification_method], [false, null])
  assert.equal(await documentOf('getEngineDiscovery'), unsigned)

  state.verificationMethod = `${issuer}#z6Mk`
  const signed = await documentOf('getEngineDiscovery')
  assert.notEqual(signed.representations[0]?.etag, unsigned.representations[0]?.etag)
  const now = Object(parsed(signed).score_vc)
  assert.deepEqual([now.signing_configured, now.verification_method], [true, `${issuer}#z6Mk`])
})

const manifestPath = '/.well-known/service-score-core-release-manifest.json'

test('discovery: the engine document and the release manifest describe the engine as it was loaded', async () => {
  const { documentOf } = start()
  const { engine } = parsed(await documentOf('getEngineDiscovery'))
  const manifest = parsed(await documentOf('getReleaseManifest'))
  const { loaded } = exampleEngine
  const published = Object(engine)
  assert.deepEqual(
    [
      published.id,
      published.version,
      published.lifecycle,
      published.binary_sha256,
      published.golden_vectors_sha256,
    ],
    ['hsc', '2.0.0', 'stable', loaded.binarySha256, loaded.goldenSha256],
  )
  assert.deepEqual(published.parameters, {
    mass_min: 150_000,
    half_width_max: 500,
    ladder: [700, 820, 900, 960, 1_000],
    table_sha256: loaded.tableSha256,
  })
  assert.equal(published.algorithm_url, `${publicUrl}/docs/scoring`)
  assert.equal(published.manifest_url, `${publicUrl}${manifestPath}`)

  const { sha256, size, name } = Object(manifest.binary)
  assert.deepEqual(
    [sha256, size, name],
    [loaded.binarySha256, loaded.size, 'hsc-2.0.0-51a1f05af85e.mjs'],
  )
  const { previous_version, change } = Object(manifest.engine)
  assert.deepEqual([previous_version, change], [null, 'none'])
})

test('discovery: a refused engine is reported as refused, and the manifest is still served', async () => {
  const { documentOf } = start({
    ...exampleEngine,
    state: 'altered',
    loaded: null,
  })
  const { engine } = parsed(await documentOf('getEngineDiscovery'))
  const { lifecycle, refusal, binary_sha256, version } = Object(engine)
  assert.deepEqual([lifecycle, refusal, binary_sha256], ['refused', 'altered', null])
  assert.equal(version, '2.0.0')
  const manifest = parsed(await documentOf('getReleaseManifest'))
  assert.ok(Compile(releaseManifest).Check(manifest))
  assert.equal(Object(manifest.binary).sha256, null)
  assert.equal(Object(manifest.engine).state, 'altered')
})

test('discovery: an engine that is recalled while the service runs is reported as recalled, with its digest', async () => {
  const { state, documentOf } = start()
  const before = await documentOf('getReleaseManifest')
  assert.equal(await documentOf('getReleaseManifest'), before)
  await documentOf('getEngineDiscovery')
  state.engine = { ...exampleEngine, state: 'recalled' }
  const { engine } = parsed(await documentOf('getEngineDiscovery'))
  const { lifecycle, binary_sha256 } = Object(engine)
  assert.deepEqual([lifecycle, binary_sha256], ['recalled', exampleEngine.loaded.binarySha256])
  const manifest = parsed(await documentOf('getReleaseManifest'))
  assert.equal(Object(manifest.engine).state, 'recalled')
  assert.equal(Object(manifest.binary).sha256, exampleEngine.loaded.binarySha256)
})

test('discovery: the release manifest has the published shape', async () => {
  const { documentOf } = start()
  const document = parsed(await documentOf('getReleaseManifest'))
  assert.ok(Compile(releaseManifest).Check(document))
  assert.equal(document.generated_at, '2026-05-14T09:00:00Z')
  const { source_date_epoch, changelog_url, tag } = Object(document.release)
  assert.equal(source_date_epoch, Date.parse('2026-05-14T09:00:00Z') / 1_000)
  assert.equal(changelog_url, `${publicUrl}/changelog`)
  assert.equal(tag, 'v0.1.0')
})

/** The handlers of the four routes. The tests of the whole service cover them over HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Compile } from 'typebox/compile'
import type { PublicDocument } from '../platform/http/document.ts'
import { type Answer, anybody, type Endpoint } from '../platform/http/endpoint.ts'
import { skillStandardEndpoints } from './endpoints.ts'
import { loadVocabulary } from './vocabulary.ts'

const publicUrl = 'https://scores.example.org'
const vocabulary = loadVocabulary('vocabulary')
const endpoints = skillStandardEndpoints({ publicUrl, vocabulary })

function route(path: string, of: Endpoint[] = endpoints): Endpoint {
  const found = of.find((candidate) => candidate.path === path)
  assert.ok(found, path)
  return found
}

async function answerOf(endpoint: Endpoint, path: Record<string, string> = {}): Promise<Answer> {
  const request = { query: {}, body: undefined, bodyAmbiguity: null, requestId: 'r', ...anybody }
  return endpoint.answer({ ...request, path })
}

function skill(id: string, of: Endpoint[] = endpoints): Promise<Answer> {
  return answerOf(route('/standard/v1/skills/{id}', of), { id })
}

function documentOf(answer: Answer): PublicDocument {
  assert.ok('document' in answer, JSON.stringify(answer))
  return answer.document
}

function bodyOf(answer: Answer) {
  const [identity] = documentOf(answer).representations
  assert.ok(identity?.encoding === 'identity')
  return JSON.parse(identity.bytes.toString('utf8'))
}

test('the four routes are open and have the priority of public documents', () => {
  assert.deepEqual(
    endpoints.map(({ method, path, policy, priority }) => [method, path, policy.kind, priority]),
    [
      ['GET', '/standard/v1/context.jsonld', 'open', 'public'],
      ['GET', '/standard/v1/skills', 'open', 'public'],
      ['GET', '/standard/v1/skills/{id}', 'open', 'public'],
      ['GET', '/standard/v1/score-bands.jsonld', 'open', 'public'],
    ],
  )
  assert.equal(new Set(endpoints.map(({ operationId }) => operationId)).size, 4)
})

test('every response has an example that fits its closed schema', () => {
  for (const endpoint of endpoints) {
    for (const [status, { schema, example }] of Object.entries(endpoint.responses)) {
      if (schema === undefined) continue
      assert.ok(example !== undefined, `${endpoint.path} ${status}`)
      assert.ok(Compile(schema).Check(example), `${endpoint.path} ${status}`)
    }
  }
})

test('200: every document is application/ld+json without parameters, fresh for an hour, and fits its schema', async () => {
  for (const endpoint of endpoints) {
    const answer = await answerOf(endpoint, { id: 'typescript' })
    const document = documentOf(answer)
    assert.equal(document.contentType, 'application/ld+json')
    assert.equal(document.cacheControl, 'public, max-age=3600')
    assert.equal(document.contextUrl, `${publicUrl}/standard/v1/context.jsonld`)
    const schema = endpoint.responses[200]?.schema
    assert.ok(schema && Compile(schema).Check(bodyOf(answer)), endpoint.path)
  }
})

test('200: gzip and br hold the same bytes, each under its own ETag', async () => {
  const { representations } = documentOf(await answerOf(route('/standard/v1/skills')))
  const [identity, br, gzip] = representations
  assert.ok(identity && br && gzip)
  assert.deepEqual(brotliDecompressSync(br.bytes), identity.bytes)
  assert.deepEqual(gunzipSync(gzip.bytes), identity.bytes)
  assert.equal(new Set(representations.map(({ etag }) => etag)).size, 3)
})

test('200: slug, slug.jsonld and hss:slug are one document, for each skill', async () => {
  for (const { id } of vocabulary.records) {
    const slug = id.slice('hss:'.length)
    const document = documentOf(await skill(slug))
    assert.equal(documentOf(await skill(`${slug}.jsonld`)), document)
    assert.equal(documentOf(await skill(id)), document)
    assert.equal(bodyOf({ document }).id, id)
  }
})

test('200: a record alone says the same as in the catalog', async () => {
  const catalog = bodyOf(await answerOf(route('/standard/v1/skills')))
  assert.equal(catalog.skills.length, catalog.count)
  for (const record of catalog.skills) assert.deepEqual(bodyOf(await skill(record.id)), record)
})

test('404: a well-formed unknown slug has the closed skill-not-found body as JSON-LD', async () => {
  for (const id of ['no-such-skill', 'no-such-skill.jsonld', 'hss:no-such-skill', 'constructor']) {
    const slug = id === 'constructor' ? id : 'no-such-skill'
    assert.deepEqual(await skill(id), {
      status: 404,
      body: { error: 'skill_not_found', id: `hss:${slug}` },
      contentType: 'application/ld+json',
    })
  }
})

test('400: an id that cannot be a slug is an invalid parameter, never a 404 body with a false id', async () => {
  for (const id of ['TypeScript', 'a--b', '-', '..', 'a'.repeat(65), 'hss:', '__proto__', 'é']) {
    const answer = await skill(id)
    assert.ok('refusal' in answer, id)
    assert.equal(answer.refusal, 'invalid_parameter')
    assert.match(answer.message ?? '', /^id must be a skill slug/)
  }
})

test('200: a deprecated skill stays, and names its successor in a Link header', async () => {
  const deprecated = { 'hss:git': 'hss:sql' }
  const changed = skillStandardEndpoints({ publicUrl, vocabulary: { ...vocabulary, deprecated } })
  const document = documentOf(await skill('git', changed))
  assert.deepEqual(document.headers, {
    Link: `<${publicUrl}/standard/v1/skills/sql>; rel="successor-version"`,
  })
  assert.equal(bodyOf({ document }).id, 'hss:git')
  assert.deepEqual(documentOf(await skill('sql', changed)).headers, {})
  const catalog = bodyOf(await answerOf(route('/standard/v1/skills', changed)))
  assert.deepEqual(catalog.deprecated, [{ id: 'hss:git', successor: 'hss:sql' }])
})

/** Calls the handlers directly. The contract test calls them over HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Compile } from 'typebox/compile'
import type { PublicDocument } from '../edge/http/document.ts'
import { type Answer, anybody } from '../edge/http/endpoint.ts'
import { skillStandardContract } from './contract.ts'
import { skillStandardHandlers } from './handlers.ts'
import { loadNotes } from './notes.ts'
import { loadReleasedVocabulary, openReleases } from './releases.ts'

const publicUrl = 'https://scores.example.org'
const vocabulary = loadReleasedVocabulary()
const releases = openReleases('vocabulary')
const notes = loadNotes('vocabulary')
const handlers = skillStandardHandlers({ publicUrl, vocabulary, releases, notes })

type Handler = keyof typeof handlers

function answerOf(name: Handler, id = 'typescript', of = handlers): Answer | Promise<Answer> {
  const request = { query: {}, body: undefined, bodyAmbiguity: null, requestId: 'r', ...anybody }
  return of[name]({ ...request, path: { id, version: id } })
}

async function skill(id: string, of = handlers): Promise<Answer> {
  return answerOf('getSkill', id, of)
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

test('200: every document of the specification is application/ld+json without parameters, fresh for an hour, and fits its schema', async () => {
  const names = [
    'getSkillStandardContext',
    'listSkills',
    'getSkill',
    'getScoreBands',
  ] as const satisfies Handler[]
  for (const name of names) {
    const answer = await answerOf(name)
    const document = documentOf(answer)
    assert.equal(document.contentType, 'application/ld+json')
    assert.equal(document.cacheControl, 'public, max-age=3600')
    assert.equal(document.contextUrl, `${publicUrl}/standard/v1/context.jsonld`)
    const { schema } = skillStandardContract[name].responses[200]
    assert.ok(Compile(schema).Check(bodyOf(answer)), name)
  }
})

test('200: gzip and br hold the same bytes, each under its own ETag', async () => {
  const { representations } = documentOf(await answerOf('listSkills'))
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
  const catalog = bodyOf(await answerOf('listSkills'))
  assert.equal(catalog.skills.length, catalog.count)
  for (const record of catalog.skills) assert.deepEqual(bodyOf(await skill(record.id)), record)
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
  const changed = skillStandardHandlers({
    publicUrl,
    vocabulary: { ...vocabulary, deprecated },
    releases,
    notes,
  })
  const document = documentOf(await skill('git', changed))
  const successor = `<${publicUrl}/standard/v1/skills/sql>; rel="successor-version"`
  assert.ok(document.headers.Link?.includes(successor))
  assert.equal(bodyOf({ document }).id, 'hss:git')
  assert.doesNotMatch(documentOf(await skill('sql', changed)).headers.Link ?? '', /successor/)
  const catalog = bodyOf(await answerOf('listSkills', undefined, changed))
  assert.deepEqual(catalog.deprecated, [{ id: 'hss:git', successor: 'hss:sql' }])
})

test('200: each skill has notes on its present version, and its record names them', async () => {
  for (const { id, version } of vocabulary.records) {
    const slug = id.slice('hss:'.length)
    const body = bodyOf(await answerOf('getSkillNotes', slug))
    assert.ok(Compile(skillStandardContract.getSkillNotes.responses[200].schema).Check(body), id)
    assert.deepEqual([body.about, body.about_version], [id, version])
    const link = `<${body['@id']}>; rel="describedby"`
    assert.ok(documentOf(await skill(slug)).headers.Link?.includes(link))
  }
  const answer = await answerOf('getSkillNotes', 'no-such-skill')
  assert.ok('status' in answer && answer.status === 404)
})

const releasedHandlers = [
  ['getReleasedSkills', 'listSkills'],
  ['getReleasedSkillsCsv', 'getSkillsCsv'],
  ['getReleasedSkillsNQuads', 'getSkillsNQuads'],
  ['getReleasedSkillCrosswalk', 'getSkillCrosswalk'],
] as const

test('200: the documents of a release are immutable, and each names its predecessor and the latest version', async () => {
  const versions = releases.index.map(({ version }) => version)
  for (const [name] of releasedHandlers)
    for (const [at, version] of versions.entries()) {
      const { cacheControl, headers } = documentOf(await answerOf(name, version))
      assert.equal(cacheControl, 'public, max-age=31536000, immutable')
      const link = headers.Link ?? ''
      assert.match(link, /rel="latest-version"/)
      const predecessor = /releases\/([^/]+)\/[^>]+>; rel="predecessor-version"/.exec(link)?.[1]
      assert.equal(predecessor, versions[at - 1])
      assert.doesNotMatch(link, /successor-version/)
    }
})

test('200: the newest release says the same as the current documents, apart from its own address', async () => {
  const newest = releases.index.at(-1)?.version ?? ''
  const textOf = (answer: Answer) =>
    documentOf(answer).representations.at(0)?.bytes.toString('utf8') ?? ''
  for (const [released, current] of releasedHandlers) {
    const address = `${publicUrl}/standard/v1/releases/${newest}/skills.jsonld`
    const text = textOf(await answerOf(released, newest))
    const renamed = text
      .replaceAll(`"${address}"`, `"${publicUrl}/standard/v1/skills"`)
      .replaceAll(`<${address}>`, `<${publicUrl}/standard/v1/skills>`)
    assert.equal(renamed, textOf(await answerOf(current)))
  }
})

test('200: the list of releases begins with the newest one and names its documents', async () => {
  const body = bodyOf(await answerOf('listSkillReleases'))
  assert.ok(Compile(skillStandardContract.listSkillReleases.responses[200].schema).Check(body))
  assert.equal(body.releases.length, releases.index.length)
  assert.equal(body.releases[0]?.version, vocabulary.release.version)
})

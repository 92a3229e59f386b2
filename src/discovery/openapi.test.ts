/** The published contract is a sound OpenAPI 3.1 document, and the builder keeps its promises. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { Type } from 'typebox'
import { type Endpoint, endpoint } from '../edge/http/endpoint.ts'
import { errorTable, publicErrorNames } from '../platform/errors.ts'
import { openApiDocument } from './openapi.ts'

type Json = Record<string, unknown>

const contract: Json = JSON.parse(readFileSync('openapi/2026-05-14.json', 'utf8'))
const publicUrl = 'https://scores.example.org'

/** Yields every object of a document with its JSON pointer. */
function* nodes(value: unknown, pointer = ''): Generator<[pointer: string, node: Json]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [pointer, value as Json]
  for (const [name, member] of Object.entries(value)) {
    const isInstance = name === 'value' || name === 'example'
    const step = name.replaceAll('~', '~0').replaceAll('/', '~1')
    if (!isInstance) yield* nodes(member, `${pointer}/${step}`)
  }
}

function at(document: Json, ref: string): unknown {
  const steps = ref.slice(2).split('/')
  return steps.reduce<unknown>(
    (node, step) => Object(node)[step.replaceAll('~1', '/').replaceAll('~0', '~')],
    document,
  )
}

function operationsOf(document: Json): [name: string, path: string, operation: Json][] {
  return Object.entries(Object(document.paths)).flatMap(([path, item]) =>
    Object.entries(Object(item)).map(([method, operation]): [string, string, Json] => [
      `${method.toUpperCase()} ${path}`,
      path,
      Object(operation),
    ]),
  )
}

function resolved(document: Json, node: unknown): Json {
  const { $ref } = Object(node)
  return Object(typeof $ref === 'string' ? at(document, $ref) : node)
}

test('contract: the operations of the specification and the extensions', () => {
  assert.equal(contract.openapi, '3.1.0')
  assert.equal(Object(contract.info).version, '2026-05-14')
  assert.deepEqual(contract.servers, [{ url: publicUrl }])
  assert.deepEqual(
    operationsOf(contract).map(([name]) => name),
    [
      'GET /.well-known/did.json',
      'GET /.well-known/service-engine.json',
      'GET /.well-known/service-openapi.json',
      'GET /.well-known/service-score-core-release-manifest.json',
      'GET /.well-known/service-score-vc-public-key.json',
      'GET /api/account/agent-decisions',
      'POST /api/account/agent-decisions/unlock-review',
      'GET /api/account/credits.csv',
      'GET /api/account/developer/sandbox/candidates/search',
      'GET /api/account/developer/sandbox/candidates/{username}',
      'GET /api/account/developer/sandbox/scores/{scoreId}',
      'GET /api/account/webhooks/endpoints',
      'POST /api/account/webhooks/endpoints',
      'GET /api/account/webhooks/endpoints/{endpointId}/deliveries',
      'POST /api/account/webhooks/endpoints/{endpointId}/test',
      'POST /api/v1/agent-decisions',
      'GET /api/v1/candidates/search',
      'GET /api/v1/candidates/{username}',
      'GET /api/v1/candidates/{username}/credential',
      'GET /api/v1/openapi.json',
      'GET /api/v1/score-vc/verify',
      'POST /api/v1/score-vc/verify',
      'GET /api/v1/scores/{scoreId}',
      'GET /api/v1/scores/{scoreId}/credential',
      'GET /api/v1/webhooks/endpoints',
      'POST /api/v1/webhooks/endpoints',
      'DELETE /api/v1/webhooks/endpoints/{endpointId}',
      'GET /api/v1/webhooks/events',
      'GET /docs/errors/{name}',
      'GET /sandbox/standard/v1/score-vc-status/{statusToken}',
      'GET /sandbox/standard/v1/status-lists/score-vc-revocation/{listId}',
      'GET /standard/v1/context.jsonld',
      'GET /standard/v1/crosswalk.csv',
      'GET /standard/v1/notes.csv',
      'GET /standard/v1/releases',
      'GET /standard/v1/releases/{version}/crosswalk.csv',
      'GET /standard/v1/releases/{version}/skills.csv',
      'GET /standard/v1/releases/{version}/skills.jsonld',
      'GET /standard/v1/releases/{version}/skills.nq',
      'GET /standard/v1/score-bands.jsonld',
      'GET /standard/v1/score-vc-status/{statusToken}',
      'GET /standard/v1/skills',
      'GET /standard/v1/skills.csv',
      'GET /standard/v1/skills.nq',
      'GET /standard/v1/skills/{id}',
      'GET /standard/v1/skills/{id}/notes',
      'GET /standard/v1/status-lists/score-vc-revocation/{listId}',
      'GET /standard/v1/vocab',
    ],
  )
})

test('contract: each operation lists every status that the specification lists', () => {
  const listed: Record<string, number[]> = {
    'GET /.well-known/service-engine.json': [200, 400],
    'GET /api/v1/candidates/search': [200, 400, 401, 402, 403, 429, 500, 503],
    'GET /api/v1/candidates/{username}': [200, 400, 401, 402, 403, 404, 429, 500, 503],
    'GET /api/v1/scores/{scoreId}': [200, 400, 401, 402, 403, 404, 429, 500, 503],
    'GET /.well-known/service-openapi.json': [200, 400],
    'GET /.well-known/service-score-core-release-manifest.json': [200, 400],
    'GET /.well-known/service-score-vc-public-key.json': [200, 400, 503],
    'POST /api/v1/agent-decisions': [200, 201, 400, 401, 403, 409, 429, 500, 503],
    'GET /api/v1/openapi.json': [200, 400],
    'GET /api/v1/score-vc/verify': [200, 400],
    'POST /api/v1/score-vc/verify': [200, 400, 401, 402, 403, 413, 415, 429, 503],
    'GET /api/v1/webhooks/endpoints': [200, 400, 401, 403, 429, 500, 503],
    'POST /api/v1/webhooks/endpoints': [201, 400, 401, 403, 409, 429, 500, 503],
    'DELETE /api/v1/webhooks/endpoints/{endpointId}': [200, 400, 401, 403, 404, 429, 500, 503],
    'GET /standard/v1/context.jsonld': [200, 400],
    'GET /standard/v1/score-bands.jsonld': [200, 400],
    'GET /standard/v1/score-vc-status/{statusToken}': [200, 400, 404, 500],
    'GET /standard/v1/skills': [200, 400],
    'GET /standard/v1/skills/{id}': [200, 400, 404],
    'GET /standard/v1/status-lists/score-vc-revocation/{listId}': [200, 400, 404, 500, 503],
  }
  for (const [name, , { responses }] of operationsOf(contract))
    for (const status of listed[name] ?? [])
      assert.ok(status in Object(responses), `${name} does not list ${status}`)
  // Their lists are closed: a wrong media type or size is 400 there (decision D54).
  for (const [name, , { responses }] of operationsOf(contract))
    if (name === 'POST /api/v1/agent-decisions' || name === 'POST /api/v1/webhooks/endpoints')
      assert.deepEqual(
        Object.keys(Object(responses)),
        [...(listed[name] ?? []), 'default'].map(String),
      )
})

test('contract: every reference resolves, and every component is referred to', () => {
  const used = new Set<string>()
  for (const [pointer, { $ref }] of nodes(contract)) {
    if ($ref === undefined) continue
    assert.ok(typeof $ref === 'string' && $ref.startsWith('#/components/'), pointer)
    assert.notEqual(at(contract, $ref), undefined, `${pointer} refers to ${$ref}`)
    used.add($ref)
  }
  for (const [kind, components] of Object.entries(Object(contract.components)))
    for (const name of Object.keys(Object(components)))
      if (kind !== 'securitySchemes' && !(name in errorTable))
        assert.ok(used.has(`#/components/${kind}/${name}`), `nothing refers to ${kind}/${name}`)
})

test('contract: no object is written out twice', () => {
  const seen = new Map<string, string>()
  for (const [pointer, node] of nodes(contract)) {
    if (node.type !== 'object' || Object.keys(Object(node.properties)).length === 0) continue
    const text = JSON.stringify(node)
    assert.equal(seen.get(text), undefined, `${pointer} is written out again: give it a title`)
    seen.set(text, pointer)
  }
  assert.ok(seen.size > 5)
})

test('contract: operation ids are unique, each operation has an area and a summary', () => {
  const ids = operationsOf(contract).map(([name, , { operationId, tags, summary }]) => {
    assert.match(String(operationId), /^[a-z][A-Za-z]+$/, name)
    assert.ok(Array.isArray(tags) && tags.length === 1 && summary, name)
    return operationId
  })
  assert.equal(new Set(ids).size, ids.length)
})

test('contract: each area, operation, parameter and member has a description', () => {
  const silent: string[] = []
  const expectText = (pointer: string, node: unknown): void => {
    if (typeof resolved(contract, node).description !== 'string') silent.push(pointer)
  }
  for (const tag of Object(contract.tags)) expectText(`tag ${tag.name}`, tag)
  for (const [name, , operation] of operationsOf(contract)) {
    expectText(name, operation)
    for (const parameter of Object(operation.parameters)) expectText(name, parameter)
  }
  for (const [pointer, { properties }] of nodes({ ...contract, examples: {} })) {
    if (pointer.endsWith('/properties')) continue
    for (const [member, schema] of Object.entries(Object(properties)))
      expectText(`${pointer} ${member}`, schema)
  }
  assert.deepEqual(silent, [])
})

test('contract: a schema says null by its type, a choice of texts by enum, and a choice of objects by oneOf', () => {
  for (const [pointer, node] of nodes(Object(contract.components).schemas)) {
    assert.equal(node.anyOf, undefined, pointer)
    const isObject = node.type === 'object' && !pointer.endsWith('/properties')
    if (isObject) assert.notEqual(node.additionalProperties, undefined, pointer)
  }
  const schemas = Object(Object(contract.components).schemas)
  assert.deepEqual(schemas.ScoreCredentialStatus.discriminator, {
    propertyName: 'status',
    mapping: {
      active: '#/components/schemas/ActiveCredentialStatus',
      revoked: '#/components/schemas/RevokedCredentialStatus',
    },
  })
  const { error } = schemas.ErrorResponse.properties
  assert.deepEqual(error['x-extensible-enum'], publicErrorNames)
})

test('contract: path parameters are exactly those of the path, and the version header is on every operation', () => {
  for (const [name, path, operation] of operationsOf(contract)) {
    assert.ok(Array.isArray(operation.parameters), name)
    const parameters = operation.parameters.map((parameter) => resolved(contract, parameter))
    const inPath = parameters.filter((parameter) => parameter.in === 'path')
    assert.deepEqual(
      inPath.map((parameter) => parameter.name),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter),
      name,
    )
    for (const parameter of parameters) {
      assert.ok(parameter.schema, `${name} ${String(parameter.name)}`)
      assert.equal(parameter.required, parameter.in === 'path' ? true : parameter.required, name)
      assert.notEqual(parameter.required, undefined, name)
    }
    const places = parameters.map(
      (parameter) => `${String(parameter.in)} ${String(parameter.name)}`,
    )
    assert.equal(new Set(places).size, places.length, name)
    assert.ok(places.includes('header Service-Version'), name)
  }
})

test('contract: every response has a description, its headers and an example for each media type', () => {
  for (const [name, , { responses }] of operationsOf(contract)) {
    assert.ok(Object.keys(Object(responses)).some((status) => status.startsWith('2')))
    for (const [status, response] of Object.entries(Object(responses))) {
      const { description, headers, content } = resolved(contract, response)
      assert.ok(description && headers, `${name} ${status}`)
      if (status === '304') continue
      for (const media of Object.values(Object(content)))
        assert.ok(examplesOf(Object(media)).length > 0, `${name} ${status} has no example`)
    }
  }
})

test('contract: every example fits its schema, closed as declared', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema(contract, 'contract')
  let checked = 0
  for (const [pointer, node] of nodes(contract)) {
    for (const [type, media] of Object.entries(Object(node.content))) {
      const step = type.replaceAll('/', '~1')
      const place = `contract#${pointer}/content/${step}/schema`
      const validate = ajv.compile({ $ref: encodeURI(place).replaceAll('%23', '#') })
      for (const example of examplesOf(Object(media))) {
        assert.ok(validate(example), `${place}: ${ajv.errorsText(validate.errors)}`)
        checked++
      }
    }
  }
  assert.ok(checked > 50, `${checked} examples checked`)
})

const extensions = new Set([
  'GET /api/account/credits.csv',
  'GET /api/v1/candidates/{username}/credential',
  'GET /api/v1/scores/{scoreId}/credential',
  'GET /.well-known/did.json',
  'GET /api/v1/webhooks/events',
  'GET /docs/errors/{name}',
  'GET /standard/v1/crosswalk.csv',
  'GET /standard/v1/notes.csv',
  'GET /standard/v1/releases',
  'GET /standard/v1/releases/{version}/crosswalk.csv',
  'GET /standard/v1/releases/{version}/skills.csv',
  'GET /standard/v1/releases/{version}/skills.jsonld',
  'GET /standard/v1/releases/{version}/skills.nq',
  'GET /standard/v1/skills.csv',
  'GET /standard/v1/skills.nq',
  'GET /standard/v1/skills/{id}/notes',
  'GET /standard/v1/vocab',
  'GET /sandbox/standard/v1/score-vc-status/{statusToken}',
  'GET /sandbox/standard/v1/status-lists/score-vc-revocation/{listId}',
])

test('contract: an operation without a scope declares no authentication; verify takes a key or none, paid reads a key or a payment, account routes a session', () => {
  const key = { apiKey: [] }
  for (const [name, , operation] of operationsOf(contract)) {
    const { scope, meter, credits } = Object(operation['x-api-key'])
    assert.equal(credits, meter && 1, `${name}: the default price`)
    const isVerify = name === 'POST /api/v1/score-vc/verify'
    const paid = [key, { payment: [] }, { paymentSignature: [] }]
    const expected = isVerify ? [{}, key] : meter !== undefined ? paid : [key]
    const isAccount = name.includes(' /api/account/')
    const unscoped = isAccount ? [{ session: [] }] : []
    assert.deepEqual(operation.security, scope === undefined ? unscoped : expected, name)
    const { anonymous, apiKey, session } = Object(operation['x-rate-limits'])
    assert.deepEqual(session, isAccount ? { perMinute: 300 } : undefined, name)
    assert.deepEqual(anonymous, isVerify ? { perMinute: 60, perDay: 1_000 } : undefined, name)
    assert.equal(apiKey === undefined, scope === undefined, name)
    if (name.includes('/standard/') || name.includes('/.well-known/'))
      assert.equal(scope, undefined, name)
    assert.equal(operation['x-extension'], extensions.has(name) ? true : undefined, name)
  }
})

test('contract: JSON-LD is served as application/ld+json, tables as CSV, statements as N-Quads, everything else as application/json', () => {
  for (const [name, path, { responses }] of operationsOf(contract)) {
    const { 200: ok, 202: accepted, 201: created = ok ?? accepted } = Object(responses)
    const { content } = resolved(contract, created)
    const isPlain = path.includes('/score-vc-status/') || path.endsWith('/releases')
    const isLinked = (path.includes('/standard/v1/') && !isPlain) || path.endsWith('/credential')
    const expected = isLinked ? 'application/ld+json' : 'application/json'
    const [, extension = ''] = /\.(csv|nq)$/.exec(path) ?? []
    const type = typesOfFiles[extension] ?? expected
    assert.deepEqual(Object.keys(Object(content)), [type], name)
  }
})

const typesOfFiles: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  nq: 'application/n-quads',
}

test('contract: the six events are webhooks, each with its closed envelope and the delivery headers', () => {
  const webhooks: Json = Object(contract.webhooks)
  assert.deepEqual(Object.keys(webhooks), [
    'score.updated',
    'score.revised',
    'evidence.revoked',
    'dispute.opened',
    'dispute.resolved',
    'candidate.consent_changed',
  ])
  const operations = Object.entries(webhooks).map(([type, item]) => {
    const { operationId, parameters, requestBody, responses } = Object(item).post
    const headers = parameters.map((parameter: unknown) => resolved(contract, parameter))
    assert.deepEqual(
      headers.map(({ name, in: place, required }: Json) => [name, place, required]),
      ['Id', 'Event', 'Delivery', 'Timestamp', 'Signature'].map((name) => [
        `Service-Webhook-${name}`,
        'header',
        true,
      ]),
    )
    const { schema, example } = requestBody.content['application/json']
    const envelope = resolved(contract, schema)
    assert.equal(envelope.additionalProperties, false)
    assert.deepEqual(Object(envelope.properties).type.const, type)
    const data = resolved(contract, Object(envelope.properties).data)
    assert.equal(data.additionalProperties, false)
    assert.equal(example.type, type)
    assert.ok('2XX' in responses)
    return operationId
  })
  const others = operationsOf(contract).map(([, , { operationId }]) => operationId)
  assert.equal(new Set([...operations, ...others]).size, operations.length + others.length)
})

const thing = Type.Object({ name: Type.String() }, { title: 'Thing' })

function declared(more: Partial<Endpoint>): Endpoint {
  return endpoint({
    operationId: 'getThing',
    method: 'GET',
    path: '/thing',
    area: 'things',
    summary: 'A thing',
    policy: { kind: 'open' },
    priority: 'public',
    responses: { 200: { description: 'It.', schema: thing, example: { name: 'a' } } },
    answer: () => ({ status: 200, body: {} }),
    ...more,
  })
}

test('builder: the order of the declarations changes nothing', () => {
  const one = declared({ operationId: 'getA', path: '/a', area: 'z' })
  const two = declared({ operationId: 'getB', path: '/b', area: 'a' })
  assert.equal(
    JSON.stringify(openApiDocument([one, two], { publicUrl })),
    JSON.stringify(openApiDocument([two, one], { publicUrl })),
  )
})

test('builder: two different schemas with one title are refused', () => {
  const other = Type.Object({ name: Type.Integer() }, { title: 'Thing' })
  const responses = { 200: { description: 'It.', schema: other } }
  const pair = [declared({}), declared({ operationId: 'getB', path: '/b', responses })]
  assert.throws(() => openApiDocument(pair, { publicUrl }), /title Thing/)
})

test('builder: only documents have ETag, 304 and If-None-Match', () => {
  const plain = JSON.stringify(openApiDocument([declared({})], { publicUrl }).paths)
  assert.doesNotMatch(plain, /ETag|304|If-None-Match|HEAD/)
  const document = JSON.stringify(
    openApiDocument([declared({ document: true })], { publicUrl }).paths,
  )
  for (const part of ['ETag', '"304"', 'If-None-Match', 'HEAD']) assert.ok(document.includes(part))
})

test('builder: the contract has webhooks only if the service sends some', () => {
  const nothing = openApiDocument([declared({})], { publicUrl })
  assert.ok(!('webhooks' in nothing))
  const headers = [{ name: 'X-Thing', description: 'It.', schema: { type: 'string' } }]
  const sent = { name: 'thing.made', operationId: 'receiveThing', summary: 'It was made.' }
  const webhooks = [{ ...sent, schema: thing, example: { name: 'a' }, headers }]
  const document = openApiDocument([declared({})], { publicUrl, webhooks })
  const tags: Json[] = Object(document.tags)
  assert.deepEqual(
    tags.map(({ name }) => name),
    ['things', 'webhooks'],
  )
  const { post } = Object(document.webhooks)['thing.made']
  assert.deepEqual(
    post.parameters.map((parameter: unknown) => resolved(document, parameter)),
    [{ ...headers[0], in: 'header', required: true }],
  )
  assert.ok('Thing' in Object(document.components).schemas)
})

test('builder: a status lists the error values that its declaration names, otherwise every value that it can carry', () => {
  const responses = {
    400: { description: 'Bad.' },
    404: { description: 'None.', errors: ['skill_not_found'] },
  } satisfies Endpoint['responses']
  const document = openApiDocument([declared({ responses })], { publicUrl })
  const operation = Object(document.paths)['/thing'].get
  const shown = (status: number): string[] =>
    Object.keys(operation.responses[status].content['application/json'].examples)
  assert.deepEqual(shown(404), ['skill_not_found'])
  const bad = ['bad_request', 'unsupported_version', 'invalid_parameter']
  assert.deepEqual(shown(400), bad)
})

function examplesOf({ example, examples }: Json): unknown[] {
  if (example !== undefined) return [example]
  return Object.values(Object(examples)).map((named) => resolved(contract, named).value)
}

test('the document names the session cookie of its deployment', () => {
  const session = declared({ policy: { kind: 'session' } })
  const nameIn = (more: { sessionCookie?: string }) =>
    Object(openApiDocument([session], { publicUrl, ...more }).components).securitySchemes.session
      .name
  assert.deepEqual(
    [nameIn({}), nameIn({ sessionCookie: 'session' })],
    ['__Host-session', 'session'],
  )
})

/** Yields every pattern of the contract and of the event schemas. */
function* patternsOf(value: unknown): Generator<string> {
  for (const [, node] of nodes(value)) {
    if (typeof node.pattern === 'string') yield node.pattern
    yield* Object.keys(Object(node.patternProperties))
  }
}

test('contract: every pattern compiles in ECMAScript, Python and RE2', () => {
  const events = readdirSync('events').map((file) => readFileSync(`events/${file}`, 'utf8'))
  const documents = [contract, ...events.map((text) => JSON.parse(text))]
  const patterns = [...new Set(documents.flatMap((document) => [...patternsOf(document)]))]
  assert.ok(patterns.length > 30)
  for (const pattern of patterns) {
    for (const flags of ['', 'u']) assert.ok(new RegExp(pattern, flags), pattern)
    assert.equal(unsharedPart(pattern), null, pattern)
  }
  // Python itself, where this machine has it.
  const program = 'import json, re, sys\nfor p in json.load(sys.stdin): re.compile(p)'
  const python = spawnSync('python3', ['-c', program], { input: JSON.stringify(patterns) })
  if (python.error === undefined) assert.equal(python.status, 0, String(python.stderr))
})

test('what one of the three engines lacks is found in a pattern', () => {
  for (const pattern of [
    '(?!a)b',
    '(?<=a)b',
    '(?<name>a)',
    '(a)\\1',
    '\\p{Cc}',
    '\\u0000',
    '\\cA',
    '\\k<a>',
    'a++',
    'a{1,1001}',
    '[[:alpha:]]',
    '[a&&b]',
  ])
    assert.notEqual(unsharedPart(pattern), null, pattern)
  for (const pattern of [
    '(?:a|b)+?',
    '\\d{4}-\\x1f',
    '[^\\s\\x00]',
    'a\\.b',
    '\\S',
    '[a-z]{1,1000}',
  ])
    assert.equal(unsharedPart(pattern), null, pattern)
})

/**
 * Returns the part of a pattern that ECMAScript, Python's `re` and RE2 do not share, or null. RE2
 * has no lookaround, no backreference and no repetition over 1,000.
 */
function unsharedPart(pattern: string): string | null {
  const unshared =
    /\(\?(?!:)[^)]?|\\(?![dDwWsSnrtbB.\\/^$*+?()[\]{}|-]|x[0-9a-f]{2})[^]?|[+*?}]\+|\[[^\]]*(?:\[:|&&|--)|\{(?:\d+,)?(?:[1-9]\d{4,}|[2-9]\d{3}|1(?!000\})\d{3})\}/
  return unshared.exec(pattern)?.[0] ?? null
}

/**
 * Tests the checked-in OpenAPI document: every operation and every status that a client can cause,
 * over real HTTP on a real database. Each answer is compared with the document. `notDriven` gives
 * the reason for every status that is not tested.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { updateSuspended } from '../src/billing/credits/store.ts'
import { interfaceVersion } from '../src/edge/http/identifiers.ts'
import { sha256Hex } from '../src/platform/crypto/bytes.ts'
import { accountDrives } from './support/build/account-drives.ts'
import { contextAt } from './support/build/actions.ts'
import { score } from './support/build/credentials.ts'
import { creditDrives } from './support/build/credit-drives.ts'
import { keyedDrives } from './support/build/keyed-drives.ts'
import { newKey } from './support/build/keys.ts'
import { revokeNow } from './support/build/registry.ts'
import { newSession } from './support/build/sessions.ts'
import { ask, type Question, type Reply } from './support/start/ask.ts'
import { startIssuing, startService } from './support/start/service.ts'

type Json = Record<string, unknown>

interface Operation {
  name: string
  method: string
  path: string
  /** True if callers need no API key and no session. */
  isOpen: boolean
  /** True if callers need the session of a signed-in user. */
  isSession: boolean
  responses: Record<string, Json>
}

const contractText = readFileSync(`openapi/${interfaceVersion}.json`, 'utf8')
const contract: Json = JSON.parse(contractText)
const operations = operationsOf(contract)

const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema(contract, 'contract')

/** The address of the checked-in contract, so that served documents match it byte for byte. */
const service = await startService('https://scores.example.org')
after(() => service.stop())
/** A deployment without a signing key, which never issued a credential. */
const unsigned = await startService('https://unsigned.example.org')
after(() => unsigned.stop())

const issuer = await startIssuing(service)
const valid = await issuer.issue(score())
const revoked = await issuer.issue(score({ username: 'grace-hopper' }))
const token = { by: 'token', bytes: Buffer.from(revoked.statusToken, 'hex') } as const
await revokeNow(contextAt(service.database.db), [token])
await issuer.publish()
const listPath = new URL(String(valid.credential.credentialStatus.statusListCredential)).pathname

/** Keys of several accounts. Only `richKey` can pay; calls with a test key cost nothing. */
const { db } = service.database
const reading = ['candidates:read', 'scores:read'] as const
const sandboxKey = await newKey(db, { environment: 'test', scopes: reading })
const richKey = await newKey(db, { scopes: reading, credits: 100 })
const suspendedKey = await newKey(db, { scopes: reading, credits: 100 })
await updateSuspended(db, suspendedKey.accountId, new Date())
const poorKey = await newKey(db, { scopes: reading })
const otherKey = await newKey(db, { scopes: ['webhooks:write'] })
const fictionalScore = sha256Hex('sandbox score sofia-lindqvist')
const fictionalCredential = `/api/v1/scores/${fictionalScore}/credential`

const statusPath = '/standard/v1/score-vc-status'
const sandboxLists = '/sandbox/standard/v1/status-lists/score-vc-revocation'
const fictionalToken = sha256Hex('sandbox status lucia-marchetti')
const absent = '0'.repeat(64)
const json = { 'Content-Type': 'application/json' }
const verify = (body: string | Buffer, headers: Record<string, string> = {}): Question => ({
  method: 'POST',
  path: '/api/v1/score-vc/verify',
  headers: { ...json, ...headers },
  body,
})

/** A good request for each open operation, and for paid reads with a test key. */
const open: Record<string, Question> = {
  getOpenApi: { path: '/api/v1/openapi.json' },
  getWellKnownOpenApi: { path: '/.well-known/service-openapi.json' },
  getEngineDiscovery: { path: '/.well-known/service-engine.json' },
  getScoreCredentialPublicKey: { path: '/.well-known/service-score-vc-public-key.json' },
  getReleaseManifest: { path: '/.well-known/service-score-core-release-manifest.json' },
  getDidDocument: { path: '/.well-known/did.json' },
  getErrorDescription: { path: '/docs/errors/rate_limited' },
  getSkillStandardContext: { path: '/standard/v1/context.jsonld' },
  listSkills: { path: '/standard/v1/skills' },
  getSkill: { path: '/standard/v1/skills/typescript' },
  getSkillNotes: { path: '/standard/v1/skills/typescript/notes' },
  getSkillNotesCsv: { path: '/standard/v1/notes.csv' },
  getSkillTerms: { path: '/standard/v1/vocab' },
  getSkillsCsv: { path: '/standard/v1/skills.csv' },
  getSkillsNQuads: { path: '/standard/v1/skills.nq' },
  getSkillCrosswalk: { path: '/standard/v1/crosswalk.csv' },
  listSkillReleases: { path: '/standard/v1/releases' },
  getReleasedSkills: { path: '/standard/v1/releases/1.1.0/skills.jsonld' },
  getReleasedSkillsCsv: { path: '/standard/v1/releases/1.1.0/skills.csv' },
  getReleasedSkillsNQuads: { path: '/standard/v1/releases/1.1.0/skills.nq' },
  getReleasedSkillCrosswalk: { path: '/standard/v1/releases/1.1.0/crosswalk.csv' },
  getScoreBands: { path: '/standard/v1/score-bands.jsonld' },
  getScoreCredentialStatus: { path: `${statusPath}/${valid.statusToken}` },
  getScoreCredentialStatusList: { path: listPath },
  verifyScoreCredential: verify(JSON.stringify(valid.credential)),
  describeScoreCredentialVerifier: { path: '/api/v1/score-vc/verify' },
  getSandboxCredentialStatus: { path: `/sandbox${statusPath}/${fictionalToken}` },
  getSandboxStatusList: { path: `${sandboxLists}/sandbox000` },
  searchCandidates: {
    path: '/api/v1/candidates/search?q=java',
    headers: sandboxKey.headers,
  },
  getCandidate: { path: '/api/v1/candidates/@sofia-lindqvist', headers: sandboxKey.headers },
  getCandidateCredential: {
    path: '/api/v1/candidates/@sofia-lindqvist/credential',
    headers: sandboxKey.headers,
  },
  getScore: { path: `/api/v1/scores/${fictionalScore}`, headers: sandboxKey.headers },
  getScoreCredential: {
    path: `/api/v1/scores/${fictionalScore}/credential`,
    headers: sandboxKey.headers,
  },
}

const paid = [
  'searchCandidates',
  'getCandidate',
  'getCandidateCredential',
  'getScore',
  'getScoreCredential',
]
const keyed = await keyedDrives(service)
const dashboard = await accountDrives(service)
const ledger = await creditDrives(service)
const own = {
  good: { ...dashboard.good, ...ledger.good },
  drives: [...dashboard.drives, ...ledger.drives],
}
const good = { ...open, ...keyed.good, ...own.good }

interface Drive {
  operation: string
  status: number
  /** Describes the request in the title of the test. */
  sent: string
  question: Question
  /** The service to ask, by default `service`. */
  at?: typeof service
  error?: string
}

const bytesMax = 262_144
const ldJson = { 'Content-Type': 'application/ld+json' }
const unsupported = 'unsupported_media_type'
let caller = 0

/**
 * Headers that the contract does not declare for each operation: framing, security, CORS, and
 * Allow.
 */
const everywhere = (
  'date connection keep-alive transfer-encoding allow vary content-type content-length content-encoding ' +
  'x-content-type-options content-security-policy referrer-policy strict-transport-security ' +
  'cross-origin-resource-policy access-control-allow-origin access-control-expose-headers'
).split(' ')

const drives: Drive[] = [
  ...Object.entries(open).flatMap(([operation, question]): Drive[] => [
    { operation, status: 200, sent: 'a good request', question },
    {
      operation,
      status: 200,
      sent: 'the supported version by name',
      question: withHeaders(question, { 'Service-Version': interfaceVersion }),
    },
    ...['2025-01-01', 'latest'].map((version) => ({
      operation,
      status: 400,
      sent: `the version ${version}`,
      question: withHeaders(question, { 'Service-Version': version }),
      error: 'unsupported_version',
    })),
    {
      operation,
      status: 400,
      sent: 'a query parameter twice',
      question: {
        ...question,
        path: `${question.path}${question.path.includes('?') ? '&' : '?'}a=1&a=1`,
      },
      error: 'invalid_parameter',
    },
  ]),

  refused('getScoreCredentialPublicKey', 400, 'an invalid kid', '?kid=z6Mk'),
  refused('getScoreCredentialPublicKey', 404, 'an unknown kid', `?kid=z6Mk${'a'.repeat(44)}`),
  {
    operation: 'getScoreCredentialPublicKey',
    status: 200,
    sent: 'the kid of the active key',
    question: { path: `${good.getScoreCredentialPublicKey?.path}?kid=${issuer.signer.kid}` },
  },
  ...['getScoreCredentialPublicKey', 'getDidDocument', 'getScoreCredentialStatusList'].map(
    (operation): Drive => ({
      operation,
      status: 503,
      sent: 'a good request where no key signs',
      question: good[operation] as Question,
      at: unsigned,
      error: 'signing_not_configured',
    }),
  ),
  {
    operation: 'getEngineDiscovery',
    status: 200,
    sent: 'a good request where no key signs',
    question: good.getEngineDiscovery as Question,
    at: unsigned,
  },

  ...(['Not-A-Name', 'no_such_error'] as const).map((name) => ({
    operation: 'getErrorDescription',
    status: 404,
    sent: `the name ${name}`,
    question: { path: `/docs/errors/${name}` },
    error: 'not_found',
  })),

  ...['typescript.jsonld', 'hss:typescript', 'hss%3Atypescript'].map((id) => ({
    operation: 'getSkill',
    status: 200,
    sent: `the skill as ${id}`,
    question: { path: `/standard/v1/skills/${id}` },
  })),
  {
    operation: 'getSkill',
    status: 400,
    sent: 'what cannot be a slug',
    question: { path: '/standard/v1/skills/Not--A_Slug' },
    error: 'invalid_parameter',
  },
  {
    operation: 'getSkill',
    status: 404,
    sent: 'an unknown slug',
    question: { path: '/standard/v1/skills/no-such-skill' },
    error: 'skill_not_found',
  },
  {
    operation: 'getSkillNotes',
    status: 404,
    sent: 'an unknown slug',
    question: { path: '/standard/v1/skills/no-such-skill/notes' },
    error: 'skill_not_found',
  },
  ...Object.entries({
    getReleasedSkills: 'skills.jsonld',
    getReleasedSkillsCsv: 'skills.csv',
    getReleasedSkillsNQuads: 'skills.nq',
    getReleasedSkillCrosswalk: 'crosswalk.csv',
  }).map(([operation, file]) => ({
    operation,
    status: 404,
    sent: 'an unknown release',
    question: { path: `/standard/v1/releases/9.9.9/${file}` },
    error: 'not_found',
  })),

  {
    operation: 'getScoreCredentialStatus',
    status: 200,
    sent: 'the token and the digest of one credential',
    question: { path: `${statusPath}/${valid.statusToken}?vcSha256=${valid.vcSha256}` },
  },
  {
    operation: 'getScoreCredentialStatus',
    status: 200,
    sent: 'the token of a revoked credential',
    question: { path: `${statusPath}/${revoked.statusToken}` },
  },
  {
    operation: 'getScoreCredentialStatus',
    status: 400,
    sent: 'a token in upper case',
    question: { path: `${statusPath}/${valid.statusToken.toUpperCase().replace(/^./, 'A')}` },
    error: 'invalid_parameter',
  },
  refused('getScoreCredentialStatus', 400, 'an invalid digest', '?vcSha256=abc'),
  {
    operation: 'getScoreCredentialStatus',
    status: 404,
    sent: 'an unknown token',
    question: { path: `${statusPath}/${absent}` },
    error: 'status_token_not_found',
  },
  {
    operation: 'getScoreCredentialStatus',
    status: 404,
    sent: 'the digest of another credential',
    question: { path: `${statusPath}/${valid.statusToken}?vcSha256=${revoked.vcSha256}` },
    error: 'status_token_not_found',
  },

  ...['native', 'eddsa-rdfc-2022', 'eddsa-jcs-2022'].map((form) => ({
    operation: 'getScoreCredentialStatusList',
    status: 200,
    sent: `the proof form ${form}`,
    question: { path: `${listPath}?proof=${form}` },
  })),
  refused('getScoreCredentialStatusList', 400, 'an unknown proof form', '?proof=rsa'),
  ...['no-such-list', 'aaaaaaaaaa'].map((listId) => ({
    operation: 'getScoreCredentialStatusList',
    status: 404,
    sent: `the list ${listId}`,
    question: { path: `/standard/v1/status-lists/score-vc-revocation/${listId}` },
    error: 'status_list_not_found',
  })),

  refused('getSandboxCredentialStatus', 400, 'an invalid digest', '?vcSha256=abc'),
  refused('getSandboxStatusList', 400, 'an unknown proof form', '?proof=rsa'),
  ...(
    [
      ['getSandboxCredentialStatus', `/sandbox${statusPath}/${absent}`, 'status_token_not_found'],
      ['getSandboxStatusList', `${sandboxLists}/aaaaaaaaaa`, 'status_list_not_found'],
    ] as const
  ).map(([operation, path, error]) => ({
    operation,
    status: 404,
    sent: 'one that is unknown',
    question: { path },
    error,
  })),

  ...paid.flatMap((operation): Drive[] => {
    const question = good[operation] as Question
    const { path } = question
    return [
      { operation, status: 402, sent: 'no key', question: { path }, error: 'payment_required' },
      {
        operation,
        status: 401,
        sent: 'an invalid key',
        question: { path, headers: { Authorization: 'Bearer svc_live_x' } },
        error: 'invalid_api_key',
      },
      {
        operation,
        status: 402,
        sent: 'the key of an account without credits',
        question: { path, headers: poorKey.headers },
        error: 'insufficient_credits',
      },
      {
        operation,
        status: 403,
        sent: 'a key without the scope',
        question: { path, headers: otherKey.headers },
        error: 'insufficient_scope',
      },
    ]
  }),
  ...(
    [
      ['searchCandidates', 400, 'a limit of 51', '/api/v1/candidates/search?q=java&limit=51'],
      ['searchCandidates', 400, 'one letter', '/api/v1/candidates/search?q=j'],
      ['searchCandidates', 200, 'what nobody is', '/api/v1/candidates/search?q=zzzz&limit=50'],
      ['getCandidate', 400, 'a username in capitals', '/api/v1/candidates/Ada'],
      ['getCandidate', 404, 'an unknown username', '/api/v1/candidates/nobody'],
      [
        'getCandidateCredential',
        400,
        'a username in capitals',
        '/api/v1/candidates/Ada/credential',
      ],
      [
        'getCandidateCredential',
        404,
        'an unknown username',
        '/api/v1/candidates/nobody/credential',
      ],
      ['getCandidateCredential', 404, 'no score', '/api/v1/candidates/emrys-vaughan/credential'],
      ['getScore', 400, 'an invalid id', '/api/v1/scores/abc'],
      ['getScore', 404, 'an unknown id', `/api/v1/scores/${absent}`],
      ['getScore', 200, 'an id in upper case', `/api/v1/scores/${fictionalScore.toUpperCase()}`],
      ['getScoreCredential', 400, 'an invalid id', '/api/v1/scores/abc/credential'],
      ['getScoreCredential', 400, 'an unknown form', `${fictionalCredential}?proof=rsa`],
      ['getScoreCredential', 200, 'a form by name', `${fictionalCredential}?proof=eddsa-rdfc-2022`],
      ['getScoreCredential', 404, 'an unknown id', `/api/v1/scores/${absent}/credential`],
    ] as const
  ).map(([operation, status, sent, path]) => ({
    operation,
    status,
    sent,
    question: { path, headers: sandboxKey.headers },
  })),

  ...verifyDrives(),
  ...keyed.drives,
  ...own.drives,
]

/** Statuses in the contract that no client can cause on a healthy service, with the reason. */
const notDriven: Record<string, string> = {
  'verifyScoreCredential 500': 'a defect of ours',
  'getScoreCredentialStatus 500': 'a defect of ours',
  'getScoreCredentialStatus 503': 'the database is gone: the tests of faults cause it',
  'getScoreCredentialStatusList 500': 'a defect of ours',
  ...Object.fromEntries(
    paid.flatMap((operation) => [
      [`${operation} 429`, 'more calls than a contract test should make: the tests of the edge do'],
      [`${operation} 500`, 'a defect of ours'],
      [`${operation} 503`, 'the database is gone: the tests of faults cause it'],
    ]),
  ),
  ...Object.fromEntries(
    Object.keys({ ...keyed.good, ...own.good }).flatMap((name) => [
      [`${name} 500`, 'a defect of ours'],
      [`${name} 503`, 'the database is gone: the tests of faults cause it'],
    ]),
  ),
}

test('the table tests every operation and every listed status, or gives a reason', () => {
  const listed = operations.flatMap(({ name, responses }) =>
    Object.keys(responses)
      .filter((status) => status !== 'default' && status !== '304')
      .map((status) => `${name} ${status}`),
  )
  assert.ok(listed.length >= 40, `${listed.length} statuses are listed`)
  const driven = new Set(drives.map(({ operation, status }) => `${operation} ${status}`))
  driven.add('verifyScoreCredential 429')
  for (const name of Object.keys({ ...keyed.good, ...own.good })) driven.add(`${name} 429`)
  for (const each of listed)
    assert.ok(driven.has(each) !== each in notDriven, `${each}: driven or excused, not both`)
  for (const each of [...driven, ...Object.keys(notDriven)])
    assert.ok(listed.includes(each), `${each} is not listed`)
  assert.deepEqual(Object.keys(good).sort(), operations.map(({ name }) => name).sort())
})

for (const { operation, status, sent, question, at = service, error } of drives)
  test(`${status} ${operation}: ${sent}`, async () => {
    const reply = await askAs(newCaller(), question, at.base)
    assert.equal(reply.status, status, reply.body.toString())
    const body = conforms(operation, reply)
    if (error !== undefined) assert.equal(body.error, error)
  })

test('429 verifyScoreCredential: the 61st call from one address in a minute is rejected; another address is served', async () => {
  const caller = newCaller()
  const question = verify('{}')
  for (let call = 1; call <= 60; call++)
    assert.equal((await askAs(caller, question)).status, 200, `call ${call}`)
  const reply = await askAs(caller, question)
  assert.equal(reply.status, 429)
  assert.equal(conforms('verifyScoreCredential', reply).error, 'rate_limited')
  assert.match(String(reply.headers['retry-after']), /^([1-9]|[1-5]\d|60)$/)
  assert.match(
    String(reply.headers['ratelimit-policy']),
    /^"minute";q=60;w=60, "day";q=1000;w=86400$/,
  )
  assert.match(String(reply.headers.ratelimit), /"minute";r=0;t=/)
  assert.equal((await askAs(newCaller(), question)).status, 200)
})

for (const [name, question] of Object.entries(keyed.good))
  test(`429 ${name}: the 31st wrong key from one address is rejected; a valid key from there is served`, async () => {
    const caller = newCaller()
    const wrong = withHeaders(question, { Authorization: `Bearer svc_live_${name}` })
    for (let call = 1; call <= 30; call++)
      assert.equal((await askAs(caller, wrong)).status, 401, `call ${call}`)
    const reply = await askAs(caller, wrong)
    assert.equal(reply.status, 429)
    assert.equal(conforms(name, reply).error, 'rate_limited')
    assert.ok((await askAs(caller, question)).status < 300)
  })

for (const [name, question] of Object.entries(own.good))
  test(`429 ${name}: the 301st call of one session in a minute is rejected; another session is served`, async () => {
    const { headers } = await newSession(db)
    await useUp(headers)
    const reply = await ask(service.base, withHeaders(question, headers))
    assert.equal(reply.status, 429)
    assert.equal(conforms(name, reply).error, 'rate_limited')
    assert.match(String(reply.headers['ratelimit-policy']), /^"minute";q=300;w=60, /)
    assert.equal(
      (await ask(service.base, good.listAccountWebhookEndpoints as Question)).status,
      200,
    )
  })

test('a UUID in a path is taken in either case', async () => {
  const { path, ...deliveries } = good.listWebhookDeliveries as Question
  const inCapitals = path.replace(/[0-9a-f-]{36}/, (id) => id.toUpperCase())
  assert.notEqual(inCapitals, path)
  assert.equal((await ask(service.base, { ...deliveries, path: inCapitals })).status, 200)
  const unknown = 'ABCDEF00-0000-7000-8000-ABCDEF000000'
  const named = operations.filter((each) => /\{(endpoint|key|user|session)Id\}/.test(each.path))
  assert.ok(named.length >= 3)
  const { ownOrigin } = await newSession(db)
  for (const { name, isSession } of named) {
    const question = withHeaders(good[name] as Question, isSession ? ownOrigin : {})
    const asked = {
      ...question,
      path: question.path.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, unknown),
    }
    assert.equal((await ask(service.base, asked)).status, 404, name)
  }
})

const isOpenGet = ({ method, isOpen }: Operation) => method === 'GET' && isOpen
for (const { name, responses, isOpen } of operations.filter(({ method }) => method === 'GET')) {
  const question = good[name] as Question
  const isDocument = '304' in responses

  if (!isOpen)
    test(`405 HEAD ${name}: HEAD is not allowed, so it cannot bypass the checks of GET`, async () => {
      const head = await ask(service.base, { ...question, method: 'HEAD' })
      assert.equal(head.status, 405)
    })
  else
    test(`HEAD ${name}: the answer has the headers of GET and no body`, async () => {
      const get = await ask(service.base, question)
      const head = await ask(service.base, { ...question, method: 'HEAD' })
      assert.equal(head.status, 200)
      assert.equal(head.body.length, 0)
      for (const header of ['content-type', 'content-length', 'etag', 'cache-control'])
        assert.equal(head.headers[header], get.headers[header], header)
    })

  if (!isDocument)
    test(`${name}: the answer is not cacheable and has no ETag`, async () => {
      const reply = await ask(service.base, withHeaders(question, { 'If-None-Match': '*' }))
      assert.equal(reply.status, 200)
      assert.equal(reply.headers.etag, undefined)
      assert.equal(reply.headers['cache-control'], 'private, no-store')
    })
  else
    test(`304 ${name}: each encoding has its own ETag, and a current ETag gets 304`, async () => {
      const etags = new Set<unknown>()
      for (const encoding of ['identity', 'gzip', 'br']) {
        const asking = withHeaders(question, { 'Accept-Encoding': encoding })
        const { headers } = await ask(service.base, asking)
        assert.match(String(headers['cache-control']), /^public, max-age=\d+/)
        etags.add(headers.etag)
        const again = await ask(
          service.base,
          withHeaders(asking, { 'If-None-Match': String(headers.etag) }),
        )
        assert.equal(again.status, 304)
        assert.equal(again.headers.etag, headers.etag)
        conforms(name, again)
        const other = await ask(service.base, withHeaders(asking, { 'If-None-Match': '"other"' }))
        assert.equal(other.status, 200)
      }
      const isSmall = Number((await ask(service.base, question)).headers['content-length']) < 512
      assert.equal(etags.size, isSmall ? 1 : 3)
    })
}

for (const path of new Set(operations.map((operation) => operation.path))) {
  const atPath = operations.filter((operation) => operation.path === path)
  const asked = (good[atPath[0]?.name ?? ''] as Question).path
  const allow = atPath.flatMap((each) => (isOpenGet(each) ? ['GET', 'HEAD'] : [each.method]))

  test(`405 ${path}: Allow lists the methods of the path`, async () => {
    for (const method of ['DELETE', 'PUT', 'PATCH'].filter((each) => !allow.includes(each))) {
      const reply = await ask(service.base, { method, path: asked })
      assert.equal(reply.status, 405)
      const allowed = String(reply.headers.allow).split(', ')
      assert.deepEqual(allowed.sort(), [...allow, 'OPTIONS'].sort())
      assert.equal(conformsToRefusal(reply).error, 'method_not_allowed')
    }
  })

  const isSession = atPath.every((each) => each.isSession)
  test(`204 ${path}: a preflight from another origin is ${isSession ? 'granted nothing' : 'granted'}`, async () => {
    const reply = await ask(service.base, {
      method: 'OPTIONS',
      path: asked,
      headers: {
        Origin: 'https://elsewhere.example',
        'Access-Control-Request-Method': atPath[0]?.method ?? '',
        'Access-Control-Request-Headers': 'content-type, service-version',
      },
    })
    assert.equal(reply.status, 204)
    assert.equal(reply.body.length, 0)
    if (isSession) {
      const cors = Object.keys(reply.headers).filter((name) => name.startsWith('access-control-'))
      assert.deepEqual(cors, [])
      return
    }
    assert.equal(reply.headers['access-control-allow-origin'], '*')
    const granted = String(reply.headers['access-control-allow-methods'])
    for (const method of allow) assert.ok(granted.includes(method), method)
    assert.match(String(reply.headers['access-control-allow-headers']), /Service-Version/)
  })
}

test('404: a path outside the contract gets the closed error body', async () => {
  for (const path of ['/api', '/api/v1', '/api/v1/openapi.json/', '/standard/v1/skills/a/b']) {
    const reply = await ask(service.base, { path })
    assert.equal(reply.status, 404, path)
    assert.equal(conformsToRefusal(reply).error, 'not_found')
  }
})

test('both paths serve the checked-in contract', async () => {
  for (const name of ['getOpenApi', 'getWellKnownOpenApi']) {
    const question = withHeaders(good[name] as Question, { 'Accept-Encoding': 'gzip' })
    const { headers, body } = await ask(service.base, question)
    assert.equal(headers['content-encoding'], 'gzip')
    assert.equal(
      `${JSON.stringify(JSON.parse(gunzipSync(body).toString()), null, 2)}\n`,
      contractText,
    )
  }
})

test('at another address the contract differs only in the address of the server', async () => {
  const { body } = await ask(unsigned.base, good.getOpenApi as Question)
  const served = JSON.parse(body.toString())
  const url = 'https://unsigned.example.org'
  const externalDocs = { description: 'The documentation', url: `${url}/docs` }
  assert.deepEqual(served, { ...contract, externalDocs, servers: [{ url }] })
})

test('the engine document says whether signing is configured, and its links lead to operations', async () => {
  const engine = async (at: typeof service) => {
    const { body } = await ask(at.base, good.getEngineDiscovery as Question)
    return JSON.parse(body.toString())
  }
  assert.equal((await engine(unsigned)).score_vc.signing_configured, false)
  const { score_vc, standard, links } = await engine(service)
  assert.equal(score_vc.signing_configured, true)
  assert.ok(score_vc.verification_method.endsWith(`#${issuer.signer.kid}`))
  const urls = Object.values({ ...score_vc, ...standard, ...links }).filter(
    (value) => typeof value === 'string' && value.startsWith(service.publicUrl),
  )
  const paths = urls.map((url) => String(url).slice(service.publicUrl.length))
  assert.ok(paths.length >= 10)
  for (const path of paths) {
    assert.ok(Object(contract.paths)[path], `${path} is no path of the contract`)
    if (path.includes('{')) continue
    assert.equal((await ask(service.base, { path })).status, 200, path)
  }
})

function verifyDrives(): Drive[] {
  const operation = 'verifyScoreCredential'
  const text = JSON.stringify(valid.credential)
  const padded = Buffer.alloc(bytesMax, ' ')
  padded.write(text)
  const bad = (status: number, sent: string, question: Question, error: string): Drive => ({
    operation,
    status,
    sent,
    question,
    error,
  })
  return [
    { operation, status: 200, sent: 'JSON-LD', question: verify(text, ldJson) },
    { operation, status: 200, sent: 'an empty object', question: verify('{}') },
    {
      operation,
      status: 200,
      sent: 'a revoked credential',
      question: verify(JSON.stringify(revoked.credential)),
    },
    {
      operation,
      status: 200,
      sent: 'a tampered credential',
      question: verify(text.replace('"score":742', '"score":999')),
    },
    { operation, status: 200, sent: 'ambiguous JSON', question: verify('{"a":1,"a":2}') },
    { operation, status: 200, sent: `${bytesMax} bytes`, question: verify(padded) },
    bad(400, 'no JSON', verify('{'), 'invalid_json'),
    bad(400, 'no object', verify('[]'), 'invalid_json'),
    bad(400, 'no body', verify(''), 'invalid_json'),
    bad(400, 'bad UTF-8', verify(Buffer.from([0x7b, 0xff, 0x7d])), 'invalid_json'),
    { operation, status: 200, sent: 'a key with credits', question: verify(text, richKey.headers) },
    { operation, status: 200, sent: 'a test key', question: verify(text, sandboxKey.headers) },
    bad(402, 'a key without credits', verify(text, poorKey.headers), 'insufficient_credits'),
    bad(403, 'a key without the scope', verify(text, otherKey.headers), 'insufficient_scope'),
    bad(
      503,
      'a key whose books are checked',
      verify(text, suspendedKey.headers),
      'metering_suspended',
    ),
    bad(401, 'an API key', verify(text, { Authorization: 'Bearer svc_live_x' }), 'invalid_api_key'),
    bad(401, 'no known scheme', verify(text, { Authorization: 'Basic YTpi' }), 'invalid_api_key'),
    bad(
      413,
      `${bytesMax + 1} bytes`,
      verify(Buffer.concat([padded, Buffer.from(' ')])),
      'payload_too_large',
    ),
    bad(415, 'plain text', verify(text, { 'Content-Type': 'text/plain' }), unsupported),
    bad(
      415,
      'another charset',
      verify(text, { 'Content-Type': 'application/json; charset=utf-16' }),
      unsupported,
    ),
    bad(415, 'a content coding', verify(text, { 'Content-Encoding': 'gzip' }), unsupported),
    bad(
      415,
      'no content type',
      { method: 'POST', path: '/api/v1/score-vc/verify', body: text },
      unsupported,
    ),
  ]
}

/** Returns a request with an invalid query, and the error it must get. */
function refused(operation: string, status: 400 | 404, sent: string, query: string): Drive {
  const question = good[operation] as Question
  const error = status === 400 ? 'invalid_parameter' : 'not_found'
  return { operation, status, sent, question: { ...question, path: question.path + query }, error }
}

/** Makes as many calls as a session may make in a minute. */
async function useUp(headers: Record<string, string>): Promise<void> {
  const calls = Array.from({ length: 300 }, () =>
    ask(service.base, { path: '/api/account/webhooks/endpoints', headers }),
  )
  for (const { status } of await Promise.all(calls)) assert.equal(status, 200)
}

function withHeaders(question: Question, headers: Record<string, string>): Question {
  return { ...question, headers: { ...question.headers, ...headers } }
}

function newCaller(): string {
  caller++
  return `198.51.${caller >> 8}.${caller & 255}`
}

/**
 * Sends a request from the given client address. Each test uses a new address, because limits count
 * by address.
 */
function askAs(address: string, question: Question, base = service.base): Promise<Reply> {
  return ask(base, withHeaders(question, { 'X-Forwarded-For': address }))
}

/** Asserts that the contract lists the answer for the operation, and returns its body. */
function conforms(name: string, reply: Reply): Json {
  const operation = operations.find((each) => each.name === name)
  const response = operation?.responses[reply.status]
  assert.ok(operation && response, `${name} does not list ${reply.status}`)
  const place = `/paths/${stepOf(operation.path)}/${operation.method.toLowerCase()}`
  return conformsTo(`${place}/responses/${reply.status}`, response, reply)
}

function conformsToRefusal(reply: Reply): Json {
  const place = '/components/responses/Refusal'
  return conformsTo(place, Object(at(`#${place}`)), reply)
}

function conformsTo(place: string, response: Json, reply: Reply): Json {
  headersConform(place, Object(response.headers), reply)
  const [declared] = Object.entries(Object(response.content))
  if (declared === undefined) {
    assert.equal(reply.body.length, 0, `${place} has a body`)
    return {}
  }
  const [contentType, { examples }]: [string, { examples?: Json }] = [
    declared[0],
    Object(declared[1]),
  ]
  assert.equal(reply.headers['content-type'], contentType)
  const text = reply.body.toString()
  const sent: unknown = contentType.includes('json') ? JSON.parse(text) : text
  const validate = validatorOf(`${place}/content/${stepOf(contentType)}/schema`)
  assert.ok(validate(sent), `${place}: ${ajv.errorsText(validate.errors)}`)
  const body: Json = Object(sent)
  if (reply.status >= 400 && examples !== undefined)
    assert.ok(
      String(body.error) in examples,
      `${place} does not list the error ${String(body.error)}`,
    )
  return body
}

/**
 * Asserts that declared headers have the declared form, that required ones exist, and that every
 * other header is in `everywhere`.
 */
function headersConform(place: string, declared: Json, { headers }: Reply): void {
  const names = Object.keys(declared)
  for (const name of names) {
    const { $ref } = Object(declared[name])
    const { required, schema } = Object(at($ref))
    const value = headers[name.toLowerCase()]
    assert.ok(value !== undefined || required !== true, `${place} lacks ${name}`)
    if (value === undefined) continue
    const validate = ajv.compile(schema)
    assert.ok(validate(value), `${place} ${name}: ${String(value)}`)
  }
  const known = new Set([...names.map((name) => name.toLowerCase()), ...everywhere])
  for (const name of Object.keys(headers)) assert.ok(known.has(name), `${place} sends ${name}`)
}

function validatorOf(pointer: string) {
  return ajv.compile({ $ref: `contract#${pointer.split('/').map(encodeURIComponent).join('/')}` })
}

function at(ref: string): unknown {
  const steps = ref.slice(2).split('/')
  return steps.reduce<unknown>((node, step) => Object(node)[step], contract)
}

function stepOf(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function operationsOf({ paths }: Json): Operation[] {
  return Object.entries(Object(paths)).flatMap(([path, item]) =>
    Object.entries(Object(item)).map(([method, operation]) => {
      const { operationId, security, responses } = Object(operation)
      const needed: object[] = security
      const isOpen = needed.length === 0 || needed.some((each) => Object.keys(each).length === 0)
      const isSession = needed.some((each) => 'session' in each)
      const name = String(operationId)
      return { name, method: method.toUpperCase(), path, isOpen, isSession, responses }
    }),
  )
}

/** The operator API over real HTTP: who reaches it, and what it refuses. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import {
  operatorsCreateToken,
  operatorsRevokeToken,
} from '../../src/accounts/access/operator-operations.ts'
import { type OperatorRole, operatorRoles } from '../../src/edge/http/callers.ts'
import { allIngests, allOperations } from '../../src/main/all-operations.ts'
import { operatorBase, operatorRoute } from '../../src/operations/operator-routes.ts'
import { perform, whyForbidden } from '../../src/operations/perform.ts'
import { sql } from '../../src/platform/db/db.ts'
import { openLog } from '../../src/platform/observability/log.ts'
import { newKey } from '../support/build/keys.ts'
import { newSession } from '../support/build/sessions.ts'
import { publicLine, register } from '../support/build/workers.ts'
import { everythingStored } from '../support/oracle/everything-stored.ts'
import { ask, type Reply } from '../support/start/ask.ts'
import { startEdge } from '../support/start/edge.ts'
import { startService, type TestService } from '../support/start/service.ts'

let service: TestService
let beside: TestService
/** The log of `beside`. */
let logged = ''
const log = openLog({ level: 'debug', to: { write: (text) => void (logged += text) } })
const tokens = {} as Record<OperatorRole, string>

before(async () => {
  service = await startService('https://scores.example.org')
  beside = await startService('https://scores.example.org', service, { log })
  for (const role of operatorRoles) tokens[role] = (await newToken({ role })).secret
  const names = ['ada', 'bob', 'cyd'].map((username) => publicLine({ username }))
  await register(service.database.db, names, new Date())
})
after(async () => {
  await beside.stop()
  await service.stop()
})

const atMachine = { kind: 'operator', role: 'admin', actor: 'root@vm', by: 'root' } as const

function performer(clock = () => new Date()) {
  return { db: service.database.db, clock, services: {} }
}

async function newToken(
  wanted: { role: OperatorRole; allowedFrom?: string[]; validDays?: number },
  clock?: () => Date,
) {
  const input = { name: 'test', validDays: 90, ...wanted }
  const made = await perform(performer(clock), operatorsCreateToken, atMachine, input)
  assert.ok('output' in made, JSON.stringify(made))
  return { secret: made.output.secret, id: made.output.token.id }
}

interface Call {
  token?: string
  body?: object | string
  headers?: Record<string, string>
  node?: TestService
}

interface Json {
  [member: string]: unknown
}

async function call(
  question: string,
  { token = tokens.admin, body, headers = {}, node = service }: Call = {},
): Promise<Reply & { json: Json }> {
  const [method = '', path = ''] = question.split(' ')
  const sent = typeof body === 'object' ? JSON.stringify(body) : body
  const reply = await ask(node.base, {
    method,
    path: `${operatorBase}${path}`,
    headers: {
      ...(token !== '' && { Authorization: `Bearer ${token}` }),
      ...(sent !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(sent !== undefined && { body: sent }),
  })
  const all = String(reply.body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Json)
  const rejectedLines = all.filter((line) => 'reason' in line)
  const isLines = reply.headers['content-type'] === 'application/x-ndjson'
  return { ...reply, json: { ...all.at(-1), ...(isLines && { rejectedLines }) } }
}

test('404: callers of other networks get the answer of an unknown path, with any method and token', async () => {
  const headers = { 'X-Forwarded-For': '192.0.2.7' }
  const unknown = await call('GET /nothing-here', { headers })
  for (const question of [
    'GET /disputes',
    'POST /disputes',
    'DELETE /disputes',
    'OPTIONS /disputes',
  ]) {
    const reply = await call(question, { headers })
    assert.equal(reply.status, 404, question)
    assert.deepEqual(reply.body, unknown.body)
    assert.equal(reply.headers.allow, undefined)
  }
})

test('404: a request that an undeclared proxy on the same machine forwards does not count as local', async () => {
  const edge = await startEdge({
    endpoints: service.operatorEndpoints,
    trustedProxies: [],
    operatorNetworks: ['127.0.0.0/8'],
    authenticateOperator: service.admission.authenticateOperator,
  })
  try {
    const of = (headers: Record<string, string>) =>
      call('GET /disputes', {
        headers,
        node: { ...service, base: `http://127.0.0.1:${edge.port}` },
      })
    assert.equal((await of({})).status, 200)
    for (const name of ['Forwarded', 'X-Forwarded-For', 'Via'])
      assert.equal((await of({ [name]: '127.0.0.1' })).status, 404, name)
  } finally {
    await edge.stop()
  }
})

test('401: no token, an API key, a session, a mistyped token and a token from another network', async () => {
  const { db } = service.database
  assert.equal((await call('GET /disputes', { token: '' })).json.error, 'missing_operator_token')
  const session = await newSession(db)
  const withCookie = await call('GET /disputes', { token: '', headers: session.headers })
  assert.equal(withCookie.json.error, 'missing_operator_token')
  const { key } = await newKey(db)
  const elsewhere = await newToken({ role: 'admin', allowedFrom: ['192.0.2.0/24'] })
  const mistyped = `${tokens.admin.slice(0, -1)}!`
  for (const token of [key, mistyped, elsewhere.secret]) {
    const reply = await call('GET /disputes', { token })
    assert.equal(reply.status, 401)
    assert.equal(reply.json.error, 'invalid_operator_token')
    assert.equal(reply.headers['www-authenticate'], 'Bearer')
  }
  const here = await newToken({ role: 'viewer', allowedFrom: ['127.0.0.0/8'] })
  assert.equal((await call('GET /disputes', { token: here.secret })).status, 200)
})

test('401: an operator token is no API key', async () => {
  const reply = await ask(service.base, {
    path: '/api/v1/webhooks/endpoints',
    headers: { Authorization: `Bearer ${tokens.admin}` },
  })
  assert.equal(reply.status, 401)
})

test('401: a revoked and an expired token are refused by every node on the next request', async () => {
  const { secret, id } = await newToken({ role: 'viewer' })
  const lastYear = () => new Date(Date.now() - 100 * 86_400_000)
  const expired = await newToken({ role: 'viewer', validDays: 90 }, lastYear)
  for (const node of [service, beside]) {
    assert.equal((await call('GET /disputes', { token: secret, node })).status, 200)
    assert.equal((await call('GET /disputes', { token: expired.secret, node })).status, 401)
  }
  await perform(performer(), operatorsRevokeToken, atMachine, { tokenId: id })
  for (const node of [service, beside])
    assert.equal((await call('GET /disputes', { token: secret, node })).status, 401)
})

test('403: each role is refused every operation above it, before its input is read', async () => {
  for (const operation of allOperations) {
    const { method, path } = operatorRoute(operation)
    const question = `${method} ${path.slice(operatorBase.length).replaceAll(/\{\w+\}/g, 'x')}`
    for (const role of operatorRoles) {
      const caller = { kind: 'operator', role, actor: 'x', by: 'x' } as const
      if (whyForbidden(operation.who, caller) === null) continue
      const reply = await call(question, { token: tokens[role] })
      assert.equal(reply.status, 403, `${role} ${question}`)
      assert.equal(reply.json.error, 'operator_role_required')
    }
  }
})

test('a change by a token names the token in the audit log and its name in the history', async () => {
  const opened = await call('POST /workers/ada/disputes', {
    body: { kind: 'identity' },
    token: tokens.ingest,
  })
  assert.equal(opened.status, 200)
  const { id } = opened.json.dispute as { id: string }
  const [entry] = await service.database.db.rows<{ actor: string }>(sql`
    select actor from audit_log where subjects::text like ${`%${id}%`}`)
  assert.match(entry?.actor ?? '', /^token [0-9a-f-]{36}$/)
  const shown = await call(`GET /disputes/${id.toUpperCase()}`)
  const { moves } = shown.json.dispute as { moves: { by: string }[] }
  assert.deepEqual(
    moves.map(({ by }) => by),
    ['test'],
  )
  // A change without members needs no body.
  assert.equal((await call(`POST /disputes/${id}/review`)).json.state, 'under_review')
})

test('400: an unknown parameter, a body that names the record again, and a body that is no JSON object', async () => {
  for (const [question, body, message] of [
    ['GET /disputes?usernam=ada', undefined, /usernam is not a known field/],
    ['GET /disputes?limit=0', undefined, /limit must be at least 1/],
    ['GET /disputes?limit=ten', undefined, /limit must be a whole number/],
    ['GET /disputes?all=yes', undefined, /all must be true or false/],
    ['GET /disputes/first', undefined, /disputeId must be the id of a dispute/],
    ['POST /workers/ada/disputes?kind=score', { kind: 'score' }, /kind is not known/],
    ['POST /workers/ada/disputes?dryRun=1', { kind: 'score' }, /dryRun must be true or false/],
    ['POST /workers/ada/disputes', { kind: 'score', username: 'bob' }, /username is a part of/],
    ['POST /workers/ada/disputes', { kind: 'score', by: 'eve' }, /by is not a known field/],
    ['POST /workers/ada/disputes', '[]', /not a JSON object/],
    ['POST /workers/ada/disputes', '{', /JSON/],
  ] as const) {
    const reply = await call(question, { ...(body !== undefined && { body }) })
    assert.equal(reply.status, 400, question)
    assert.match(String(reply.json.message), message)
  }
  const form = await call('POST /workers/ada/disputes', {
    body: 'kind=score',
    headers: { 'Content-Type': 'text/plain' },
  })
  assert.equal(form.status, 415)
})

test('a dry run shows the result and changes nothing', async () => {
  const { url } = service.database
  // Every request is counted, and records the use of its token.
  const written = ['rate_windows', 'operator_tokens']
  const before = await everythingStored(url, written)
  const reply = await call('POST /workers/bob/consents/search_listing/withdraw?dryRun=true')
  assert.deepEqual([reply.status, reply.json.dryRun, reply.json.changed], [200, true, true])
  assert.equal(await everythingStored(url, written), before)
})

test('an Idempotency-Key repeats the answer on both nodes; a repeated secret is refused and not stored', async () => {
  const headers = { 'Idempotency-Key': 'consent-0123456789ab' }
  const question = 'POST /workers/cyd/consents/search_listing/withdraw'
  const [first, second] = await Promise.all([
    call(question, { headers }),
    call(question, { headers, node: beside }),
  ])
  assert.equal(first.status, 200)
  assert.deepEqual(first.body, second.body)
  const other = await call('POST /workers/ada/consents/search_listing/withdraw', { headers })
  assert.deepEqual([other.status, other.json.error], [409, 'idempotency_key_reused'])
  const malformed = await call(question, { headers: { 'Idempotency-Key': 'short' } })
  assert.equal(malformed.json.error, 'invalid_idempotency_key')
  const create = {
    headers: { 'Idempotency-Key': 'token-0123456789abcd' },
    body: { name: 'a', role: 'viewer' },
  }
  const { json } = await call('POST /operator-tokens', create)
  assert.match(String(json.secret), /^svc_op_/)
  const again = await call('POST /operator-tokens', create)
  assert.deepEqual([again.status, again.json.error], [409, 'idempotency_key_spent'])
  const stored = await everythingStored(service.database.url)
  assert.ok(!stored.includes(json.secret as string))
})

/** Joins the pages of two rows of a list by their Link headers. */
async function joinedPages(path: string, member: string): Promise<object[]> {
  const rows: object[] = []
  let next: string | undefined = `${path}?limit=2`
  while (next !== undefined) {
    const page = await call(`GET ${next}`)
    rows.push(...(page.json[member] as object[]))
    const link = String(page.headers.link ?? '')
    next = /^<\/api\/operator\/v1([^>]+)>; rel="next"$/.exec(link)?.[1]
    assert.equal(next === undefined, page.json.next === null)
  }
  return rows
}

test('the pages of a list, joined by their Link headers, equal one big page', async () => {
  for (let n = 0; n < 5; n++) await newSession(service.database.db)
  for (const [path, member, id] of [
    ['/operator-tokens', 'tokens', 'id'],
    ['/audit', 'entries', 'seq'],
    ['/accounts', 'accounts', 'name'],
    ['/users', 'users', 'email'],
  ] as const) {
    const rows = await joinedPages(path, member)
    assert.ok(rows.length > 4, path)
    const whole = await call(`GET ${path}?limit=1000`)
    const ids = (list: object[]) => list.map((row) => Reflect.get(row, id))
    assert.deepEqual(ids(rows), ids(whole.json[member] as object[]), path)
    assert.equal(whole.json.next, null)
    const last = await call(`GET ${path}?limit=${rows.length}`)
    assert.equal(last.json.next, null, 'a last full page has no next one')
  }
})

test('the audit log is verified for any role, and a head that is not in it is a finding', async () => {
  const { json } = await call('GET /audit/verification', { token: tokens.viewer })
  assert.equal(typeof json.head, 'string')
  const cut = await call(`GET /audit/verification?expect=${'1'.repeat(64)}`)
  assert.equal((cut.json.broken as { seq: number }).seq, (json.entries as number) + 1)
  const after = await call('GET /audit?after=x')
  assert.deepEqual([after.status, after.json.error], [400, 'invalid_parameter'])
})

test('the document is served to every role, and names every operation', async () => {
  const reply = await call('GET /openapi.json', { token: tokens.viewer })
  const paths = reply.json.paths as Record<string, Record<string, { operationId: string }>>
  const ids = Object.values(paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  )
  assert.equal(ids.length, allOperations.length + allIngests.length)
})

test('no CORS header lets a page of another origin read an answer, and no cache stores it', async () => {
  const { headers } = await call('GET /disputes', { headers: { Origin: 'https://evil.example' } })
  assert.equal(headers['access-control-allow-origin'], undefined)
  assert.equal(headers['cache-control'], 'private, no-store')
})

test('lines: workers and evidence are registered or rejected one by one, are scored after the last one, and a repeat changes nothing', async () => {
  const lines = (rows: readonly (object | string)[]) =>
    rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n')
  const send = (path: string, body: string, token = tokens.admin) =>
    call(`POST ${path}`, { body, token, headers: { 'Content-Type': 'application/x-ndjson' } })
  const workers = lines([
    { username: 'eve-online', displayName: 'Eve' },
    '',
    '{"username":',
    { username: 'No', displayName: 'Two letters' },
  ])
  const first = await send('/workers', workers, tokens.ingest)
  assert.equal(first.status, 200)
  assert.partialDeepStrictEqual(first.json, { lines: 3, created: 1, rejected: 2 })
  assert.deepEqual(
    (first.json.rejectedLines as { line: number; field: string | null }[]).map(
      ({ line, field }) => [line, field],
    ),
    [
      [3, null],
      [4, 'username'],
    ],
  )
  assert.partialDeepStrictEqual((await send('/workers', workers)).json, {
    created: 0,
    unchanged: 1,
  })
  const source = { id: 'acme', name: 'Acme', kind: 'organisation', group: 'acme' }
  assert.equal((await send('/sources', lines([source]), tokens.ingest)).status, 403)
  assert.partialDeepStrictEqual((await send('/sources', lines([source]))).json, { registered: 1 })
  const item = {
    username: 'eve-online',
    sourceId: 'acme',
    externalId: '1',
    skillId: 'hss:typescript',
    type: 'peer_review',
    value: 700,
    observedOn: '2026-05-14',
  }
  const evidence = lines([item, { ...item, externalId: '2', value: 2_000 }])
  const before = await everythingStored(service.database.url, ['rate_windows', 'operator_tokens'])
  const dry = await send('/evidence?dryRun=true', evidence)
  assert.partialDeepStrictEqual(dry.json, { dryRun: true, added: 1, rejected: 1 })
  assert.equal(
    await everythingStored(service.database.url, ['rate_windows', 'operator_tokens']),
    before,
  )
  assert.partialDeepStrictEqual((await send('/evidence', evidence)).json, { added: 1, rejected: 1 })
  const imports = await service.database.db.rows(sql`select from evidence_imports`)
  assert.equal(imports.length, 0, 'the workers are due after the last line')
  assert.partialDeepStrictEqual((await send('/evidence', evidence)).json, { unchanged: 1 })
})

async function granted(username: string) {
  const { changes } = (await call(`GET /workers/${username}/consents`)).json
  return (changes as Json[]).map(({ permission, granted: is, by }) => [permission, is, by])
}

test('lines: consents and identity checks are recorded in their order, and a repeat changes nothing', async () => {
  const send = (path: string, rows: readonly object[], token = tokens.ingest) =>
    call(`POST ${path}`, {
      token,
      body: rows.map((row) => JSON.stringify(row)).join('\n'),
      headers: { 'Content-Type': 'application/x-ndjson' },
    })
  const people = ['fay', 'gus'].map((username) => publicLine({ username, externalId: username }))
  assert.equal((await send('/workers', people)).json.created, 2)
  const of = { username: 'fay', permission: 'search_listing' }
  const consents = [
    { ...of, granted: false },
    { ...of, granted: true, textVersion: '2' },
    { workerExternalId: 'gus', permission: 'score_sharing', granted: false },
    { ...of, granted: true },
    { ...of, granted: false, textVersion: '2' },
    { ...of, username: 'nobody', granted: false },
    { permission: 'score_sharing', granted: false },
    { ...of, granted: 'yes' },
  ]
  const dry = await call('POST /consents?dryRun=true', {
    body: JSON.stringify(consents[0]),
    headers: { 'Content-Type': 'application/x-ndjson' },
  })
  assert.partialDeepStrictEqual(dry.json, { dryRun: true, recorded: 1 })
  const first = await send('/consents', consents)
  assert.partialDeepStrictEqual(first.json, { lines: 8, recorded: 3, unchanged: 0, rejected: 5 })
  assert.deepEqual(
    (first.json.rejectedLines as Json[]).map(({ line, field }) => [line, field]),
    [
      [4, 'textVersion'],
      [5, 'textVersion'],
      [6, 'username'],
      [7, 'workerId'],
      [8, 'granted'],
    ],
  )
  assert.deepEqual((await granted('fay')).slice(0, 2), [
    ['search_listing', true, 'test'],
    ['search_listing', false, 'test'],
  ])
  assert.deepEqual((await granted('gus'))[0], ['score_sharing', false, 'test'])
  const repeat = await send('/consents', [consents[1] ?? {}, consents[2] ?? {}])
  assert.partialDeepStrictEqual(repeat.json, { recorded: 0, unchanged: 2 })
  assert.deepEqual((await send('/consents', consents, tokens.viewer)).status, 403)

  const until = '2035-01-01T00:00:00Z'
  const checks = await send('/identities', [
    { username: 'fay', state: 'verified', verifiedUntil: until },
    { username: 'gus', state: 'revoked' },
    { username: 'ada', state: 'revoked' },
    { username: 'eve-online', state: 'revoked' },
    { username: 'fay', state: 'verified', verifiedUntil: '2020-01-01T00:00:00Z' },
    { username: 'fay', state: 'revoked', verifiedUntil: until },
  ])
  assert.partialDeepStrictEqual(checks.json, { recorded: 3, rejected: 3 })
  assert.match(JSON.stringify(checks.json.rejectedLines), /nothing to revoke: the identity is none/)
  assert.partialDeepStrictEqual((await call('GET /workers/fay')).json, {
    identity: { state: 'verified', verifiedUntil: until },
  })
  const entries = await service.database.db.rows<{ action: string; details: string }>(sql`
    select action, details from audit_log
    where action in ('consent.imported', 'identity.imported') order by seq`)
  assert.deepEqual(entries, [
    { action: 'consent.imported', details: '{"granted":1,"withdrawn":2}' },
    { action: 'identity.imported', details: '{"revoked":2,"verified":1}' },
  ])
})

test('lines: CSV takes the same members on every bulk route, and a header with another one is 400', async () => {
  const send = (path: string, body: string, type = 'text/csv; charset=utf-8') =>
    call(`POST ${path}`, { body, headers: { 'Content-Type': type } })
  const workers = await send(
    '/workers',
    '\ufeffusername,displayName,terms.version,terms.acceptedAt,skills.0.name\r\nhal,"Hal\n9000",1,2026-05-01T00:00:00Z,Go\r\n\r\nivy,"Ivy, A.",,,\r\nno,Short,,,\r\nivo,"x,,,',
  )
  assert.partialDeepStrictEqual(workers.json, { lines: 4, created: 1, rejected: 3 })
  assert.deepEqual(
    (workers.json.rejectedLines as Json[]).map(({ line, field }) => [line, field]),
    [
      [2, 'displayName'],
      [6, 'username'],
      [7, null],
    ],
  )
  for (const [path, csv, counts] of [
    ['/sources', 'id,name,kind,group\nb2,B,organisation,b2', { registered: 1 }],
    [
      '/evidence',
      'username,sourceId,externalId,skillId,type,value,observedOn\nivy,b2,1,hss:typescript,peer_review,500,2026-05-14',
      { added: 1 },
    ],
    ['/consents', 'username,permission,granted\nivy,score_sharing,false', { recorded: 1 }],
    [
      '/identities',
      'username,state,verifiedUntil\nivy,verified,2035-01-01T00:00:00Z',
      { recorded: 1 },
    ],
  ] as const) {
    const first = await send(path, csv)
    assert.partialDeepStrictEqual(first.json, { lines: 1, rejected: 0, ...counts }, path)
    assert.partialDeepStrictEqual((await send(path, csv)).json, { unchanged: 1 }, path)
  }
  for (const csv of ['', 'username,age\nivy,7', 'username;displayName\nivy;Ivy']) {
    const refused = await send('/workers', csv)
    assert.deepEqual([refused.status, refused.json.error], [400, 'invalid_field'])
  }
  assert.equal((await send('/workers', 'a', 'text/tab-separated-values')).status, 415)
})

/** Sends lines once a process has room for them: a body that was cut off may still be applied. */
async function callWithRoom(question: string, asked: Call): Promise<Reply & { json: Json }> {
  for (;;) {
    const reply = await call(question, asked)
    if (reply.status !== 503) return reply
  }
}

/** Sends a body of lines piece by piece. */
function openStream(path: string, headers: Record<string, string> = {}) {
  const sent = request(service.base, {
    method: 'POST',
    path: operatorBase + path,
    headers: {
      Authorization: `Bearer ${tokens.admin}`,
      'Content-Type': 'application/x-ndjson',
      ...headers,
    },
    agent: false,
  })
  const replied = once(sent, 'response').then(([reply]) => reply as IncomingMessage)
  replied.catch(() => {})
  sent.on('error', () => {})
  sent.flushHeaders()
  return { sent, replied }
}

const worker = (n: number) => JSON.stringify(publicLine({ username: `stream-${n}` }))

async function registeredCount(): Promise<number> {
  const [row] = await service.database.db.rows<{ count: number }>(sql`
    select count(*)::int as count from profiles where username like 'stream-%'`)
  return row?.count ?? 0
}

test('lines: 413 for a body over 1 GiB, 415 for JSON, and one line too long rejects only itself', async () => {
  const headers = { 'Content-Type': 'application/x-ndjson' }
  const huge = { ...headers, 'Content-Length': '1073741825' }
  const refused = await call('POST /workers', { body: '{}', headers: huge })
  assert.deepEqual([refused.status, refused.json.error], [413, 'payload_too_large'])
  assert.equal((await call('POST /workers', { body: {} })).status, 415)
  const long = `"${'x'.repeat(65_536)}"\n{}`
  const first = await call('POST /workers', { body: long, headers })
  assert.match(JSON.stringify(first.json.rejectedLines), /longer than 65536 bytes.*"line":2/)
  const empty = await call('POST /workers', { headers })
  assert.partialDeepStrictEqual(empty.json, { done: true, lines: 0, rejected: 0 })
})

test('lines: the header of CSV alone starts the answer, and a refused one ends its connection', async () => {
  const open = openStream('/workers', { 'Content-Type': 'text/csv' })
  open.sent.write('username,displayName\n')
  const begun = await open.replied
  assert.equal(begun.statusCode, 200)
  open.sent.end('csv-streamed,Csv\n')
  assert.match(Buffer.concat(await begun.toArray()).toString(), /"done":true.*"lines":1/)
  const refused = await call('POST /workers', {
    body: `username,age\n${'x,7\n'.repeat(200_000)}`,
    headers: { 'Content-Type': 'text/csv' },
  })
  assert.equal(refused.status, 400)
  assert.equal(refused.headers.connection, 'close')
})

test('lines: a body cut at any byte keeps whole batches alone, and a repeat adds each other line once', async () => {
  const total = 700
  const body = Array.from({ length: total }, (_, n) => worker(n)).join('\n')
  let before = 0
  for (const share of [0, 0.4, 0.8, 0.9, 0.999]) {
    const { sent } = openStream('/workers', { 'Content-Length': String(body.length) })
    const cut = body.slice(0, Math.floor(body.length * share))
    await new Promise<void>((resolve) => sent.write(cut, () => resolve()))
    const closed = new Promise((resolve) => sent.once('close', resolve))
    sent.destroy()
    await closed
    const now = await registeredCount()
    assert.ok(now >= before && now <= cut.split('\n').length, `${now} after ${share}`)
    assert.equal(now % 256, 0, 'a batch is whole')
    before = now
  }
  // The same file twice at once: each line is applied by one of them.
  const headers = { 'Content-Type': 'application/x-ndjson' }
  const both = await Promise.all([1, 2].map(() => callWithRoom('POST /workers', { body, headers })))
  const sum = (name: string) => both.reduce((all, { json }) => all + Number(json[name]), 0)
  assert.equal(await registeredCount(), total)
  assert.equal(sum('created') + sum('unchanged'), 2 * total)
  assert.ok(sum('created') <= total)
})

test('lines: two bodies are read at once, and the third gets 503 until one of them ends', async () => {
  const open: ReturnType<typeof openStream>[] = []
  while (open.length < 2) {
    const stream = openStream(open.length === 0 ? '/workers' : '/consents')
    if ((await stream.replied).statusCode === 200) open.push(stream)
  }
  const headers = { 'Content-Type': 'application/x-ndjson' }
  const third = await call('POST /workers', { body: '{}', headers })
  assert.deepEqual([third.status, third.json.error], [503, 'overloaded'])
  assert.equal(third.headers['retry-after'], '5')
  for (const { sent } of open) sent.destroy()
  assert.equal((await callWithRoom('POST /workers', { body: '{}', headers })).status, 200)
})

test('lines: a sender that reads nothing is read to the end; the answer names what fits, and counts the rest', async () => {
  const count = 30_000
  const { sent, replied } = openStream('/workers')
  for (let n = 0; n < count; n += 10_000)
    if (!sent.write('{"x":1}\n'.repeat(10_000))) await once(sent, 'drain')
  sent.end()
  await once(sent, 'finish')
  const reply = await replied
  assert.equal(reply.statusCode, 200)
  const lines = (await text(reply)).trimEnd().split('\n')
  const last = JSON.parse(lines.at(-1) ?? '') as Json
  const named = lines.filter((one) => one.startsWith('{"line":')).length
  assert.partialDeepStrictEqual(last, { done: true, lines: count, created: 0, rejected: count })
  assert.ok(Number(last.unnamed) > 0)
  assert.equal(named + Number(last.unnamed), count)
})

test('a user gets an operator role, has it in the session on the next request, and loses it', async () => {
  const { userId, email, value } = await newSession(service.database.db)
  const roleNow = async () => {
    const Cookie = `__Host-session=${value}`
    const session = await service.admission.authenticateSession(Cookie)
    return session?.operatorRole
  }
  assert.equal(await roleNow(), null)
  const unknown = await call('POST /operators/nobody@example.com/grant', {
    body: { role: 'admin' },
  })
  assert.equal(unknown.json.error, 'user_not_found')
  const grant = (role: string) => call(`POST /operators/${email}/grant`, { body: { role } })
  assert.equal((await grant('ingest')).json.error, 'invalid_field')
  assert.deepEqual((await grant('support')).json, { email, userId, changed: true })
  assert.deepEqual((await grant('support')).json, { email, userId, changed: false })
  assert.equal(await roleNow(), 'support')
  assert.equal((await grant('viewer')).json.changed, true)
  assert.equal(await roleNow(), 'viewer')
  const { operators } = (await call('GET /operators')).json as { operators: object[] }
  assert.deepEqual(
    operators.map((one) => Reflect.get(one, 'email')),
    [email],
  )
  const withdraw = () => call(`POST /operators/${email.toUpperCase()}/withdraw`)
  assert.equal((await withdraw()).json.changed, true)
  assert.equal((await withdraw()).json.changed, false)
  assert.equal(await roleNow(), null)
  const entries = await service.database.db.rows<{ action: string }>(sql`
    select action from audit_log where subjects::text like ${`%${userId}%`} and action like 'operators.%'
    order by seq`)
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['operators.granted', 'operators.granted', 'operators.withdrawn'],
  )
})

test('an account is created once, invites, and keeps an owner; the log names the token', async () => {
  const created = await call('POST /accounts', { body: { name: ' Harbour Ltd ' } })
  const account = created.json.account as { id: string; name: string }
  assert.equal(account.name, 'Harbour Ltd')
  const taken = await call('POST /accounts', { body: { name: account.name } })
  assert.deepEqual([taken.status, taken.json.error], [409, 'account_name_taken'])
  for (const name of [account.id, ' ', 'a\u0007b'])
    assert.equal((await call('POST /accounts', { body: { name } })).json.error, 'invalid_field')
  assert.equal((await call('GET /accounts/Nobody')).json.error, 'account_not_found')

  const body = { email: 'Mia@Example.com', role: 'member' }
  const invite = (headers = {}) =>
    call('POST /accounts/Harbour%20Ltd/invitations', { body, headers, token: tokens.support })
  const keyed = { 'Idempotency-Key': 'invite-0123456789abcd' }
  const first = await invite(keyed)
  assert.match(String(first.json.url), /\/invitations\/[\w-]{43}$/)
  assert.equal((await invite(keyed)).json.error, 'idempotency_key_spent')
  const again = await invite()
  assert.deepEqual([again.json.changed, again.json.invitationId], [false, first.json.invitationId])
  assert.notEqual(again.json.url, first.json.url)
  const invitation = `/accounts/${account.id}/invitations/mia@example.com`
  assert.match(String((await call(`POST ${invitation}/resend`)).json.url), /\/invitations\//)
  assert.equal((await call(`POST ${invitation}/withdraw`)).status, 200)
  for (const verb of ['withdraw', 'resend'])
    assert.equal((await call(`POST ${invitation}/${verb}`)).json.error, 'invitation_not_found')

  const { db } = service.database
  const owner = await newSession(db, { accountId: account.id })
  const member = await newSession(db, { accountId: account.id, role: 'member' })
  const of = (email: string, verb: string) =>
    call(`POST /accounts/${account.id}/members/${email}/${verb}`)
  assert.equal((await of(owner.email, 'remove')).json.error, 'last_owner')
  assert.equal((await of(member.email, 'make-owner')).json.changed, true)
  assert.equal((await of(member.email, 'make-owner')).json.changed, false)
  assert.equal((await of(owner.email, 'remove')).status, 200)
  assert.equal((await of(owner.email, 'remove')).json.error, 'member_not_found')
  const shown = await call(`GET /accounts/${account.id}/members`)
  const members = shown.json.members as { email: string }[]
  assert.deepEqual([members.length, members[0]?.email], [1, member.email])
  const entries = await db.rows<{ action: string }>(sql`
    select action from audit_log where details like ${`%${account.id}%`} and actor like 'token %'
    order by seq`)
  assert.deepEqual(
    entries.map(({ action }) => action.replace('users.', '')),
    ['invited', 'invited', 'invitation_resent', 'invitation_withdrawn', 'made_owner', 'removed'],
  )
})

test('a user is found by a part of the address, disabled, enabled and erased with stored answers', async () => {
  const { db, url } = service.database
  const { email, userId } = await newSession(db)
  const find = async (text: string) =>
    (await call(`GET /users?find=${encodeURIComponent(text)}`)).json.users as { email: string }[]
  assert.deepEqual(
    (await find(email.slice(2).toUpperCase())).map((one) => one.email),
    [email],
  )
  assert.deepEqual(await find('%'), [])
  const user = `/users/${email}`
  const change = async (verb: string, headers = {}) =>
    (await call(`POST ${user}/${verb}`, { headers })).json
  assert.deepEqual(await change('disable'), { userId, changed: true })
  assert.equal((await change('sign-in-link')).error, 'user_disabled')
  const shown = (await call(`GET ${user}`)).json.user as { sessions: number; disabledAt: string }
  assert.deepEqual([shown.sessions, typeof shown.disabledAt], [0, 'string'])
  assert.deepEqual(await change('enable'), { userId, changed: true })
  assert.match(String((await change('sign-in-link')).url), /\/sign-in\/confirm\?token=/)
  const headers = { 'Idempotency-Key': 'grant-0123456789abcdef' }
  await call(`POST /operators/${email}/grant`, { body: { role: 'viewer' }, headers })
  assert.ok((await everythingStored(url)).includes(email))
  const erased = await call(`POST ${user}/erase`, {
    headers: { 'Idempotency-Key': 'erase-0123456789abcdef' },
  })
  assert.deepEqual(erased.json, { userId, invitations: 0 })
  assert.ok(!(await everythingStored(url)).includes(email))
  assert.equal((await change('erase')).error, 'user_not_found')
})

test('no value of a join file is stored, logged or quoted in an error, also with an Idempotency-Key', async () => {
  const hidden = ['Quagga', 'Zora Nyme', 'Nairobi, West']
  const subjects = Array.from({ length: 12 }, (_, at) => `subject-${at}`)
  const scores = ['subject,score,low', ...subjects.map((one) => `${one},600,400`)].join('\n')
  const rowOf = (one: string) => `${one},Quagga,"Nairobi, West",Zora Nyme`
  const groups = ['subject,kind,place,name', ...subjects.map(rowOf)].join('\n')
  const headers = { 'Idempotency-Key': 'impact-0123456789abcdef' }
  const compare = (over: object) =>
    call('POST /reports/impact', {
      node: beside,
      headers,
      body: { scores, groups, by: ['kind', 'place'], ...over },
    })
  for (let time = 0; time < 2; time++) {
    const { status, json } = await compare({})
    assert.equal(status, 200, JSON.stringify(json))
    assert.ok((json.rows as Json[]).some(({ category }) => category === 'Quagga, Nairobi, West'))
  }
  for (const wrong of [
    { by: ['age'] },
    { by: [] },
    { minCell: 1 },
    { groups: groups.replace('subject-3,', 'subject-2,') },
    { groups: `${groups}\nsubject-99,Quagga` },
    { groups: groups.replace('"Nairobi', 'the "Nairobi') },
    { groups: 'kind\nQuagga' },
    { scores: groups },
    { scores: 7 },
    { unknown: 'Quagga' },
  ]) {
    const { status, json } = await compare(wrong)
    assert.equal(status, 400, JSON.stringify(wrong))
    for (const text of hidden) assert.ok(!JSON.stringify(json).includes(text), JSON.stringify(json))
  }
  log.flush()
  assert.ok(logged.includes('/reports/impact'))
  const stored = await everythingStored(service.database.url)
  for (const text of [...hidden, 'subject-3']) {
    assert.ok(!stored.includes(text), `${text} is stored`)
    assert.ok(!logged.includes(text), `${text} is logged`)
  }
})

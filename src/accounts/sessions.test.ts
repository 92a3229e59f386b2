import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Type } from 'typebox'
import { newKey } from '../../test/support/build/keys.ts'
import { newSession, type TestSession } from '../../test/support/build/sessions.ts'
import { ask, type Question, type Reply } from '../../test/support/start/ask.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { startNode, things } from '../../test/support/start/node.ts'
import { endpoint } from '../edge/http/endpoint.ts'
import { sql } from '../platform/db/db.ts'
import { deleteEndedSessions, findOwnSessions } from './session-store.ts'
import { openSessions, sessionTimes } from './sessions.ts'

const database = await testDatabase()
const { db } = database

const common = {
  area: 'sample',
  summary: 'Sample',
  responses: {},
  priority: 'search',
  policy: { kind: 'session' },
} as const

/** Ended by the test that sets it: the handler waits for it. */
const held: { until: Promise<void>; entered: () => void } = {
  until: Promise.resolve(),
  entered: () => {},
}

const own = [
  endpoint({
    ...common,
    operationId: 'getOwn',
    method: 'GET',
    path: '/own',
    answer: ({ caller }) => ({ status: 200, body: caller }),
  }),
  endpoint({
    ...common,
    operationId: 'changeOwn',
    method: 'POST',
    path: '/own',
    idempotencyKey: 'optional',
    body: {
      mediaTypes: ['application/json'],
      schema: Type.Object({}),
      bytesMax: 1_024,
      ambiguousReachesHandler: false,
      examples: {},
    },
    async answer({ caller, idempotencyKey }) {
      held.entered()
      await held.until
      return { status: 200, body: { ...caller, idempotencyKey } }
    },
  }),
]

const endpoints = [...things, ...own]
const one = await startNode(database.url, { endpoints })
const other = await startNode(database.url, { endpoints })
after(async () => {
  await one.stop()
  await other.stop()
  await database.drop()
})

const read = (headers: Record<string, string>, base = one.base): Promise<Reply> =>
  ask(base, { path: '/own', headers })

function change(headers: Record<string, string>, over: Partial<Question> = {}): Promise<Reply> {
  const json = { 'Content-Type': 'application/json', ...headers }
  return ask(one.base, { method: 'POST', path: '/own', headers: json, body: '{}', ...over })
}

function errorOf({ status, body }: Reply): string {
  return `${status} ${JSON.parse(String(body)).error}`
}

/** Signed in on one node, and rejected by both on the next request after `end`. */
async function endsOnBothNodes(end: (session: TestSession) => Promise<unknown>): Promise<void> {
  const session = await newSession(db)
  for (const { base } of [one, other]) assert.equal((await read(session.headers, base)).status, 200)
  await end(session)
  for (const { base } of [one, other])
    assert.equal(errorOf(await read(session.headers, base)), '401 session_required')
}

test('200: the handler of a session route receives the user, the account and the role', async () => {
  for (const role of ['owner', 'member'] as const) {
    const { headers, userId, accountId, sessionId } = await newSession(db, { role })
    const { status, body } = await read(headers)
    assert.equal(status, 200)
    const { signedInAt, ...caller } = JSON.parse(String(body))
    const operatorRole = null
    assert.deepEqual(caller, { kind: 'session', sessionId, userId, accountId, role, operatorRole })
    assert.ok(Math.abs(Date.parse(signedInAt) - Date.now()) < 60_000)
  }
})

test('401: a session that was ended is rejected by every node on the next request', () =>
  endsOnBothNodes(({ sessionId }) => db.run(sql`delete from sessions where id = ${sessionId}`)))

test('401: the session of a removed member is rejected by every node on the next request', () =>
  endsOnBothNodes(({ userId }) => db.run(sql`delete from memberships where user_id = ${userId}`)))

test('401: the session of a disabled user is rejected by every node on the next request', () =>
  endsOnBothNodes(({ userId }) =>
    db.run(sql`update users set disabled_at = now() where id = ${userId}`),
  ))

test('a request that is running when its member is removed completes; the next request is rejected', async () => {
  const session = await newSession(db)
  const hold = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<void>()
  Object.assign(held, { until: hold.promise, entered: entered.resolve })
  const running = change(session.ownOrigin)
  await Promise.race([entered.promise, running])
  await db.run(sql`delete from memberships where user_id = ${session.userId}`)
  hold.resolve()
  assert.equal((await running).status, 200)
  assert.equal(errorOf(await change(session.ownOrigin)), '401 session_required')
})

test('401: a request needs exactly one session cookie of the right name and form', async () => {
  const { value, headers } = await newSession(db)
  const second = await newSession(db)
  for (const Cookie of [
    '',
    `session=${value}`,
    `__Secure-session=${value}`,
    `__Host-sessions=${value}`,
    `x__Host-session=${value}`,
    `__Host-session="${value}"`,
    `__Host-session=${value}=`,
    `__Host-session=${value.slice(1)}`,
    `__Host-session=${value.toLowerCase()}`,
    `${headers.Cookie}; ${second.headers.Cookie}`,
    `${headers.Cookie}; ${headers.Cookie}`,
    `__HOST-SESSION=${value}`,
  ])
    assert.equal(errorOf(await read({ Cookie })), '401 session_required', Cookie)
  for (const Cookie of [
    `a=b; ${headers.Cookie}; c=d`,
    `${headers.Cookie};`,
    `a; ${headers.Cookie}`,
  ])
    assert.equal((await read({ Cookie })).status, 200, Cookie)
})

test('a session ends after 7 days without use and after 30 days at the latest', async () => {
  const dayMs = 86_400_000
  const rules = { idleDays: 7, days: 30 }
  const { headers, userId } = await newSession(db, { now: new Date('2026-01-01T00:00:00Z') })
  const isValidAfter = async (days: number, ms = 0): Promise<boolean> => {
    const at = new Date(Date.parse('2026-01-01T00:00:00Z') + days * dayMs + ms)
    const publicUrl = 'https://scores.example.org'
    const sessions = openSessions({ db, clock: () => at, publicUrl, rules })
    const found = await sessions.authenticate(headers.Cookie)
    const isListed = (await findOwnSessions(db, userId, sessionTimes(rules, at))).length === 1
    assert.equal(isListed, found !== null)
    if (found !== null) await sessions.recordLastSeen()
    return found !== null
  }
  assert.equal(await isValidAfter(7, -1), true)
  assert.equal(await isValidAfter(14, -1), false, '7 days after it was seen')
  for (const day of [13, 19, 25]) assert.equal(await isValidAfter(day), true, `day ${day}`)
  assert.equal(await isValidAfter(30, -1), true)
  assert.equal(await isValidAfter(30), false)
  const at = new Date(Date.parse('2026-01-01T00:00:00Z') + 30 * dayMs)
  await deleteEndedSessions(db, sessionTimes(rules, at))
  const left = await db.rows(sql`select 1 from sessions where user_id = ${userId}`)
  assert.equal(left.length, 0, 'an ended session is deleted')
})

test('the last-seen time of a session is written at most once a minute and never moves back', async () => {
  const begun = Date.parse('2026-02-01T00:00:00Z')
  const { headers, sessionId } = await newSession(db, { now: new Date(begun) })
  let now = begun
  const open = () =>
    openSessions({
      db,
      clock: () => new Date(now),
      publicUrl: 'https://scores.example.org',
      rules: { idleDays: 7, days: 30 },
    })
  const nodes = [open(), open()]
  const lastSeen = async (): Promise<number> => {
    const [row] = await db.rows<{ at: Date }>(
      sql`select last_seen_at as at from sessions where id = ${sessionId}`,
    )
    return ((row?.at.getTime() ?? 0) - begun) / 1_000
  }
  const useAt = async (seconds: number, node = 0): Promise<void> => {
    now = begun + seconds * 1_000
    await nodes[node]?.authenticate(headers.Cookie)
  }
  const write = (): Promise<unknown> => Promise.all(nodes.map((node) => node.recordLastSeen()))
  await useAt(59)
  await write()
  assert.equal(await lastSeen(), 0)
  await useAt(61)
  await useAt(90, 1)
  await write()
  assert.ok([61, 90].includes(await lastSeen()), 'one of the two nodes has written it')
  const before = await lastSeen()
  await useAt(100)
  await write()
  assert.equal(await lastSeen(), before)
  await useAt(600, 1)
  await useAt(200)
  await nodes[1]?.recordLastSeen()
  await nodes[0]?.recordLastSeen()
  assert.equal(await lastSeen(), 600)
})

test('session routes ignore an API key, and key routes ignore a session', async () => {
  const session = await newSession(db)
  const key = await newKey(db)
  for (const Authorization of [key.headers.Authorization, 'Bearer svc_live_x', 'Basic YTpi']) {
    const beside = { ...session.headers, Authorization, 'X-PAYMENT': 'e30=' }
    const { status, body } = await read(beside)
    assert.equal(status, 200)
    assert.equal(JSON.parse(String(body)).accountId, session.accountId)
    const keyAlone = await read({ Authorization })
    assert.equal(errorOf(keyAlone), '401 session_required')
    assert.equal(keyAlone.headers['www-authenticate'], 'Cookie form-action="/sign-in"')
  }
  const making = (headers: object): Question => ({
    method: 'POST',
    path: '/things',
    headers: {
      'Content-Type': 'application/json',
      'Idempotency-Key': 'a-key-of-sixteen',
      'Sec-Fetch-Site': 'same-origin',
      ...headers,
    },
    body: '{}',
  })
  assert.equal(errorOf(await ask(one.base, making(session.headers))), '401 missing_api_key')
  const made = await ask(one.base, making({ ...session.headers, ...key.headers }))
  assert.equal(JSON.parse(String(made.body)).caller.accountId, key.accountId)
})

const ownOrigin = 'https://scores.example.org'
const foreignOrigins = [
  'null',
  'https://evil.example',
  'http://scores.example.org',
  'https://scores.example.org:8443',
  'https://scores.example.org.evil.example',
  'https://evil.example/https://scores.example.org',
  `${ownOrigin}/`,
  `${ownOrigin}, ${ownOrigin}`,
  ownOrigin.toUpperCase(),
  '',
]

test('403: a request that changes something is rejected before any work unless it comes from our own origin', async () => {
  const session = await newSession(db)
  const sites = [
    undefined,
    'same-origin',
    'same-site',
    'cross-site',
    'none',
    '',
    'same-origin, cross-site',
  ]
  let accepted = 0
  for (const site of sites)
    for (const origin of [undefined, ownOrigin, ...foreignOrigins]) {
      const headers = {
        ...(site === undefined ? {} : { 'Sec-Fetch-Site': site }),
        ...(origin === undefined ? {} : { Origin: origin }),
      }
      const sent = JSON.stringify(headers)
      const isAccepted = site === undefined ? origin === ownOrigin : site === 'same-origin'
      const reply = await change({ ...session.headers, ...headers })
      if (isAccepted) {
        accepted++
        assert.equal(reply.status, 200, sent)
        continue
      }
      assert.equal(errorOf(reply), '403 cross_origin', sent)
      assert.equal(reply.headers.ratelimit, undefined, 'it is not counted')
      const foreign = await change(headers, { body: 'x'.repeat(2_000) })
      assert.equal(errorOf(foreign), '403 cross_origin', 'not even its session is looked up')
    }
  assert.equal(accepted, 1 + 2 + foreignOrigins.length)
  const link = await read({ ...session.headers, 'Sec-Fetch-Site': 'cross-site', Origin: 'null' })
  assert.equal(link.status, 200, 'a GET changes nothing: any page may link to it')
})

test('415: JSON in a media type that another site can send without a preflight is rejected', async () => {
  const { ownOrigin: headers } = await newSession(db)
  for (const type of [
    'text/plain',
    'text/plain;charset=utf-8',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    '',
  ])
    assert.equal(
      errorOf(await change({ ...headers, 'Content-Type': type })),
      '415 unsupported_media_type',
      type,
    )
})

test('400: an Idempotency-Key is optional, and a malformed one is rejected', async () => {
  const { ownOrigin: headers } = await newSession(db)
  const sent = async (key?: string) =>
    change({ ...headers, ...(key === undefined ? {} : { 'Idempotency-Key': key }) })
  assert.equal(JSON.parse(String((await sent()).body)).idempotencyKey, null)
  const key = 'k'.repeat(16)
  assert.equal(JSON.parse(String((await sent(key)).body)).idempotencyKey, key)
  for (const wrong of ['', 'short', 'k'.repeat(129), 'with a space in it'])
    assert.equal(errorOf(await sent(wrong)), '400 invalid_idempotency_key', wrong)
})

test('429: a session makes 300 calls in a minute on all nodes together; another session is served', async () => {
  const [busy, quiet] = [await newSession(db), await newSession(db)]
  const calls = Array.from({ length: 310 }, (_, i) =>
    read(busy.headers, (i % 2 === 0 ? one : other).base),
  )
  const replies = await Promise.all(calls)
  assert.equal(replies.filter(({ status }) => status === 200).length, 300)
  const refused = replies.filter(({ status }) => status === 429)
  assert.equal(refused.length, 10)
  for (const reply of refused) {
    assert.equal(errorOf(reply), '429 rate_limited')
    assert.match(String(reply.headers['retry-after']), /^([1-9]|[1-5]\d|60)$/)
  }
  assert.equal((await read(quiet.headers)).status, 200)
})

test('the answer of a session route has no CORS headers and is never stored', async () => {
  const { headers } = await newSession(db)
  const origin = { Origin: 'https://evil.example' }
  for (const reply of [
    await read({ ...headers, ...origin }),
    await read(origin),
    await change({ ...headers, ...origin }),
    await ask(one.base, { method: 'OPTIONS', path: '/own', headers: origin }),
    await ask(one.base, { method: 'PUT', path: '/own', headers: origin }),
  ]) {
    const cors = Object.keys(reply.headers).filter((name) => name.startsWith('access-control-'))
    assert.deepEqual(cors, [], String(reply.status))
    assert.equal(reply.headers['cache-control'], 'private, no-store')
    assert.equal(reply.headers.vary, 'Cookie, Service-Version')
    assert.equal(reply.headers['cross-origin-resource-policy'], 'same-origin')
  }
})

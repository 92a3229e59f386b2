/**
 * Authentication, scopes and charging on two nodes that share a database: every route, every set of
 * scopes, every state of a key.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { restrictApiKey, rotateApiKey } from '../../src/accounts/access/manage.ts'
import { findKeys } from '../../src/accounts/access/store.ts'
import { findCreditAccount, updateSuspended } from '../../src/billing/credits/store.ts'
import { type Scope, scopes } from '../../src/edge/http/callers.ts'
import type { Endpoint } from '../../src/edge/http/endpoint.ts'
import { bucketId } from '../../src/edge/rate-limit/shared-limiter.ts'
import { sql } from '../../src/platform/db/db.ts'
import { newKey, revokeKey, type TestKey } from '../support/build/keys.ts'
import { roundsOf } from '../support/fault/rounds.ts'
import { ask, type Question, type Reply } from '../support/start/ask.ts'
import { startNode, things } from '../support/start/node.ts'
import { startService } from '../support/start/service.ts'

const service = await startService('https://scores.example.org')
const { db, url } = service.database
after(() => service.stop())
const declared = [...service.endpoints, ...things]
const many = { FAILED_KEYS_PER_MINUTE: '60000' }
const [one, two] = [
  await startNode(url, { env: many, endpoints: declared }),
  await startNode(url, { env: many }),
]
after(async () => {
  await one.stop()
  await two.stop()
})

const races = roundsOf('CHAOS_RACES', 5)
const revocations = roundsOf('CHAOS_REVOCATIONS', 100)

const bodyOf = ({ body }: Reply) => JSON.parse(body.toString())
const thing = (id: string, key?: TestKey, headers: Record<string, string> = {}): Question => ({
  path: `/things/${id}`,
  headers: { ...key?.headers, ...headers },
})
const balanceOf = async ({ accountId }: TestKey) =>
  (await findCreditAccount(db, accountId))?.balance ?? 0

/**
 * Returns a request that passes authentication on this route. The rest of its answer does not
 * matter.
 */
function questionOf({ method, path, body }: Endpoint, headers: Record<string, string>): Question {
  const question = { method, path: path.replaceAll(/\{\w+\}/g, 'x') }
  const named = { ...headers, 'Idempotency-Key': 'a-key-of-sixteen-' }
  return body === undefined
    ? { ...question, headers: named }
    : {
        ...question,
        headers: { ...named, 'Content-Type': body.mediaTypes[0] ?? '' },
        body: '{}',
      }
}

const subsets = Array.from({ length: 16 }, (_, bits) => scopes.filter((_, i) => bits & (1 << i)))
const past = new Date(Date.now() - 10_000)

/**
 * Returns the Authorization header of a key with these scopes in each state. A key needs at least
 * one scope.
 */
async function headersByState(
  granted: readonly Scope[],
): Promise<Record<string, Record<string, string>>> {
  const make = (over: object = {}) => newKey(db, { scopes: granted, credits: 1_000, ...over })
  const [valid, revoked, test] = [await make(), await make(), await make({ environment: 'test' })]
  const expired = await make({ now: past, expiresAt: new Date(past.getTime() + 1_000) })
  await revokeKey(db, revoked.keyId)
  const swapped = valid.key.slice(0, -1) + (valid.key.endsWith('0') ? '1' : '0')
  return {
    valid: valid.headers,
    test: test.headers,
    revoked: revoked.headers,
    expired: expired.headers,
    malformed: { Authorization: `Bearer ${swapped}` },
    'of another scheme': { Authorization: `Basic ${valid.key}` },
  }
}

/** Returns the authentication error, or null if the request is admitted. */
function expected(
  { policy, method }: Endpoint,
  granted: readonly Scope[],
  state: string,
): string | null {
  if (policy.kind === 'open' || policy.kind === 'page' || policy.kind === 'operator') return null
  // Session routes ignore the Authorization header, so the state of the key does not matter.
  if (policy.kind === 'session') return method === 'GET' ? 'session_required' : 'cross_origin'
  if (state === 'absent')
    return { 'optional-key': null, keyed: 'missing_api_key', paid: 'payment_required' }[policy.kind]
  if (state !== 'valid' && state !== 'test') return 'invalid_api_key'
  if (!granted.includes(policy.scope)) return 'insufficient_scope'
  return state === 'test' && policy.kind === 'keyed' ? 'test_key' : null
}

const doors = new Set([
  'missing_api_key',
  'payment_required',
  'invalid_api_key',
  'insufficient_scope',
  'test_key',
  'session_required',
  'cross_origin',
])

/** Whether the answer of the route depends on the scopes of a key. */
const hasScope = ({ policy }: Endpoint): boolean => 'scope' in policy

test('every route × every set of scopes that it tells apart × every state of a key: the answer is 401, 403 or admission as declared', async () => {
  let tried = 0
  for (const granted of subsets) {
    const states: Record<string, Record<string, string>> = granted.length === 0
      ? { absent: {} }
      : await headersByState(granted)
    const isOne = granted.length === 0 || granted.length === scopes.length
    for (const [state, headers] of Object.entries(states))
      for (const endpoint of declared) {
        if (!isOne && !hasScope(endpoint)) continue
        const reply = await ask(one.base, questionOf(endpoint, headers))
        const what = `${endpoint.operationId}, key ${state}, ${granted.join(' ')}`
        const { error } = reply.status >= 400 ? bodyOf(reply) : {}
        const said = doors.has(error) ? error : null
        // Without a key the parameters of a paid read are checked first (decision D18).
        const isAsked = reply.status !== 400 || state !== 'absent'
        if (isAsked) assert.equal(said, expected(endpoint, granted, state), what)
        else assert.equal(said, null, what)
        if (said === 'missing_api_key' || said === 'invalid_api_key') {
          assert.equal(reply.status, 401)
          assert.equal(reply.headers['www-authenticate'], 'Bearer')
        } else if (said === 'session_required') assert.equal(reply.status, 401)
        else if (said === 'payment_required') assert.equal(reply.status, 402)
        else if (said !== null) assert.equal(reply.status, 403)
        tried++
      }
  }
  const scoped = declared.filter(hasScope).length
  assert.equal(tried, scoped * 91 + (declared.length - scoped) * 7)
})

test('401 has the same bytes for every defect of a key, and names a missing Bearer', async () => {
  const states = await headersByState(['scores:read'])
  const { valid: _, test: __, 'of another scheme': unnamed, ...wrong } = states
  const bodies = new Set<string>()
  for (const headers of Object.values(wrong))
    bodies.add((await ask(one.base, thing('a', undefined, headers))).body.toString())
  assert.equal(bodies.size, 1)
  const reply = await ask(one.base, thing('a', undefined, unnamed))
  assert.equal(reply.status, 401)
  assert.match(bodyOf(reply).message, /does not begin with Bearer/)
})

test('200 costs one credit and says so; 400, 404, 405, 500, 503 and test keys cost nothing', async () => {
  const key = await newKey(db, { credits: 10 })
  const paid = await ask(one.base, thing('a', key))
  assert.equal(paid.status, 200)
  assert.equal(paid.headers['service-credits-charged'], '1')
  assert.equal(paid.headers['service-credits-remaining'], '9')
  assert.equal(paid.headers['cache-control'], 'private, no-store')
  assert.match(String(paid.headers.ratelimit), /"minute";r=9999/)
  const free: [string, number][] = [
    ['absent', 404],
    ['BAD', 400],
    ['broken', 500],
    ['unwritable', 500],
    ['away', 503],
  ]
  for (const [id, status] of free) {
    const reply = await ask(one.base, thing(id, key))
    assert.equal(reply.status, status, id)
    assert.equal(reply.headers['service-credits-charged'], undefined)
  }
  assert.equal((await ask(one.base, { ...thing('a', key), method: 'HEAD' })).status, 405)
  const sandbox = await newKey(db, { environment: 'test' })
  const unpaid = await ask(one.base, thing('a', sandbox))
  assert.equal(unpaid.status, 200)
  assert.equal(unpaid.headers['service-credits-charged'], '0')
  assert.equal(await balanceOf(key), 9)
})

test('402 comes before the handler runs, and 403 before the credits are checked', async () => {
  const poor = await newKey(db)
  const reply = await ask(one.base, thing('broken', poor))
  assert.equal(reply.status, 402)
  assert.deepEqual(bodyOf(reply), {
    error: 'insufficient_credits',
    message: 'This call costs 1 credit, and the account of this API key has 0 credits.',
  })
  assert.equal(reply.headers['service-credits-charged'], '0')
  assert.equal(reply.headers['service-credits-remaining'], '0')
  const unable = await newKey(db, { scopes: ['webhooks:write'] })
  assert.equal((await ask(one.base, thing('a', unable))).status, 403)
})

test('503: a suspended account, whose ledger does not add up, is not served', async () => {
  const key = await newKey(db, { credits: 5 })
  await ask(one.base, thing('a', key))
  await updateSuspended(db, key.accountId, new Date())
  const reply = await ask(one.base, thing('a', key))
  assert.equal(reply.status, 503)
  assert.equal(bodyOf(reply).error, 'metering_suspended')
  assert.equal(await balanceOf(key), 4)
})

test('with one credit, 200 concurrent calls on two nodes get one 200 and 199 times 402', async () => {
  for (let race = 0; race < races; race++) {
    const key = await newKey(db, { credits: 1 })
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, i) => ask(i % 2 ? one.base : two.base, thing('a', key))),
    )
    const counts = Map.groupBy(replies, ({ status }) => status)
    assert.deepEqual([counts.get(200)?.length, counts.get(402)?.length, counts.size], [1, 199, 2])
    for (const { headers } of counts.get(402) ?? [])
      assert.match(String(headers['service-credits-remaining']), /^[01]$/)
    assert.equal(await balanceOf(key), 0)
  }
})

test('an Idempotency-Key is charged once, also for concurrent calls, two spellings and spent credits', async () => {
  const key = await newKey(db, { credits: 1 })
  const named = { 'Idempotency-Key': 'purchase-0000000001' }
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      ask(i % 2 ? one.base : two.base, thing(i % 3 ? 'a' : '@a', key, named)),
    ),
  )
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  const charged = Map.groupBy(replies, ({ headers }) => headers['service-credits-charged'])
  assert.deepEqual([charged.get('1')?.length, charged.get('0')?.length], [1, 19])
  const other = await ask(one.base, thing('b', key, named))
  assert.equal(other.status, 400)
  assert.equal(bodyOf(other).error, 'purchase_key_reused')
  const short = await ask(one.base, thing('a', key, { 'Idempotency-Key': 'short' }))
  assert.equal(bodyOf(short).error, 'invalid_idempotency_key')
  await db.run(sql`
    update credit_purchases set charged_at = charged_at - interval '25 hours'
    where account_id = ${key.accountId}`)
  assert.equal((await ask(one.base, thing('a', key, named))).status, 402)
})

test('401: both nodes reject a revoked key in every call that starts after the revocation', async () => {
  const statusesOf = (key: TestKey) =>
    Promise.all([one, two].map(async ({ base }) => (await ask(base, thing('a', key))).status))
  for (let trial = 0; trial < revocations; trial++) {
    const key = await newKey(db, { credits: 10 })
    assert.deepEqual(await statusesOf(key), [200, 200])
    const meanwhile = statusesOf(key)
    await revokeKey(db, key.keyId)
    assert.deepEqual(await statusesOf(key), [401, 401], `${trial}`)
    for (const status of await meanwhile) assert.ok([200, 401].includes(status))
  }
})

test('401: a key used from a disallowed address gets the same bytes, and each server counts one such call at most', async () => {
  const key = await newKey(db, { credits: 10, allowedFrom: ['192.0.2.0/24', '2001:db8::/32'] })
  const from = async (address: string) => {
    const forwarded = { 'X-Forwarded-For': address }
    return Promise.all([one, two].map(({ base }) => ask(base, thing('a', key, forwarded))))
  }
  const statusesFrom = async (address: string) => (await from(address)).map(({ status }) => status)
  assert.deepEqual(await statusesFrom('192.0.2.9'), [200, 200])
  assert.deepEqual(await statusesFrom('2001:db8:1::1'), [200, 200])
  assert.deepEqual(await statusesFrom('203.0.113.9'), [401, 401])
  await db.transaction((tx) =>
    restrictApiKey(tx, { id: key.keyId, owner: 'any' }, ['198.51.100.7/32']),
  )
  const refused = await from('192.0.2.9')
  assert.deepEqual(await statusesFrom('192.0.2.9'), [401, 401])
  const { valid: _, test: __, ...wrong } = await headersByState(['scores:read'])
  const absent = await ask(one.base, thing('a', undefined, Object.values(wrong)[0]))
  assert.deepEqual([refused[0]?.status, refused[0]?.body], [401, absent.body])
  assert.deepEqual(await statusesFrom('198.51.100.7'), [200, 200])
  await db.transaction((tx) => restrictApiKey(tx, { id: key.keyId, owner: 'any' }, null))
  const served = await from('203.0.113.9')
  assert.equal(await balanceOf(key), 2)
  const remaining = served.map(
    ({ headers }) => /"minute";r=(\d+)/.exec(String(headers['ratelimit']))?.[1],
  )
  // Eight calls were served. Of five that were refused, each server had begun the first one after the
  // change, as the key was valid at its last use.
  assert.deepEqual(new Set(remaining), new Set(['9990', '9991']))
})

test('a successor key has the address restriction of its predecessor', async () => {
  const { keyId } = await newKey(db, { allowedFrom: ['192.0.2.0/24'] })
  const rotated = await db.transaction((tx) =>
    rotateApiKey(tx, { id: keyId, owner: 'any', overlapHours: 24, now: new Date() }),
  )
  assert.ok('key' in rotated)
  const keys = await findKeys(db, rotated.accountId)
  assert.deepEqual(
    keys.map(({ allowedFrom }) => allowedFrom),
    [['192.0.2.0/24'], ['192.0.2.0/24']],
  )
})

test('rotation: both keys are valid during the overlap; without an overlap the old key ends at once', async () => {
  for (const overlapHours of [24, 0]) {
    const key = await newKey(db, { credits: 10 })
    const rotated = await db.transaction((tx) =>
      rotateApiKey(tx, { id: key.keyId, owner: 'any', overlapHours, now: new Date() }),
    )
    assert.ok('key' in rotated)
    const successor = { ...key, headers: { Authorization: `Bearer ${rotated.key}` } }
    const statuses = [key, successor].map(
      async (each) => (await ask(two.base, thing('a', each))).status,
    )
    assert.deepEqual(await Promise.all(statuses), [overlapHours > 0 ? 200 : 401, 200])
  }
})

test('an account has at most twenty active keys, even if keys are created concurrently', async () => {
  const { accountId } = await newKey(db)
  const made = await Promise.allSettled(Array.from({ length: 24 }, () => newKey(db, { accountId })))
  assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 19)
})

test('429: the 404s of a key are limited; other keys are not affected', async () => {
  const node = await startNode(url, { env: { KEY_NOT_FOUND_PER_MINUTE: '5' } })
  const [guesser, other] = [await newKey(db, { credits: 10 }), await newKey(db, { credits: 10 })]
  const replies: Reply[] = []
  for (let i = 0; i < 6; i++) replies.push(await ask(node.base, thing('absent', guesser)))
  const hit = await ask(node.base, thing('a', guesser))
  const fine = await ask(node.base, thing('a', other))
  await node.stop()
  assert.deepEqual(
    replies.map(({ status }) => status),
    [404, 404, 404, 404, 404, 429],
  )
  assert.equal(hit.status, 429)
  for (const refused of [replies[5], hit])
    assert.match(String(refused?.headers.ratelimit), /^"minute";r=0;/)
  assert.match(bodyOf(hit).message, /found nothing/)
  assert.match(String(hit.headers['retry-after']), /^([1-9]|[1-5]\d|60)$/)
  assert.equal(fine.status, 200)
})

test('429 replaces 401 after too many failed keys from an address; valid keys are still served from there', async () => {
  const node = await startNode(url, { env: { FAILED_KEYS_PER_MINUTE: '3' } })
  const key = await newKey(db, { credits: 10 })
  const from = { 'X-Forwarded-For': '203.0.113.77' }
  const wrong = { ...from, Authorization: 'Bearer nonsense' }
  const replies: Reply[] = []
  for (let i = 0; i < 5; i++) replies.push(await ask(node.base, thing('a', undefined, wrong)))
  const valid = await ask(node.base, thing('a', key, from))
  await node.stop()
  assert.deepEqual(
    replies.map(({ status, headers }) => `${status} ${String(headers.ratelimit).slice(0, 12)}`),
    [...Array(3).fill('401 undefined'), ...Array(2).fill('429 "minute";r=0')],
  )
  assert.equal(valid.status, 200)
})

test('400: a key in the URL is rejected with advice, valid or not, in every encoding', async () => {
  const { key } = await newKey(db, { credits: 1 })
  const encoded = Buffer.from(key).toString('hex').replaceAll(/../g, '%$&')
  for (const spelling of [key, key.replaceAll('_', '%5F'), encoded, encoded.toUpperCase()])
    for (const target of [`a?api_key=${spelling}`, spelling, `a?q=%zz&k=${spelling}`]) {
      const reply = await ask(one.base, thing(target))
      assert.equal(reply.status, 400)
      assert.equal(bodyOf(reply).error, 'api_key_in_url', target)
      assert.ok(!reply.body.includes(key))
    }
})

test('keyed routes check key, scope, limit, Idempotency-Key, media type, size and JSON in this order', async () => {
  const [able, unable] = [await newKey(db), await newKey(db, { scopes: ['scores:read'] })]
  const post = (headers: Record<string, string>, body = '{}'): Question => ({
    method: 'POST',
    path: '/things',
    headers: { 'Content-Type': 'text/plain', ...headers },
    body,
  })
  const named = { 'Idempotency-Key': 'a-key-of-sixteen-' }
  const json = { 'Content-Type': 'application/json' }
  const large = `{${' '.repeat(2_000)}`
  const order: [Question, number, string?][] = [
    [post({}, large), 401, 'missing_api_key'],
    [post(unable.headers, large), 403, 'insufficient_scope'],
    [post(able.headers, large), 400, 'invalid_idempotency_key'],
    [post({ ...able.headers, ...named }, large), 400, 'unsupported_media_type'],
    [post({ ...able.headers, ...named, ...json }, large), 400, 'payload_too_large'],
    [post({ ...able.headers, ...named, ...json }, '{'), 400, 'invalid_json'],
    [post({ ...able.headers, ...named, ...json }), 201],
  ]
  for (const [question, status, error] of order) {
    const reply = await ask(one.base, question)
    assert.equal(reply.status, status, error)
    const body = bodyOf(reply)
    if (error !== undefined) assert.equal(body.error, error)
    else assert.deepEqual(body.caller.accountId, able.accountId)
  }
  const unused = { method: 'DELETE', path: '/things/x', headers: able.headers }
  assert.equal((await ask(one.base, unused)).status, 200)
})

test('METERING=off: reads with a key are free; without a key they get 401', async () => {
  const node = await startNode(url, { env: { METERING: 'off' } })
  const key = await newKey(db)
  const free = await ask(node.base, thing('a', key))
  const keyless = await ask(node.base, thing('a'))
  await node.stop()
  assert.equal(free.status, 200)
  assert.equal(free.headers['service-credits-charged'], undefined)
  assert.equal(bodyOf(keyless).error, 'missing_api_key')
})

test('METERING=on without a payee: without a key 402 payment_required, also with a payment header, which is not read (decision D21)', async () => {
  const asked = [{}, { 'X-PAYMENT': '!' }, { 'PAYMENT-SIGNATURE': 'x'.repeat(9_000) }].map(
    (headers) => ask(one.base, { ...thing('a'), headers }),
  )
  for (const reply of await Promise.all(asked)) {
    assert.equal(reply.status, 402)
    const { error, message } = bodyOf(reply)
    assert.equal(error, 'payment_required')
    assert.match(String(message), /no key was sent/)
    assert.equal(reply.headers['payment-required'], undefined)
  }
})

test('each call of a key is counted once, also while the key is looked up; a 403 is not counted', async () => {
  const key = await newKey(db, { credits: 100, scopes: ['scores:read'] })
  const remaining: string[] = []
  for (let call = 0; call < 4; call++) {
    const { headers } = await ask(two.base, thing('a', key))
    remaining.push(/"minute";r=(\d+)/.exec(String(headers['ratelimit']))?.[1] ?? '')
    const refused = await ask(two.base, { ...thing('a', key), method: 'DELETE' })
    assert.equal(refused.status, 403)
    assert.equal(refused.headers['ratelimit'], undefined)
  }
  assert.deepEqual(remaining, ['9999', '9998', '9997', '9996'])
  const counted = await db.rows<{ calls: number }>(sql`
    select hit_totals[cardinality(hit_totals)] as calls from rate_windows
    where bucket = any(${[`getThing|${key.keyId}`, `deleteThing|${key.keyId}`].map(bucketId)}::uuid[])`)
  assert.deepEqual(counted, [{ calls: 4 }])
})

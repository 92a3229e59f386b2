/**
 * Several servers on one database: a change through one is visible in the next call to each, and
 * rate limits count across them.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { revokeDigests } from '../../src/credentials/revoke.ts'
import { vcSha256Of } from '../../src/credentials/trust.ts'
import { sql } from '../../src/platform/db/db.ts'
import { publicUrl } from '../support/build/credentials.ts'
import { inTime } from '../support/fault/in-time.ts'
import { beforeRival } from '../support/fault/rival.ts'
import { testDatabase } from '../support/start/database.ts'
import {
  type IssuedJson,
  issue,
  revoke,
  scoreLine,
  statusOf,
  verdictsByList,
  verify,
} from '../support/start/deployment.ts'
import {
  childrenOf,
  type Env,
  eventually,
  isAlive,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const database = await testDatabase()
after(() => database.drop())
const folder = temporaryFolder()
const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: publicUrl,
  TRUSTED_PROXIES: '127.0.0.1',
  NODES: '2',
}
await report(['keys', 'create'], env)
/** The test of SIGTERM ends `pair`. */
const [one, other, pair] = await Promise.all([
  startServer(env),
  startServer(env),
  startServer(env, ['--processes', '2']),
])
const nodes = [one, other]

let credentials: IssuedJson[] = []
before(async () => {
  await eventually('status lists are open', {
    see: async () =>
      (await database.db.rows({ text: 'select 1 from status_lists', name: 'lists', values: [] }))
        .length > 0,
  })
  credentials = await issue(
    env,
    folder,
    Array.from({ length: 11 }, () => scoreLine()),
  )
})

function nextCredential(): IssuedJson {
  const credential = credentials.pop()
  if (credential === undefined) throw new Error('issue more of them')
  return credential
}

/** Returns the answers of both nodes to their next calls. */
async function answersOf(credential: IssuedJson) {
  return Promise.all(
    nodes.map(async ({ base }) => {
      const [{ body: verdict }, { body: status }] = await Promise.all([
        verify(base, credential),
        statusOf(base, credential),
      ])
      return [verdict.valid, verdict.reason, status.status]
    }),
  )
}

const active = [true, undefined, 'active']
const revoked = [false, 'revoked', 'revoked']

async function assertListsFollow(credential: IssuedJson): Promise<void> {
  const verdicts = () => Promise.all(nodes.map(({ base }) => verdictsByList(base, [credential])))
  const what = 'both lists show it'
  await beforeRival(
    { what, withinMs: 2_000, rival: verdicts },
    eventually(what, {
      see: async () => (await verdicts()).flat().every(({ reason }) => reason === 'revoked'),
    }),
  )
}

test('every node shows a revocation by command in its next verify and status call, and in its signed list within 2 s', async () => {
  const credential = nextCredential()
  assert.deepEqual(await answersOf(credential), [active, active])
  assert.equal((await verdictsByList(one.base, [credential]))[0]?.valid, true)
  await revoke(env, [credential.id])
  assert.deepEqual(await answersOf(credential), [revoked, revoked])
  await assertListsFollow(credential)
})

test('the next answer of the other node never misses a revocation in the shared database', async () => {
  for (const credential of [nextCredential(), nextCredential(), nextCredential()]) {
    const { proof: _, ...payload } = credential
    assert.deepEqual(await answersOf(credential), [active, active])
    await database.db.transaction((tx) => revokeDigests(tx, [vcSha256Of(payload)], new Date()))
    assert.deepEqual(await answersOf(credential), [revoked, revoked])
    await assertListsFollow(credential)
  }
})

test('a second revocation through another node does not change the first', async () => {
  const credential = nextCredential()
  await revoke(env, [credential.id])
  const { body: before } = await verify(one.base, credential)
  const again = await report(['credentials', 'revoke', '--id', credential.id, '--yes'], env)
  assert.deepEqual([again.revoked, again.alreadyRevoked], [0, 1])
  const { body: after } = await verify(other.base, credential)
  assert.deepEqual(after.revocation, before.revocation)
})

/**
 * Sends one call for each caller address, all at once and alternating between the nodes. Returns
 * the number of granted calls, the requested waits and the duration, both in seconds.
 */
async function flood(credential: IssuedJson, callers: readonly string[]) {
  const began = performance.now()
  const answers = await Promise.all(
    callers.map((from, i) => verify((i % 2 === 0 ? one : other).base, credential, from)),
  )
  const granted = answers.filter(({ status }) => status === 200).length
  const denied = answers.filter(({ status }) => status === 429)
  assert.equal(granted + denied.length, callers.length)
  const waits = denied.map(({ headers }) => Number(headers['retry-after']))
  return { granted, waits, took: (performance.now() - began) / 1_000 }
}

function assertWaits({ waits, took }: { waits: number[]; took: number }, longest: number): void {
  for (const seconds of waits)
    assert.ok(seconds <= longest && seconds >= longest - 1 - took, `${seconds} s after ${took} s`)
}

const times = (count: number, caller: string) => Array.from({ length: count }, () => caller)

test('429: of 200 calls a minute from one address to two nodes exactly 60 are granted, at once or one by one', async () => {
  const credential = nextCredential()
  const all = await flood(credential, times(200, '192.0.2.1'))
  assert.equal(all.granted, 60)
  assertWaits(all, 60)

  let granted = 0
  for (let call = 0; call < 70; call++) granted += (await flood(credential, ['192.0.2.2'])).granted
  assert.equal(granted, 60)
})

test('429: the window rolls, Retry-After is exact to the second, and a denied call does not extend it', async () => {
  const credential = nextCredential()
  for (let seconds = 3; !(await windowRolls(credential, seconds)); seconds *= 2);
})

/**
 * Checks the rolling window. `seconds` is how long the first 45 of 59 calls stay in it. Returns
 * false if the machine took longer for the calls until then.
 */
async function windowRolls(credential: IssuedJson, seconds: number): Promise<boolean> {
  const caller = `192.0.2.${100 + seconds}`
  assert.equal((await flood(credential, times(45, caller))).granted, 45)
  const agedAt = performance.now()
  const aged = await database.db.run(sql`
    update rate_windows set hits = array_fill(
      clock_timestamp() - make_interval(secs => ${60 - seconds}), array[cardinality(hits)])
    where bucket =
      (select bucket from rate_windows order by hits[cardinality(hits)] desc nulls last limit 1)`)
  assert.equal(aged, 1)
  // 59 calls are one less than the limit, so no node caches a denial.
  assert.equal((await flood(credential, times(14, caller))).granted, 14)
  const { granted, waits } = await flood(credential, times(100, caller))
  if ((performance.now() - agedAt) / 1_000 > seconds - 1) return false
  assert.equal(granted, 1)
  for (const wait of waits) assert.ok(wait >= 1 && wait <= seconds, `${wait} s`)
  await pause(Math.max(...waits) * 1_000)
  assert.equal((await flood(credential, [caller])).granted, 1)
  assert.equal((await flood(credential, times(100, caller))).granted, 44)
  return true
}

test('429: all addresses of one IPv6 /64 share a limit, and neighbouring networks do not', async () => {
  const credential = nextCredential()
  const addresses = Array.from({ length: 90 }, (_, i) => `2001:db8:0:1::${(i * 719).toString(16)}`)
  assert.equal((await flood(credential, addresses)).granted, 60)
  assert.equal((await flood(credential, ['2001:db8:0:2::1', '2001:db8:0:3::1'])).granted, 2)
})

test('--processes 2: both children answer, a killed child is replaced, and limits count across the children', async () => {
  const credential = nextCredential()
  const children = await childrenOf(pair.pid)
  const [first = 0] = children
  assert.equal(children.length, 2)

  process.kill(first, 'SIGSTOP')
  let answered = 0
  const asked = times(4, '').map(async () => {
    const { body } = await verify(pair.base, credential)
    answered++
    return body.valid
  })
  await eventually('the other one answers', { see: async () => answered === 3 })
  process.kill(first, 'SIGCONT')
  assert.deepEqual(await Promise.all(asked), [true, true, true, true])

  process.kill(first, 'SIGKILL')
  await eventually('its end is known', {
    see: async () => !(await childrenOf(pair.pid)).includes(first),
  })
  assert.equal((await verify(pair.base, credential)).body.valid, true, 'by the one that is left')
  await eventually('another takes its place', {
    see: async () => {
      const now = await childrenOf(pair.pid)
      return now.length === 2 && !now.includes(first)
    },
  })

  const answers = await Promise.all(
    times(80, '192.0.2.4').map((from) => verify(pair.base, credential, from)),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 60)
})

test('SIGTERM: every child answers the requests in progress before the service ends', async () => {
  const credential = nextCredential()
  const children = await childrenOf(pair.pid)
  const uploads = await Promise.all([beginUpload(pair, credential), beginUpload(pair, credential)])
  pair.signal('SIGTERM')
  await eventually('nobody listens', { see: () => refusesConnections(pair.port) })
  assert.equal(pair.hasEnded(), false)
  assert.deepEqual(await Promise.all(uploads.map((finish) => finish())), [200, 200])
  assert.equal(await inTime('the service ends', pair.ended), 0, pair.err())
  for (const pid of children) assert.ok(!isAlive(pid), `${pid} lives`)
})

test('SIGKILL of the parent: requests in progress are answered, and no child stays', async () => {
  const credential = nextCredential()
  const server = await startServer(env, ['--processes', '2'])
  const children = await childrenOf(server.pid)
  assert.equal(children.length, 2)
  const finish = await beginUpload(server, credential)
  server.signal('SIGKILL')
  await eventually('nobody listens', { see: () => refusesConnections(server.port) })
  assert.equal(await finish(), 200)
  await eventually('no child lives', { see: async () => !children.some(isAlive) })
  assert.equal(await server.ended, 'SIGKILL')
})

/**
 * Sends the head and the first bytes of the body. The returned function sends the rest and returns
 * the status of the answer.
 */
async function beginUpload({ base }: ServerProcess, credential: IssuedJson) {
  const body = JSON.stringify(credential)
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const upload = request(`${base}/api/v1/score-vc/verify`, {
    method: 'POST',
    headers,
    agent: false,
  })
  const answered = once(upload, 'response')
  upload.setHeader('Expect', '100-continue')
  const goesOn = once(upload, 'continue')
  upload.flushHeaders()
  await inTime('100 Continue', goesOn)
  upload.write(body.slice(0, 100))
  return async (): Promise<number> => {
    upload.end(body.slice(100))
    const [response] = await inTime('an answer to what was begun before the end', answered)
    response.resume()
    return response.statusCode
  }
}

function refusesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(false))
    socket.once('error', () => resolve(true))
    socket.once('connect', () => socket.destroy())
  })
}

test('a revoked API key is refused by the next request to either server', async () => {
  await report(['accounts', 'create', 'Reader'], env)
  await report(['credits', 'grant', 'Reader', '10', '--reason', 'test'], env)
  const create = ['api-keys', 'create', 'Reader', '--scope', 'candidates:read']
  const { id, key } = await report(create, env)
  const statuses = () =>
    Promise.all(
      nodes.map(async ({ base }) => {
        const headers = { Authorization: `Bearer ${String(key)}` }
        const answer = await fetch(`${base}/api/v1/candidates/search?q=sql`, { headers })
        return answer.status
      }),
    )
  assert.deepEqual(await statuses(), [200, 200])
  await report(['api-keys', 'revoke', String(id), '--yes'], env)
  assert.deepEqual(await statuses(), [401, 401])
})

/**
 * The service, its jobs process or PostgreSQL is killed at any time. Everything acknowledged is
 * stored, and requests that need no database are answered.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { statusListPath } from '../../src/credentials/schema.ts'
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { publicUrl } from '../support/build/credentials.ts'
import {
  base64Json,
  payloadV1,
  signAuthorization,
  testTerms,
  testWallet,
} from '../support/build/payments.ts'
import { beforeRival } from '../support/fault/rival.ts'
import { signalAll } from '../support/fault/signal-all.ts'
import { ask } from '../support/start/ask.ts'
import { onServer } from '../support/start/database.ts'
import {
  credentialsIn,
  get,
  type IssuedJson,
  issue,
  pathOf,
  revoke,
  scoreLine,
  statusOf,
  type Timed,
  timed,
  verdictsByList,
  verify,
} from '../support/start/deployment.ts'
import {
  type Env,
  eventually,
  freezePostgres,
  isAlive,
  killPostgres,
  postgresPid,
  report,
  type ServerProcess,
  spawnAssay,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const folder = temporaryFolder()
/** A PostgreSQL that this test starts, kills and freezes. */
const postgres = { dataDir: folder, durable: false, log: () => {} }
const { url } = await startEmbeddedPostgres(postgres)
const env: Env = {
  DATABASE_URL: url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: publicUrl,
  TRUSTED_PROXIES: '127.0.0.1',
}
/** The deadlines of an operator's server. Payment challenges occasionally cost a write. */
const serverEnv = {
  ...env,
  TIMEOUT_MULTIPLIER: '1',
  X402_FACILITATOR: 'none',
  X402_PAY_TO: testTerms.payTo,
  X402_SECRETS: 'a secret of thirty-two characters',
}
await report(['migrate'], env)
await report(['keys', 'create'], env)
const key = await makeKey()
const payment = base64Json(payloadV1(await signAuthorization(testWallet(), testTerms), testTerms))

async function makeKey(): Promise<string> {
  await report(['accounts', 'create', 'Reader'], env)
  await report(['credits', 'grant', 'Reader', '100', '--reason', 'test'], env)
  return String((await report(['api-keys', 'create', 'Reader', '--scope', 'scores:read'], env)).key)
}

/**
 * Operations that a command has confirmed. `unsaid` has those that a command started and did not
 * confirm: they may have happened.
 */
const acknowledged = { issued: new Map<string, IssuedJson>(), revoked: new Set<string>() }
const unsaid = new Set<string>()

function note(credentials: readonly IssuedJson[]): void {
  for (const credential of credentials) acknowledged.issued.set(credential.id, credential)
}

async function issueNoted(count: number): Promise<IssuedJson[]> {
  const credentials = await issue(
    env,
    folder,
    Array.from({ length: count }, () => scoreLine()),
  )
  note(credentials)
  return credentials
}

async function issueOne(): Promise<IssuedJson> {
  const [credential] = await issueNoted(1)
  if (credential === undefined) throw new Error('a score gives a credential')
  return credential
}

async function revokeNoted(credentials: readonly IssuedJson[]): Promise<void> {
  const ids = credentials.map(({ id }) => id)
  for (const id of ids) unsaid.add(id)
  await revoke(env, ids)
  for (const id of ids) {
    unsaid.delete(id)
    acknowledged.revoked.add(id)
  }
}

/**
 * Returns verdict, reason and status. Asks again while a busy server answers that it cannot tell.
 */
async function answersOf(base: string, credential: IssuedJson): Promise<unknown[]> {
  const { value } = await eventually('both can be told', {
    see: async () => {
      const { body: verdict } = await verify(base, credential)
      const { status, body } = await statusOf(base, credential)
      const isVisible = verdict.revocation?.checked && status === 200
      return isVisible ? [verdict.valid, verdict.reason, body.status] : null
    },
  })
  return value ?? []
}

/** Asserts that everything acknowledged is visible by verification, status and list. */
async function assertNothingIsLost({ base }: ServerProcess): Promise<void> {
  const credentials = [...acknowledged.issued.values()]
  const isRevoked = ({ id }: IssuedJson): boolean => acknowledged.revoked.has(id)
  for (let i = 0; i < credentials.length; i += 32)
    await Promise.all(
      credentials.slice(i, i + 32).map(async (credential) => {
        const found = await answersOf(base, credential)
        const said = unsaid.has(credential.id) ? !found[0] : isRevoked(credential)
        assert.deepEqual(found, said ? revokedEverywhere : validEverywhere)
      }),
    )
  await eventually('every revocation is in its list', {
    see: async () => {
      const verdicts = await verdictsByList(base, credentials.filter(isRevoked))
      return verdicts.every(({ reason }) => reason === 'revoked')
    },
  })
}

const validEverywhere = [true, undefined, 'active']
const revokedEverywhere = [false, 'revoked', 'revoked']

const spare = await issueNoted(100)

function* scoresWithoutEnd(): Generator<string> {
  for (;;) yield `${JSON.stringify(scoreLine())}\n`
}

/**
 * Kills while three commands issue and revoke, once the first command has written `lines` lines.
 * The commands may fail; everything they confirmed must stay.
 */
async function killUnderLoad(name: string, lines: number, kill: () => unknown): Promise<void> {
  const out = join(folder, `load-${name}.out.ndjson`)
  const args = ['credentials', 'issue', '--from', '-', '--out', out]
  const issuing = spawnAssay(args, env, { input: scoresWithoutEnd() })
  issuing.stdout.resume()
  issuing.stderr.resume()
  const revoking = Promise.allSettled([
    revokeNoted(spare.splice(0, 10)),
    revokeNoted(spare.splice(0, 10)),
  ])
  await eventually(`${lines} are issued`, {
    see: async () => existsSync(out) && credentialsIn(out).length >= lines,
  })
  await kill()
  issuing.kill('SIGKILL')
  await eventually('the issuing command is gone', {
    see: async () => !isAlive(issuing.pid ?? 0),
  })
  await revoking
  note(credentialsIn(out))
}

async function startReady(): Promise<ServerProcess> {
  const server = await startServer(serverEnv)
  await readiness(server, 200)
  return server
}

function readiness({ base }: ServerProcess, expected: number) {
  return eventually(`/readyz answers ${expected}`, {
    see: async () => (await get(base, '/readyz')).status === expected,
  })
}

async function stop(server: ServerProcess): Promise<void> {
  server.signal('SIGTERM')
  assert.equal(await server.ended, 0, server.err())
}

test('SIGKILL of the server and its jobs process under load: everything acknowledged is there after the next start', async () => {
  for (const [i, lines] of [1, 300].entries()) {
    const server = await startReady()
    await killUnderLoad(`server-${i}`, lines, async () => {
      server.signal('SIGKILL')
      await server.ended
    })
  }
  const server = await startReady()
  await assertNothingIsLost(server)
  await stop(server)
})

const publicPaths = [
  '/.well-known/did.json',
  '/.well-known/service-engine.json',
  '/.well-known/service-openapi.json',
  '/.well-known/service-score-core-release-manifest.json',
  '/.well-known/service-score-vc-public-key.json',
  '/api/v1/openapi.json',
  '/api/v1/score-vc/verify',
  '/standard/v1/context.jsonld',
  '/standard/v1/score-bands.jsonld',
  '/standard/v1/skills',
  '/standard/v1/skills/typescript',
  '/healthz',
]

/**
 * Asserts the promised answers while the database is unreachable, each within about a second
 * (decisions D13 and D29).
 */
async function assertDegraded(
  { base }: ServerProcess,
  credential: IssuedJson,
  withinMs = 1_000,
): Promise<void> {
  const inTime = <Body>(answer: Promise<Timed<Body>>): Promise<Timed<Body>> => {
    const rival = () => get(base, '/healthz')
    return beforeRival({ what: 'an answer', withinMs, rival }, answer)
  }
  const unavailable = ({ status, headers }: Timed<unknown>): void => {
    assert.equal(status, 503)
    assert.ok(Number(headers['retry-after']) >= 1, headers['retry-after'])
  }
  const list = pathOf(credential.credentialStatus.statusListCredential)
  for (const path of [...publicPaths, list])
    assert.equal((await inTime(get(base, path))).status, 200, path)

  const asking = Array.from({ length: 8 }, () => inTime(verify(base, credential)))
  for (const { status, body } of await Promise.all(asking)) {
    const { valid, reason, signatureValid, revocation } = body
    assert.deepEqual([status, valid, reason], [200, false, 'status_unavailable'])
    assert.deepEqual([signatureValid, revocation.checked], [true, false])
  }
  unavailable(await inTime(statusOf(base, credential)))
  unavailable(await inTime(get(base, `${statusListPath}${'a'.repeat(10)}`)))

  const path = `/api/v1/scores/${'a'.repeat(64)}`
  for (const headers of [
    {},
    { 'X-PAYMENT': payment },
    { Authorization: `Bearer ${key}` },
    { Authorization: `Bearer ${key}`, 'Idempotency-Key': 'purchase-0000001' },
  ])
    unavailable(await inTime(timed(ask(base, { path, headers }))))
}

/**
 * Asserts that the service is back within the promised three seconds. The rival makes ten
 * sequential connections of its own after three seconds.
 */
function assertServiceReturns({ base }: ServerProcess, credential: IssuedJson) {
  const rival = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await onServer(url, 'select 1')
  }
  return beforeRival(
    { what: 'verify is as before', withinMs: 3_000, rival },
    eventually('verify is as before', {
      see: async () => (await verify(base, credential)).body.valid,
    }),
  )
}

test('PostgreSQL killed under load: requests without database are answered, and the service is back three seconds after PostgreSQL', async () => {
  const server = await startReady()
  const credential = await issueOne()
  for (const [i, lines] of [1, 400].entries()) {
    await killUnderLoad(`postgres-${i}`, lines, () => killPostgres(folder))
    await assertDegraded(server, credential)
    if (i === 1) await readiness(server, 503)
    await assertDegraded(server, credential)
    await startEmbeddedPostgres(postgres)
    await assertServiceReturns(server, credential)
    await readiness(server, 200)
  }
  await assertNothingIsLost(server)
  await stop(server)
})

test('PostgreSQL frozen: requests without database are answered, and the service is back when PostgreSQL continues', async () => {
  const server = await startReady()
  const credential = await issueOne()
  const pids = await freezePostgres(folder)
  try {
    await assertDegraded(server, credential, 1_250)
    await readiness(server, 503)
    await assertDegraded(server, credential, 1_250)
  } finally {
    signalAll(pids, 'SIGCONT')
  }
  await assertServiceReturns(server, credential)
  await readiness(server, 200)
  await stop(server)
})

test('503: while PostgreSQL starts or stops, /readyz says so', async () => {
  const server = await startReady()
  const client = new Client({ connectionString: url })
  await client.connect()
  const postmaster = postgresPid(folder) ?? 0
  // PostgreSQL waits for the session of the client, and refuses new ones with 57P03.
  process.kill(postmaster, 'SIGTERM')
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'assay%'",
  )
  const expected = 'PostgreSQL is starting or stopping (SQLSTATE 57P03)'
  await eventually('/readyz names the state', {
    see: async () => (await checksOf(server)).database === expected,
  })
  await client.end()
  await eventually('PostgreSQL is gone', { see: async () => !isAlive(postmaster) })
  await startEmbeddedPostgres(postgres)
  await readiness(server, 200)
  await stop(server)
})

async function checksOf({ base }: ServerProcess) {
  return (await get<{ checks: Record<string, string> }>(base, '/readyz')).body.checks
}

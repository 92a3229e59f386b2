/** `assay serve` with its own PostgreSQL: who starts it, who adopts it, who stops it, whatever dies or is told to end, and when. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { before, test } from 'node:test'
import { publicUrl } from '../support/credentials.ts'
import {
  get,
  type IssuedJson,
  issue,
  revoke,
  scoreLine,
  statusOf,
  verify,
} from '../support/deployment.ts'
import {
  type Env,
  eventually,
  isAlive,
  postgresPid,
  report,
  type ServerProcess,
  spawnServer,
  startServer,
  temporaryFolder,
} from '../support/processes.ts'

const folder = temporaryFolder()
const env: Env = {
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: publicUrl,
  TRUSTED_PROXIES: '127.0.0.1',
}

let kept: IssuedJson
let revoked: IssuedJson

before(async () => {
  // Every command starts the database, and is the last to leave it.
  await report(['keys', 'create'], env)
  assert.equal(postgresPid(folder), null)
})

function runningPostgres(): number {
  const pid = postgresPid(folder)
  assert.ok(pid !== null, 'PostgreSQL runs')
  return pid
}

async function assertAllThere({ base }: ServerProcess): Promise<void> {
  assert.equal((await verify(base, kept)).body.valid, true)
  assert.equal((await verify(base, revoked)).body.reason, 'revoked')
  assert.equal((await statusOf(base, revoked)).body.revoked, true)
}

/** Ends the server in good order: it leaves neither itself nor its database behind. */
async function assertEnds(server: Pick<ServerProcess, 'ended' | 'err'>, postgres: number) {
  assert.equal(await server.ended, 0, server.err())
  assert.ok(!isAlive(postgres), 'PostgreSQL was stopped')
  assert.equal(postgresPid(folder), null)
}

test('commands share the database of a running server, and leave it running', async () => {
  const server = await startServer(env)
  const postgres = runningPostgres()
  await eventually('ready', {
    withinMs: 5_000,
    see: async () => (await get(server.base, '/readyz')).status === 200,
  })
  ;[kept, revoked] = (await issue(env, folder, [scoreLine(), scoreLine()])) as [
    IssuedJson,
    IssuedJson,
  ]
  await revoke(env, [revoked.id])
  await assertAllThere(server)
  assert.equal(runningPostgres(), postgres)
  server.signal('SIGINT')
  await assertEnds(server, postgres)
  assert.doesNotMatch(server.out(), /"level":"(warn|error)"/)
})

test('SIGKILL of the database: the server starts it again by itself, and nothing is lost', async () => {
  const server = await startServer(env)
  for (let kills = 0; kills < 2; kills++) {
    const killed = runningPostgres()
    process.kill(killed, 'SIGKILL')
    // The backends of a killed server answer on for a moment: only another server counts.
    await eventually('another server runs, and verify is as before', {
      withinMs: 10_000,
      see: async () =>
        ![null, killed].includes(postgresPid(folder)) &&
        (await verify(server.base, kept)).body.valid,
    })
    await assertAllThere(server)
  }
  const postgres = runningPostgres()
  server.signal('SIGTERM')
  await assertEnds(server, postgres)
})

test('SIGKILL of the server: its database goes on, the next start adopts it and stops it at its own end', async () => {
  const killed = await startServer(env)
  const postgres = runningPostgres()
  killed.signal('SIGKILL')
  assert.equal(await killed.ended, 'SIGKILL')
  const next = await startServer(env)
  assert.equal(runningPostgres(), postgres)
  await assertAllThere(next)
  next.signal('SIGINT')
  await assertEnds(next, postgres)
})

test('SIGKILL of both at once: the next start recovers', async () => {
  const killed = await startServer(env)
  process.kill(runningPostgres(), 'SIGKILL')
  killed.signal('SIGKILL')
  await killed.ended
  const next = await startServer(env)
  await assertAllThere(next)
  const postgres = runningPostgres()
  next.signal('SIGINT')
  await assertEnds(next, postgres)
})

test('SIGINT, twice, while the database starts: the start is awaited and undone', async () => {
  const server = spawnServer(env)
  const { value: postgres } = await eventually('PostgreSQL starts', {
    withinMs: 20_000,
    see: async () => postgresPid(folder),
  })
  server.signal('SIGINT')
  server.signal('SIGINT')
  await assertEnds(server, postgres ?? 0)
  assert.doesNotMatch(server.out(), /listening/)
})

test('SIGINT again, a second later: requests are not waited for, and the database is stopped all the same', async () => {
  const server = await startServer(env)
  const postgres = runningPostgres()
  const upload = request(`${server.base}/api/v1/score-vc/verify`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Content-Length': 100, Expect: '100-continue' },
  })
  const cut = new Promise((resolve) => upload.once('error', resolve))
  await new Promise((resolve) => upload.once('continue', resolve).flushHeaders())
  const askedAt = performance.now()
  await eventually('it counts as a second wish', {
    withinMs: 5_000,
    see: async () => {
      if (!server.hasEnded()) server.signal('SIGINT')
      return server.hasEnded() || performance.now() - askedAt > 1_050
    },
  })
  assert.equal(await server.ended, 130, server.err())
  await cut
  assert.ok(!isAlive(postgres), 'PostgreSQL was stopped')
})

test('--processes 2: SIGINT to the whole group, as a terminal sends it, leaves no process behind', async () => {
  const server = await startServer(env, ['--processes', '2'])
  const postgres = runningPostgres()
  await assertAllThere(server)
  process.kill(-server.pid, 'SIGINT')
  await assertEnds(server, postgres)
  assert.throws(() => process.kill(-server.pid, 0), { code: 'ESRCH' }, 'the group is empty')
})

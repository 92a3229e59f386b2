/**
 * `assay serve` with its embedded PostgreSQL: which process starts, adopts and stops the database,
 * after every kind of crash and signal.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  constants,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { answersSignals } from '../../src/platform/process-mark.ts'
import { publicUrl } from '../support/build/credentials.ts'
import {
  get,
  type IssuedJson,
  issue,
  revoke,
  scoreLine,
  statusOf,
  verify,
} from '../support/start/deployment.ts'
import {
  childrenOf,
  type Env,
  eventually,
  isAlive,
  postgresPid,
  report,
  type ServerProcess,
  spawnServer,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const folder = temporaryFolder()
const env: Env = {
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: publicUrl,
  TRUSTED_PROXIES: '127.0.0.1',
}

let kept: IssuedJson
let revoked: IssuedJson

before(async () => {
  // Each command starts the database and stops it, because no other process uses it.
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

/** Asserts an orderly end: neither the server nor its database is left running. */
async function assertEnds(server: Pick<ServerProcess, 'ended' | 'err'>, postgres: number) {
  assert.equal(await server.ended, 0, server.err())
  assert.ok(!isAlive(postgres), 'PostgreSQL was stopped')
  assert.equal(postgresPid(folder), null)
}

test('commands share the database of a running server and leave it running', async () => {
  const server = await startServer(env)
  const postgres = runningPostgres()
  await eventually('ready', {
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

test('SIGKILL of the database: the server restarts it, and nothing is lost', async () => {
  const server = await startServer(env)
  for (let kills = 0; kills < 2; kills++) {
    const killed = runningPostgres()
    process.kill(killed, 'SIGKILL')
    // Backends of the killed database still answer for a moment, so wait for another postmaster.
    await eventually('another server runs, and verify is as before', {
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

test('SIGKILL of the server: its database continues; the next server adopts it and stops it at its end', async () => {
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

test('SIGKILL of server and database at once: the next start recovers', async () => {
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

test('two SIGINTs while the database starts: the server waits for the start and then stops the database', async () => {
  const held = holdPostgresStart()
  const server = spawnServer(env)
  await held.reached()
  const [postgres = 0] = await childrenOf(server.pid)
  server.signal('SIGINT')
  server.signal('SIGINT')
  held.release()
  await assertEnds(server, postgres)
  assert.doesNotMatch(server.out(), /listening/)
})

/**
 * Holds the start of PostgreSQL: its settings include a named pipe, which it reads to the end
 * before anything else. `release` closes the pipe.
 */
function holdPostgresStart() {
  const settings = join(folder, 'postgres/postgresql.conf')
  const pipe = join(folder, 'postgres/held.conf')
  const before = readFileSync(settings)
  execFileSync('mkfifo', ['-m', '666', pipe])
  appendFileSync(settings, "\ninclude 'held.conf'\n")
  let end: number | undefined
  return {
    async reached(): Promise<void> {
      await eventually('PostgreSQL reads its settings', {
        see: async () => {
          end = openUnlessUnread(pipe)
          return end !== undefined
        },
      })
      writeFileSync(settings, before)
    },
    release(): void {
      if (end !== undefined) closeSync(end)
      rmSync(pipe)
    },
  }
}

function openUnlessUnread(pipe: string): number | undefined {
  try {
    return openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENXIO') return undefined
    throw error
  }
}

test('a second SIGINT after a second: the server does not wait for requests, and still stops the database', async () => {
  const server = await startServer(env)
  const postgres = runningPostgres()
  const upload = request(`${server.base}/api/v1/score-vc/verify`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Content-Length': 100, Expect: '100-continue' },
  })
  let isCut = false
  upload.once('error', () => {
    isCut = true
  })
  await new Promise((resolve) => upload.once('continue', resolve).flushHeaders())
  await eventually('it counts as a second wish', {
    see: async () => {
      // Handle pending errors first. A SIGINT after the second one would not wait for the database.
      await new Promise(setImmediate)
      if (!isCut) server.signal('SIGINT')
      return isCut
    },
  })
  assert.equal(await server.ended, 130, server.err())
  assert.ok(!isAlive(postgres), 'PostgreSQL was stopped')
})

test('--processes 2: SIGINT to the whole process group, as from a terminal, leaves no process behind', async () => {
  const server = await startServer(env, ['--processes', '2'])
  const postgres = runningPostgres()
  await assertAllThere(server)
  process.kill(-server.pid, 'SIGINT')
  await assertEnds(server, postgres)
  await eventually('the group is empty', { see: async () => !answersSignals(-server.pid) })
})

/**
 * A real PostgreSQL beside us, for whoever sets no DATABASE_URL: made on first use, shared by all our processes on one data
 * directory (server, worker, command line), stopped by the last of them.
 *
 * Cast, all below `dataDir`: `postgres/` the cluster, owned by the user who runs it, with the socket in it; `postgres.log` its log;
 * `postgres.lock/` marks of processes that want to start or stop it, one at a time; `postgres.users/` marks of those that use it.
 * After a crash of ours the server goes on; the next process adopts it, sees only dead marks, and stops it when it leaves.
 * After a crash of the server the next start recovers. Nothing here ever deletes a cluster.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import {
  alone,
  leaveMark,
  otherMarks,
  processStart,
  removeMark,
} from '../../platform/process-mark.ts'
import {
  clusterReady,
  type Place,
  runningServer,
  type ServerProcess,
  spawnServer,
  superuser,
} from './cluster.ts'

export interface EmbeddedPostgres {
  /** For `openDb` and for every libpq program: `postgresql://assay@localhost/assay?host=<socket folder>`. */
  url: string
  /** False where a running server was adopted. */
  startedHere: boolean
  /** Says that this process needs the server no more. The last one to say so shuts it down (fast) and waits for its end. */
  stop(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  /** Made when missing, for its owner alone (0700; as root its group, the server's, may pass through). */
  dataDir: string
  /** False: no fsync, for tests only. */
  durable: boolean
  /** Progress, a line each. */
  log(line: string): void
}

/** Making a cluster, or replaying the write-ahead log after a crash, is over by then, or something is wrong. */
const readyWithinMs = 180_000
/** A fast shutdown writes a checkpoint; after this long the rest is left to crash recovery. */
const stopWithinMs = 30_000
const ourDatabase = 'assay'

/**
 * Starts the server on `dataDir`, or adopts the one that runs there, and returns when it answers. A process that is told to end
 * meanwhile waits for the answer and calls `stop`: the server does not end with its parent.
 * Throws with a sentence for the operator where the platform, the version or the folder's access forbids it.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir)
  // Folders above ours are made as anybody would make them: as root, the server's user must get through.
  mkdirSync(dirname(dataDir), { recursive: true })
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const place: Place = {
    dataDir,
    cluster: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
    log: (line) => options.log(line),
  }
  const lock = join(dataDir, 'postgres.lock')
  return alone(lock, 2 * readyWithinMs, async () => {
    const adopted = await adopt(place)
    const socketDir = adopted ?? (await start(place, options.durable))
    const use = leaveMark(join(dataDir, 'postgres.users'))
    return {
      url: urlOf(socketDir, ourDatabase),
      startedHere: adopted === null,
      stop: () =>
        alone(lock, 2 * readyWithinMs, async () => {
          removeMark(use)
          if (otherMarks(use).length === 0) await stop(place)
        }),
    }
  })
}

/** The socket's folder of the server that runs here, once it answers; null where none does, or it ends meanwhile. */
async function adopt(place: Place): Promise<string | null> {
  const giveUpAt = performance.now() + readyWithinMs
  let server = runningServer(place.cluster)
  while (server?.socketDir === '' && performance.now() < giveUpAt) {
    await wait(5)
    server = runningServer(place.cluster)
  }
  if (server === null) return null
  try {
    await untilItAnswers(place, server.socketDir, () => hasEnded(place))
    return server.socketDir
  } catch (error) {
    if (hasEnded(place) === null) throw error
    return null
  }
}

/** Starts the server and returns its socket's folder. Called under the lock, with no server running. */
async function start(place: Place, durable: boolean): Promise<string> {
  const ready = await clusterReady(place, durable)
  const giveUpAt = performance.now() + readyWithinMs
  for (;;) {
    const server = spawnServer(place, ready)
    try {
      await untilItAnswers(place, server.socketDir, () => server.ended())
      return server.socketDir
    } catch (error) {
      if (!isTooEarly(place, server) || performance.now() > giveUpAt) throw error
      await wait(50)
    }
  }
}

/** The backends of a server that was killed need a moment to notice; until then the next one refuses to start. */
function isTooEarly(place: Place, server: ServerProcess): boolean {
  const said = readFileSync(place.logFile).subarray(server.logFrom).toString('utf8')
  return server.ended() !== null && said.includes('pre-existing shared memory block')
}

/** Waits until the server lets us in; makes our database where a first start was cut off before it. */
async function untilItAnswers(
  place: Place,
  socketDir: string,
  ended: () => string | null,
): Promise<void> {
  const giveUpAt = performance.now() + readyWithinMs
  while (performance.now() < giveUpAt) {
    const found = await tryDatabase(socketDir)
    if (found === 'there') return
    if (found === 'missing') await makeDatabase(socketDir)
    const end = ended()
    if (end !== null) throw new Error(`PostgreSQL did not start: ${end}. ${tailOf(place.logFile)}`)
    if (found === 'silent') await wait(5)
  }
  throw new Error(`PostgreSQL does not answer in ${socketDir}. ${tailOf(place.logFile)}`)
}

/** `silent` also while the server says that it is starting up. */
async function tryDatabase(socketDir: string): Promise<'there' | 'missing' | 'silent'> {
  const client = new Client({
    connectionString: urlOf(socketDir, ourDatabase),
    connectionTimeoutMillis: 2_000,
  })
  // A connection that is cut while it is being made reports twice.
  client.on('error', () => {})
  try {
    await client.connect()
    return 'there'
  } catch (error) {
    const invalidCatalogName = '3D000'
    const isMissing = error instanceof DatabaseError && error.code === invalidCatalogName
    return isMissing ? 'missing' : 'silent'
  } finally {
    await client.end().catch(() => {})
  }
}

async function makeDatabase(socketDir: string): Promise<void> {
  const client = new Client({ connectionString: urlOf(socketDir, 'postgres') })
  await client.connect()
  try {
    await client.query(`create database ${ourDatabase}`)
  } finally {
    await client.end()
  }
}

function urlOf(socketDir: string, database: string): string {
  return `postgresql://${superuser}@localhost/${database}?host=${encodeURIComponent(socketDir)}`
}

/** Fast shutdown: sessions are ended, a checkpoint is written, nothing needs recovery. Called under the lock. */
async function stop(place: Place): Promise<void> {
  const server = runningServer(place.cluster)
  if (server === null) return
  process.kill(server.pid, 'SIGINT')
  if (await endsInTime(server.pid)) return
  place.log('PostgreSQL does not end: stopping it at once; the next start recovers')
  process.kill(server.pid, 'SIGQUIT')
  if (!(await endsInTime(server.pid))) throw new Error(`PostgreSQL (${server.pid}) does not end.`)
}

/** Its lock file goes a moment before the process does. */
async function endsInTime(pid: number): Promise<boolean> {
  const start = processStart(pid)
  const giveUpAt = performance.now() + stopWithinMs
  while (performance.now() < giveUpAt) {
    const now = processStart(pid)
    if (now === null || now !== start) return true
    await wait(5)
  }
  return false
}

function hasEnded({ cluster }: Place): string | null {
  return runningServer(cluster) === null ? 'it ended' : null
}

function tailOf(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').trim().split('\n')
  return `The end of ${logFile}:\n${lines.slice(-12).join('\n')}`
}

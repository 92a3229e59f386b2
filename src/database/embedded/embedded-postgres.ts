/**
 * A real PostgreSQL beside our processes, for operators without a DATABASE_URL. The first use
 * creates it. All our processes on one data directory (server, jobs process, command line) share
 * it, and the last one stops it.
 *
 * Files below `dataDir`:
 *
 * - `postgres/`: the cluster, owned by the user that runs it, with the socket in it.
 * - `postgres.log`: its log.
 * - `postgres.lock/`: marks of processes that want to start or stop it, one at a time.
 * - `postgres.users/`: marks of processes that use it.
 *
 * Crash: if our process dies, the server goes on. The next process adopts it, finds only marks of
 * dead processes, and stops it when it leaves. If the server dies, the next start recovers. Nothing
 * here ever deletes a cluster.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import { deadlineMs } from '../../platform/deadlines.ts'
import {
  alone,
  leaveMark,
  otherMarks,
  processStart,
  removeMark,
} from '../../platform/process-mark.ts'
import {
  type ClusterFiles,
  clusterReady,
  removeSocketFolder,
  runningServer,
  type ServerProcess,
  spawnServer,
  superuser,
} from './cluster.ts'

export interface EmbeddedPostgres {
  /**
   * For `openDb` and every libpq program: `postgresql://assay@localhost/assay?host=<socket
   * folder>`.
   */
  url: string
  /** False if a running server was adopted. */
  isStarter: boolean
  /**
   * Declares that this process no longer needs the server. The last process shuts it down (fast)
   * and waits for its end.
   */
  stop(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  /**
   * Created if it is missing, for its owner only (0700). If the owner is root, the server's group
   * may enter it.
   */
  dataDir: string
  /** False turns fsync off, for tests only. */
  durable: boolean
  /** Receives progress, one line a call. */
  log(line: string): void
}

const ourDatabase = 'assay'

/**
 * Starts the server on `dataDir`, or adopts the running one, and returns when it accepts
 * connections. The server does not end with its parent, so a process that is told to end meanwhile
 * must wait for the result and call `stop`. Throws an error for the operator if the platform, the
 * version or the access to the folder forbids a start.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir)
  // Folders above get the default mode: if we are root, the server's user must be able to enter
  // them.
  mkdirSync(dirname(dataDir), { recursive: true })
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const files: ClusterFiles = {
    dataDir,
    cluster: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
    log: (line) => options.log(line),
  }
  const lock = join(dataDir, 'postgres.lock')
  return alone(lock, 2 * deadlineMs('embeddedStart'), async () => {
    const adopted = await adopt(files)
    const socketDir = adopted ?? (await start(files, options.durable))
    const use = leaveMark(join(dataDir, 'postgres.users'))
    return {
      url: urlOf(socketDir, ourDatabase),
      isStarter: adopted === null,
      stop: () =>
        alone(lock, 2 * deadlineMs('embeddedStart'), async () => {
          removeMark(use)
          if (otherMarks(use).length === 0) await stop(files)
        }),
    }
  })
}

/**
 * Returns the socket folder of the running server once it accepts connections. Returns null if no
 * server runs, or if it ends meanwhile.
 */
async function adopt(files: ClusterFiles): Promise<string | null> {
  const giveUpAt = performance.now() + deadlineMs('embeddedStart')
  let server = runningServer(files.cluster)
  while (server?.socketDir === '' && performance.now() < giveUpAt) {
    await wait(5)
    server = runningServer(files.cluster)
  }
  if (server === null) return null
  try {
    await untilItAnswers(files, server.socketDir, () => hasEnded(files))
    return server.socketDir
  } catch (error) {
    if (hasEnded(files) === null) throw error
    return null
  }
}

/**
 * Starts the server and returns its socket folder. The caller holds the lock, and no server runs.
 */
async function start(files: ClusterFiles, durable: boolean): Promise<string> {
  const ready = await clusterReady(files, durable)
  const giveUpAt = performance.now() + deadlineMs('embeddedStart')
  for (;;) {
    const server = spawnServer(files, ready)
    try {
      await untilItAnswers(files, server.socketDir, () => server.ended())
      return server.socketDir
    } catch (error) {
      if (!isTooEarly(files, server) || performance.now() > giveUpAt) throw error
      await wait(50)
    }
  }
}

/**
 * The backends of a killed server need a moment to notice. Until then a new server refuses to
 * start.
 */
function isTooEarly(files: ClusterFiles, server: ServerProcess): boolean {
  const said = readFileSync(files.logFile).subarray(server.logFrom).toString('utf8')
  return server.ended() !== null && said.includes('pre-existing shared memory block')
}

/**
 * Waits until the server accepts connections. Creates our database if an earlier first start was
 * interrupted before that.
 */
async function untilItAnswers(
  files: ClusterFiles,
  socketDir: string,
  ended: () => string | null,
): Promise<void> {
  const giveUpAt = performance.now() + deadlineMs('embeddedStart')
  while (performance.now() < giveUpAt) {
    const found = await tryDatabase(socketDir)
    if (found === 'there') return
    if (found === 'missing') await makeDatabase(socketDir)
    const end = ended()
    if (end !== null) throw new Error(`PostgreSQL did not start: ${end}. ${tailOf(files.logFile)}`)
    if (found === 'silent') await wait(5)
  }
  throw new Error(`PostgreSQL does not answer in ${socketDir}. ${tailOf(files.logFile)}`)
}

/** `silent` includes a server that reports it is starting up. */
async function tryDatabase(socketDir: string): Promise<'there' | 'missing' | 'silent'> {
  const client = new Client({
    connectionString: urlOf(socketDir, ourDatabase),
    connectionTimeoutMillis: 2_000,
  })
  // A connection that breaks while it is being made also emits `error`; the rejection of `connect`
  // is enough.
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

/**
 * Shuts the server down (fast): sessions end, a checkpoint is written, and no recovery is needed.
 * The caller holds the lock.
 */
async function stop(files: ClusterFiles): Promise<void> {
  const server = runningServer(files.cluster)
  if (server === null) return
  process.kill(server.pid, 'SIGINT')
  if (!(await endsInTime(server.pid))) {
    files.log('PostgreSQL does not end: stopping it at once; the next start recovers')
    process.kill(server.pid, 'SIGQUIT')
    if (!(await endsInTime(server.pid))) throw new Error(`PostgreSQL (${server.pid}) does not end.`)
  }
  removeSocketFolder(server.socketDir)
}

/** Watches the process, because its lock file disappears a moment earlier. */
async function endsInTime(pid: number): Promise<boolean> {
  const start = processStart(pid)
  const giveUpAt = performance.now() + deadlineMs('embeddedStop')
  while (performance.now() < giveUpAt) {
    const now = processStart(pid)
    if (now === null || now !== start) return true
    await wait(5)
  }
  return false
}

function hasEnded({ cluster }: ClusterFiles): string | null {
  return runningServer(cluster) === null ? 'it ended' : null
}

function tailOf(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').trim().split('\n')
  return `The end of ${logFile}:\n${lines.slice(-12).join('\n')}`
}

/**
 * Finds, creates and starts the cluster on disk and its server process. `embedded-postgres.ts`
 * decides when.
 */
import { execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { answersSignals, processStart } from '../../platform/process-mark.ts'
import {
  canEnter,
  firstClosedFolder,
  type PostgresBinaries,
  postgresBinaries,
  postgresUser,
  type RunAs,
} from './binaries.ts'

/** `sun_path` holds 107 bytes on Linux and 103 on macOS. */
const socketPathBytesMax = 100
const socketFile = '.s.PGSQL.5432'
const logBytesMax = 16 * 1024 * 1024
/** The cluster's superuser. It can connect only through the socket. */
export const superuser = 'assay'

export interface ClusterFiles {
  dataDir: string
  cluster: string
  logFile: string
  log(line: string): void
}

export interface RunningServer {
  pid: number
  /** Empty until the server listens. */
  socketDir: string
}

/**
 * Returns the server that `postmaster.pid` names, if that process lives and is PostgreSQL on this
 * cluster.
 */
export function runningServer(cluster: string): RunningServer | null {
  const lines = linesOf(join(cluster, 'postmaster.pid'))
  const pid = Number(lines[0])
  const socketDir = lines[4] ?? ''
  if (!Number.isInteger(pid) || pid < 2 || processStart(pid) === null) return null
  if (!worksIn(pid, cluster)) return null
  return { pid, socketDir }
}

/**
 * PostgreSQL's working directory is its cluster. If the system does not reveal it, a living process
 * counts as the server.
 */
function worksIn(pid: number, cluster: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cluster)
  } catch {
    return true
  }
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
}

/** Everything needed to start the server on an existing cluster. */
export interface ClusterReady {
  binaries: PostgresBinaries
  runAs: RunAs | null
  socketDir: string
  args: string[]
}

/**
 * Creates the cluster if it is missing. Decides the user, the programs and the settings of the
 * server.
 */
export async function clusterReady(files: ClusterFiles, durable: boolean): Promise<ClusterReady> {
  const runAs = clusterUser(files.cluster)
  if (runAs !== null) letPass(files.dataDir, runAs)
  const binaries = postgresBinaries(files.dataDir, runAs)
  if (existsSync(files.cluster)) checkVersion(files.cluster, binaries)
  else await makeCluster(files, { binaries, runAs, durable })
  const socketDir = socketFolder(files.cluster, runAs)
  const settings = [...serverSettings, ...(durable ? [] : settingsWithoutFsync)]
  settings.push(`unix_socket_directories=${socketDir}`)
  return { binaries, runAs, socketDir, args: settings.flatMap((setting) => ['-c', setting]) }
}

export interface ServerProcess {
  socketDir: string
  /** Byte offset in the log file at which this server's lines begin. */
  logFrom: number
  /** Returns how the server ended, or null while it lives. */
  ended(): string | null
}

/**
 * Starts the server in a session of its own, so that Ctrl-C in the terminal does not end it before
 * the requests are drained.
 */
export function spawnServer(files: ClusterFiles, ready: ClusterReady): ServerProcess {
  disownReusedPid(files.cluster, ready.socketDir)
  const logFrom = boundLog(files.logFile)
  const log = openSync(files.logFile, 'a', 0o600)
  const program = join(ready.binaries.root, 'bin/postgres')
  const server = spawn(program, ['-D', files.cluster, ...ready.args], {
    ...spawnOptions(files, ready),
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  server.unref()
  let end: string | null = null
  server.once('error', (error) => {
    end = error.message
  })
  server.once('exit', (code, signal) => {
    end = signal === null ? `exit code ${code}` : `ended by ${signal}`
  })
  return { socketDir: ready.socketDir, logFrom, ended: () => end }
}

/** Renames a log that has grown large. Returns the length of the current one in bytes. */
function boundLog(logFile: string): number {
  const bytes = existsSync(logFile) ? statSync(logFile).size : 0
  if (bytes < logBytesMax) return bytes
  renameSync(logFile, `${logFile}.1`)
  return 0
}

const serverSettings = [
  'listen_addresses=',
  'unix_socket_permissions=0700',
  'shared_buffers=128MB',
  // An import of a million workers fills the default of 1 GB in seconds. After each checkpoint
  // PostgreSQL logs every changed page whole again.
  'max_wal_size=4GB',
  'max_connections=100',
  'timezone=UTC',
  'log_timezone=UTC',
  'jit=off',
  'log_checkpoints=off',
  // Statements and error details quote values: personal data stays out of the log.
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
]

/** Commits survive a crash of the server process, but not a crash of the machine. */
const settingsWithoutFsync = ['fsync=off', 'full_page_writes=off']

/**
 * If the process is root, returns the owner of an existing cluster, because PostgreSQL refuses any
 * other user. For a new cluster, returns the machine's user.
 */
function clusterUser(cluster: string): RunAs | null {
  const user = postgresUser()
  if (user === null || !existsSync(cluster)) return user
  const { uid, gid } = statSync(cluster)
  return uid === 0 ? user : { uid, gid, name: uid === user.uid ? user.name : `with id ${uid}` }
}

/**
 * Lets the server's user pass through the data directory without reading it. Folders above belong
 * to the operator and stay as they are.
 */
function letPass(dataDir: string, runAs: RunAs): void {
  if (!canEnter(dataDir, runAs)) {
    chownSync(dataDir, 0, runAs.gid)
    chmodSync(dataDir, (statSync(dataDir).mode & 0o777) | 0o010)
  }
  const closed = firstClosedFolder(dataDir, runAs)
  if (closed === null) return
  throw new Error(
    `PostgreSQL cannot run as root, and the user ${runAs.name} may not enter ${closed}. ` +
      `Set ASSAY_DATA_DIR to a folder outside it, for example /var/lib/assay, or set DATABASE_URL.`,
  )
}

function checkVersion(cluster: string, { root, version }: PostgresBinaries): void {
  const found = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  const ours = version.split('.')[0]
  if (found === ours) return
  throw new Error(
    `${cluster} was written by PostgreSQL ${found}, and this release runs PostgreSQL ${ours}. Nothing was changed. ` +
      `To move: start PostgreSQL ${found} on it and write a dump (pg_dump), rename the folder, start this release once ` +
      `(its programs are in ${root}/bin), and read the dump into its empty database (psql).`,
  )
}

type HowToRun = Pick<ClusterReady, 'binaries' | 'runAs'>

/**
 * Creates the cluster under a temporary name and renames it, so an interrupted creation is never
 * taken for a cluster. The name holds the process id, because the `initdb` of a killed process may
 * still be writing.
 */
async function makeCluster(
  files: ClusterFiles,
  how: HowToRun & { durable: boolean },
): Promise<void> {
  files.log(`creating the database in ${files.cluster} …`)
  for (const name of readdirSync(files.dataDir)) {
    if (name.startsWith('postgres.new'))
      rmSync(join(files.dataDir, name), { recursive: true, force: true })
  }
  const unfinished = `${files.cluster}.new-${process.pid}`
  mkdirSync(unfinished, { mode: 0o700 })
  if (how.runAs !== null) chownSync(unfinished, how.runAs.uid, how.runAs.gid)
  const args = [`--pgdata=${unfinished}`, `--username=${superuser}`, '--auth=trust']
  args.push('--encoding=UTF8', '--locale=C', '--locale-provider=builtin')
  args.push('--builtin-locale=C.UTF-8', '--no-instructions', ...(how.durable ? [] : ['--no-sync']))
  const initdb = join(how.binaries.root, 'bin/initdb')
  await promisify(execFile)(initdb, args, spawnOptions(files, how)).catch((error: unknown) => {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    throw new Error(`PostgreSQL could not create ${files.cluster}. ${said}`, { cause: error })
  })
  renameSync(unfinished, files.cluster)
}

function spawnOptions(files: ClusterFiles, { binaries, runAs }: HowToRun) {
  return {
    cwd: files.dataDir,
    // Nothing of our environment: PGDATA, PGPORT and the like are meant for other servers, secrets
    // for us.
    env: {
      LD_LIBRARY_PATH: join(binaries.root, 'lib'),
      LC_ALL: 'C',
      TZ: 'UTC',
      PATH: '/usr/bin:/bin',
    },
    ...(runAs === null ? {} : { uid: runAs.uid, gid: runAs.gid }),
  }
}

/**
 * The id in a stale lock file may be in use: after a reboot by another process, after a kill by the
 * server's own remains until they are buried. PostgreSQL then refuses to start. It ignores a lock
 * held by its own parent, which we are; the rest of the file stays, so it still looks for living
 * backends.
 */
function disownReusedPid(cluster: string, socketDir: string): void {
  for (const file of [join(cluster, 'postmaster.pid'), join(socketDir, `${socketFile}.lock`)]) {
    const [pid, ...rest] = linesOf(file)
    if (pid === undefined || !answersSignals(Number(pid))) continue
    writeFileSync(file, [String(process.pid), ...rest].join('\n'))
  }
}

/**
 * Returns the folder of the socket: the cluster itself, which only its user may enter. If the path
 * is too long for a socket, returns a short folder elsewhere.
 */
function socketFolder(cluster: string, runAs: RunAs | null): string {
  if (fits(cluster)) return cluster
  const name = `assay-${sha256Hex(cluster).slice(0, 16)}`
  const folder = [tmpdir(), '/tmp'].map((base) => join(base, name)).find(fits)
  if (folder === undefined) throw new Error(`${cluster}: the path is too long for a socket.`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { uid: ourUid = process.getuid?.() ?? 0 } = runAs ?? {}
  const found = lstatSync(folder)
  if (!found.isDirectory() || ![ourUid, process.getuid?.()].includes(found.uid))
    throw new Error(`${folder} belongs to another user: remove it.`)
  chmodSync(folder, 0o700)
  if (runAs !== null) chownSync(folder, runAs.uid, runAs.gid)
  return folder
}

/**
 * Removes the folder of an ended server's socket. If the cluster is that folder, it stays, because
 * only an empty folder is removed.
 */
export function removeSocketFolder(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // The next start uses it again.
  }
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, socketFile)) <= socketPathBytesMax && !folder.includes(',')
}

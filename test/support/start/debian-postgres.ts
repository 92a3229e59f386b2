/**
 * PostgreSQL and PgBouncer from Debian's packages with default settings, for tests of a database
 * that an operator provides. The tests run without the packages: `missingPostgres` and
 * `missingPgBouncer` hold the reason to skip a test, or false.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  closeSync,
  existsSync,
  globSync,
  mkdirSync,
  openSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { postgresUser } from '../../../src/database/embedded/binaries.ts'
import { childrenOf, eventually, freePort } from './processes.ts'

const versions = globSync('/usr/lib/postgresql/*/bin/postgres')
  .map((path) => Number(path.split('/')[4]))
  .filter((version) => version >= 15)
const version = Math.max(...versions)
/** The folder of PostgreSQL's programs. */
export const postgresBin = `/usr/lib/postgresql/${version}/bin`
const pgBouncer = '/usr/sbin/pgbouncer'

export const missingPostgres =
  versions.length === 0 &&
  'no PostgreSQL 15 or newer in /usr/lib/postgresql: install the package postgresql'
export const missingPgBouncer =
  missingPostgres || (!existsSync(pgBouncer) && 'no pgbouncer: install the package pgbouncer')

export interface OwnPostgres {
  socketFolder: string
  port: number
  /** URL of the database `postgres`, with the superuser. */
  url: string
}

/**
 * Starts a server in `folder`, a folder of `temporaryFolder`; the server is stopped when the folder
 * is removed. Only the address is configured. The collation is a language's, as on most servers and
 * unlike the embedded server.
 */
export async function startOwnPostgres(folder: string): Promise<OwnPostgres> {
  const place = join(folder, 'own')
  const data = join(place, 'postgres')
  ownedFolder(place)
  const locale = ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US']
  const cluster = ['-D', data, '-U', 'assay', '--auth=trust', '--no-sync', '--encoding=UTF8']
  execFileSync(join(postgresBin, 'initdb'), [...cluster, ...locale], {
    ...runAs(),
    cwd: place,
    stdio: 'pipe',
  })
  const port = await freePort()
  const log = openSync(join(place, 'log'), 'a')
  const listening = ['-p', String(port), '-k', place, '-h', '']
  spawn(join(postgresBin, 'postgres'), ['-D', data, ...listening], {
    ...runAs(),
    cwd: place,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const url = socketUrl('postgres', { socketFolder: place, port })
  await untilItAnswers('PostgreSQL', url)
  return { socketFolder: place, port, url }
}

export interface Pooler {
  /** Returns the URL of the database `name` through PgBouncer in this mode. */
  url(name: string, mode: 'session' | 'transaction'): string
  stop(): Promise<void>
}

/** Starts PgBouncer in front of a server. Stop it with `after(() => pooler.stop())`. */
export async function startPgBouncer(
  folder: string,
  server: OwnPostgres,
  databases: readonly string[],
): Promise<Pooler> {
  const place = join(folder, 'pooler')
  ownedFolder(place)
  const port = await freePort()
  const behind = `host=${server.socketFolder} port=${server.port} user=assay`
  const rows = databases.flatMap((name) =>
    (['session', 'transaction'] as const).map(
      (mode) => `${name}_${mode} = ${behind} dbname=${name} pool_mode=${mode}`,
    ),
  )
  const settings = ['listen_addr =', `unix_socket_dir = ${place}`, `listen_port = ${port}`]
  const file = join(place, 'pgbouncer.ini')
  const text = ['[databases]', ...rows, '[pgbouncer]', ...settings, 'auth_type = any', '']
  writeFileSync(file, text.join('\n'))
  const { stop } = startGuarded(place, [pgBouncer, '-q', file])
  const url = (name: string, mode: string) =>
    socketUrl(`${name}_${mode}`, { socketFolder: place, port })
  await untilItAnswers('PgBouncer', url(databases[0] as string, 'session'))
  return { url, stop }
}

export interface Guarded {
  /** Ends it with SIGTERM or SIGKILL, and waits for its end. */
  stop(): Promise<void>
  kill(): Promise<void>
  /** The id of its first process. */
  pid(): Promise<number>
}

/**
 * Starts a program that needs no root in a folder of `ownedFolder`, with the file `log` there for
 * its output. `on` is the machine that it runs on.
 */
export function startGuarded(
  place: string,
  command: readonly string[],
  on?: { enter: readonly string[] },
): Guarded {
  const log = openSync(join(place, 'log'), 'a')
  // The shell stops the program when its own input ends, so the program never outlives a test run,
  // not even a killed one.
  const guard = '"$@" & pid=$!; read -r signal; kill -"${signal:-TERM}" $pid; wait $pid'
  const child = spawn('/bin/sh', ['-c', guard, 'sh', ...(on?.enter ?? []), ...command], {
    // Only root may enter another machine. `enter` takes that right away.
    ...(on === undefined && runAs()),
    cwd: place,
    env: { PATH: process.env.PATH, HOME: place },
    stdio: ['pipe', log, log],
  })
  closeSync(log)
  const ended = once(child, 'exit')
  const end = async (signal: string) => {
    child.stdin?.end(signal)
    await ended
  }
  const pid = async () => {
    const first = () => childrenOf(child.pid ?? 0)
    const { value } = await eventually(`${command[0]} starts`, {
      see: async () => (await first())[0],
    })
    return value as number
  }
  return { stop: () => end(''), kill: () => end('KILL'), pid }
}

/** Returns an unprivileged user if the tests run as root, because neither program runs as root. */
export function runAs(): { uid?: number; gid?: number } {
  const { uid, gid } = postgresUser() ?? {}
  return uid === undefined || gid === undefined ? {} : { uid, gid }
}

/** Creates a folder of the user of `runAs`. */
export function ownedFolder(path: string): void {
  mkdirSync(path)
  const { uid, gid } = runAs()
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

function socketUrl(name: string, at: Pick<OwnPostgres, 'socketFolder' | 'port'>): string {
  return `postgresql://assay@localhost:${at.port}/${name}?host=${encodeURIComponent(at.socketFolder)}`
}

async function untilItAnswers(what: string, url: string): Promise<void> {
  await eventually(`${what} answers`, {
    see: async () => {
      const client = new Client({ connectionString: url })
      client.on('error', () => {})
      return client.connect().then(
        () => client.end().then(() => true),
        () => false,
      )
    },
  })
}

/**
 * Starts and stops real processes as an operator does (`assay serve`, other commands, PostgreSQL),
 * and waits for their effects.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, Readable, type Writable } from 'node:stream'
import { after } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import flags from '../../../scripts/runtime/node-flags.json' with { type: 'json' }
import { runningServer } from '../../../src/database/embedded/cluster.ts'
import { processStart } from '../../../src/platform/process-mark.ts'
import { testWaitMs } from '../fault/in-time.ts'
import { signalAll } from '../fault/signal-all.ts'
import { runInProcess } from './in-process.ts'
import { program } from './program.ts'
import { timeoutMultiplier } from './timeout-multiplier.ts'

export type Env = Record<string, string>

/**
 * The path of programs and Node's compile cache. Without the cache each child compiles the sources
 * again.
 */
export const programs: Env = {
  PATH: process.env.PATH ?? '',
  ...(process.env.NODE_COMPILE_CACHE === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
}

/**
 * Environment of children: the paths of programs, the temporary folder and fixed settings. The rest
 * of our environment is not passed on.
 */
const common: Env = {
  ...programs,
  HOME: process.env.HOME ?? '',
  TMPDIR: tmpdir(),
  HOST: '127.0.0.1',
  PORT: '0',
  METRICS_PORT: 'off',
  LOG_LEVEL: 'info',
  DRAIN_DELAY_SECONDS: '0',
  TIMEOUT_MULTIPLIER: String(timeoutMultiplier),
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** If a test file throws at its top level, no `after` hook runs. */
const running = new Set<Child>()
process.once('exit', () => running.forEach(killGroup))

/**
 * Returns the flags with which scripts/runtime/run.mjs runs the command. Only the collection of
 * garbage before a server listens is left out: it takes a sixth of the processor time of a start.
 */
function launchFlags([command]: readonly string[]): string[] {
  const serve = flags.serve.filter((flag) => flag !== '--expose-gc')
  return [...flags.every, ...(command === 'serve' ? serve : flags.flatMemory)]
}

/**
 * Starts a command in a new process group, which is killed after the test. `file` is the command
 * file of another release. `input` is standard input; the child reads it at its own speed.
 */
export function spawnAssay(
  args: readonly string[],
  env: Env,
  { file = program, input = [] }: { file?: string | undefined; input?: Iterable<string> } = {},
): Child {
  const child = spawn(process.execPath, [...launchFlags(args), file, ...args], {
    env: { ...common, ...env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // A process may end before it has read all input. Its output and exit code show the reason.
  pipeline(Readable.from(input), child.stdin, () => {})
  running.add(child)
  after(() => killGroup(child))
  return child
}

function killGroup(child: Child): void {
  running.delete(child)
  const { pid } = child
  if (pid !== undefined) signalAll([-pid], 'SIGKILL')
}

function textOf(stream: Readable): () => string {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}

export interface Ran {
  /** The exit code, or the signal that ended the process. */
  ended: number | NodeJS.Signals
  out: string
  err: string
  ms: number
}

/**
 * Runs a command until it ends: in this process, or in one of its own if it is a server, if it uses
 * the embedded PostgreSQL, which knows its users by their process, or if `file` is the command file
 * of another release.
 */
export async function assay(args: readonly string[], env: Env, file?: string): Promise<Ran> {
  const startedAt = performance.now()
  const isServer = args[0] === 'serve' || args[0] === 'jobs'
  if (!isServer && env.DATABASE_URL !== undefined && file === undefined) {
    const { code, out, err } = await runInProcess({ args, env: { ...common, ...env } })
    return { ended: code, out, err, ms: performance.now() - startedAt }
  }
  const child = spawnAssay(args, env, { file })
  const [out, err] = [textOf(child.stdout), textOf(child.stderr)]
  const ended = await endOf(child)
  return { ended, out: out(), err: err(), ms: performance.now() - startedAt }
}

/** Runs a command that must succeed, and returns its report. */
export async function report(
  args: readonly string[],
  env: Env,
  file?: string,
): Promise<Record<string, unknown> & { ok: boolean }> {
  const { ended, out, err } = await assay([...args, '--json'], env, file)
  if (ended !== 0) throw new Error(`assay ${args.join(' ')} ended with ${ended}: ${out}${err}`)
  return JSON.parse(out)
}

async function endOf(child: Child): Promise<number | NodeJS.Signals> {
  const [code, signal] = await once(child, 'close')
  return signal ?? code
}

export interface ServerProcess {
  pid: number
  port: number
  /** `http://127.0.0.1:PORT`. */
  base: string
  /** Milliseconds from the start until the server listened. */
  startMs: number
  out(): string
  err(): string
  /** Signals only this process, not its children. */
  signal(name: NodeJS.Signals): void
  hasEnded(): boolean
  /**
   * The exit code or signal. Resolves once the output is closed, so every child that shares the
   * output has ended too.
   */
  ended: Promise<number | NodeJS.Signals>
}

/** Starts `assay serve` and resolves once it listens. Throws with the output if it ends before. */
export async function startServer(
  env: Env,
  args: readonly string[] = [],
  file?: string,
): Promise<ServerProcess> {
  const startedAt = performance.now()
  const server = spawnServer(env, args, file)
  const { value: port } = await eventually(`listens: assay serve ${args.join(' ')}`, {
    see: async () => {
      if (server.hasEnded()) throw new Error(`assay serve ended: ${server.out()}${server.err()}`)
      return Number(/^.*"port":(\d+).*"msg":"listening"/m.exec(server.out())?.[1])
    },
  })
  const startMs = performance.now() - startedAt
  return { ...server, port, base: `http://127.0.0.1:${port}`, startMs }
}

/** Starts `assay serve` without waiting. */
export function spawnServer(
  env: Env,
  args: readonly string[] = [],
  file?: string,
): Omit<ServerProcess, 'port' | 'base' | 'startMs'> {
  const child = spawnAssay(['serve', ...args], env, { file })
  const { pid } = child
  if (pid === undefined) throw new Error('node could not be started')
  return {
    pid,
    out: textOf(child.stdout),
    err: textOf(child.stderr),
    signal: (name) => void process.kill(pid, name),
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    ended: endOf(child),
  }
}

/**
 * Polls until `see` returns a truthy value, and returns the value and the time. Throws with the
 * last value after `withinMs`. A long wait is polled less often: a look can take as much processor
 * time as what it waits for.
 */
export async function eventually<Value>(
  what: string,
  { withinMs = testWaitMs, see }: { withinMs?: number; see: () => Promise<Value> },
): Promise<{ value: Value; ms: number }> {
  const startedAt = performance.now()
  for (;;) {
    const value = await see()
    const ms = performance.now() - startedAt
    if (value) return { value, ms }
    if (ms > withinMs) throw new Error(`not within ${withinMs} ms: ${what}; last: ${String(value)}`)
    await pause(10 + Math.min(ms / 10, 190))
  }
}

/**
 * Returns a port that is free now, for programs that must know their port before they start. The
 * port is below the range from which the system assigns ports, so no other connection takes it in
 * the meantime.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_240, firstGivenPort())
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.close()
    if (isFree) return port
  }
}

function firstGivenPort(): number {
  try {
    const range = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
    const first = Number.parseInt(range, 10)
    return first > 11_000 ? first : 32_768
  } catch {
    return 32_768
  }
}

/**
 * Creates a folder that the PostgreSQL user can read even if the tests run as root. It is removed
 * after the test; a PostgreSQL that still runs in it is killed.
 */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'assay-flow-'))
  chmodSync(path, 0o755)
  after(() => {
    for (const name of ['.', ...readdirSync(path)]) {
      const server = runningServer(join(path, name, 'postgres'))
      if (server !== null) signalAll([server.pid], 'SIGKILL')
    }
    // Children of the dead server may still write for a moment.
    rmSync(path, { recursive: true, force: true, maxRetries: 20 })
  })
  return path
}

/** Returns the process id of the embedded PostgreSQL of a data directory, or null. */
export function postgresPid(dataDir: string): number | null {
  return runningServer(join(dataDir, 'postgres'))?.pid ?? null
}

/**
 * Stops (SIGSTOP) every process of the embedded PostgreSQL of a data directory and returns their
 * ids. The postmaster is stopped first, so that it starts no other process.
 */
export async function freezePostgres(dataDir: string): Promise<number[]> {
  const postmaster = postgresPid(dataDir)
  if (postmaster === null) throw new Error('PostgreSQL does not run')
  process.kill(postmaster, 'SIGSTOP')
  const children = await childrenOf(postmaster)
  signalAll(children, 'SIGSTOP')
  return [postmaster, ...children]
}

/** Kills the postmaster and every process that it started. */
export async function killPostgres(dataDir: string): Promise<void> {
  const pids = await freezePostgres(dataDir)
  signalAll(pids, 'SIGKILL')
  await eventually('PostgreSQL is gone', { see: async () => !pids.some(isAlive) })
}

export function isAlive(pid: number): boolean {
  return processStart(pid) !== null
}

/** Returns the living children of a process. */
export async function childrenOf(parent: number): Promise<number[]> {
  const rows = existsSync('/proc/self/stat') ? rowsOfProc() : await rowsOfPs()
  return rows.flatMap(([pid = 0, ppid]) => (ppid === parent && isAlive(pid) ? [pid] : []))
}

function rowsOfProc(): number[][] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      return [[Number(pid), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])]]
    } catch {
      return []
    }
  })
}

async function rowsOfPs(): Promise<number[][]> {
  const ps = spawn('ps', ['-A', '-o', 'pid=,ppid='], { stdio: ['ignore', 'pipe', 'ignore'] })
  const out = textOf(ps.stdout)
  await once(ps, 'close')
  return out()
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
}

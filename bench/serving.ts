/** Serving processes for benchmarks, load on them, and their processor time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import flags from '../scripts/runtime/node-flags.json' with { type: 'json' }
import { runningServer } from '../src/database/embedded/cluster.ts'
import { program } from '../test/support/start/program.ts'
import type { FixedAnswer } from './bare-server.ts'
import { endWithBench, forkBench } from './children.ts'
import type { LoadOrder, LoadReport } from './load.ts'

export const publicUrl = 'https://scores.example.org'

export interface Target {
  port: number
  /** Ids of the processes that count as the server. */
  pids: readonly number[]
}

export interface Service extends Target {
  parent: number
  stop(): Promise<void>
}

/** Returns the processor seconds of these processes so far; Linux only. */
export function cpuSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + secondsOf(pid, 11), 0)
}

/** Returns the processor seconds of a process's ended children. */
function endedChildrenSeconds(pid: number): number {
  return secondsOf(pid, 13)
}

/**
 * Returns the processor seconds of the embedded database in `dataDir`, with its present and ended
 * connections.
 */
export function databaseSeconds(dataDir: string): number {
  const postmaster = runningServer(join(dataDir, 'postgres'))?.pid
  if (postmaster === undefined) throw new Error('PostgreSQL does not run')
  const task = `/proc/${postmaster}/task/${postmaster}/children`
  const children = readFileSync(task, 'utf8').trim().split(' ').map(Number)
  return cpuSeconds([postmaster, ...children]) + endedChildrenSeconds(postmaster)
}

/** Adds user and system time: two fields of the line in /proc, beginning at `first`. */
function secondsOf(pid: number, first: number): number {
  const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[first]) + Number(fields[first + 1])) / 100
}

export async function load(order: LoadOrder): Promise<LoadReport> {
  const child = forkBench('load.ts', order)
  const [report] = (await onceMessage(child)) as [LoadReport]
  if (report.unexpected > 0)
    throw new Error(
      `${report.unexpected} unexpected answers, the first:\n${report.firstUnexpected}`,
    )
  return report
}

export function onceMessage(child: ChildProcess): Promise<[unknown]> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void =>
      reject(new Error(`a child ended with code ${code}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve([message])
    })
  })
}

export interface Question {
  method: string
  path: string
  body?: string
  headers?: Record<string, string>
}

export function fetchAnswer(
  port: number,
  { method, path, body, headers = {} }: Question,
): Promise<{ head: IncomingMessage; body: Buffer }> {
  return new Promise<{ head: IncomingMessage; body: Buffer }>((resolve, reject) => {
    const json = { 'Content-Type': 'application/json', 'X-Forwarded-For': '10.255.255.1' }
    const sentHeaders = body === undefined ? headers : { ...json, ...headers }
    const sent = httpRequest(
      { port, host: '127.0.0.1', method, path, headers: sentHeaders },
      (head) => {
        const chunks: Buffer[] = []
        head.on('data', (chunk: Buffer) => chunks.push(chunk))
        head.on('end', () => resolve({ head, body: Buffer.concat(chunks) }))
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Starts a bare server with the given answer. */
export async function bareServer(answer: { head: IncomingMessage; body: Buffer }) {
  const dropped = new Set(['date', 'connection', 'keep-alive'])
  const headers: string[] = []
  for (let i = 0; i < answer.head.rawHeaders.length; i += 2) {
    const name = answer.head.rawHeaders[i] as string
    if (!dropped.has(name.toLowerCase()))
      headers.push(name, answer.head.rawHeaders[i + 1] as string)
  }
  const fixed: FixedAnswer = {
    status: answer.head.statusCode ?? 0,
    headers,
    body: answer.body.toString('base64'),
  }
  const child = forkBench('bare-server.ts', fixed)
  const [{ port }] = (await onceMessage(child)) as [{ port: number }]
  return { port, pids: [child.pid as number], stop: () => child.disconnect() }
}

export function requestsFile(file: string, requests: readonly string[]): string {
  const parts = requests.flatMap((request) => {
    const bytes = Buffer.from(request)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    return [length, bytes]
  })
  writeFileSync(file, Buffer.concat(parts))
  return file
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Starts `assay serve` with these settings and the required ones, on a free port unless given. */
export async function startService(
  settings: Record<string, string>,
  options: readonly string[] = [],
): Promise<Service> {
  const port = settings.PORT === undefined ? await freePort() : Number(settings.PORT)
  const env = {
    ...process.env,
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    CONNECTIONS_PER_ADDRESS_MAX: '1000',
    DRAIN_DELAY_SECONDS: '0',
    METRICS_PORT: 'off',
    ...settings,
  }
  const command = [...flags.every, ...flags.serve, program, 'serve', ...options]
  const child = endWithBench(
    spawn(process.execPath, command, { env, stdio: ['ignore', 'ignore', 'inherit'] }),
  )
  for (let tries = 0; ; tries++) {
    const answer = await fetchAnswer(port, { method: 'GET', path: '/readyz' }).catch(() => null)
    if (answer?.head.statusCode === 200) break
    if (tries > 200 || child.exitCode !== null) throw new Error('the service does not start')
    await pause(50)
  }
  const parent = child.pid as number
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim()
  return {
    port,
    pids: children === '' ? [parent] : children.split(' ').map(Number),
    parent,
    stop: () =>
      new Promise<void>((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

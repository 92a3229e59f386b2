/**
 * Several serving processes on one port. The parent forks the children, replaces a child that dies,
 * gathers their metrics, and orders them to drain. A child whose parent has ended drains by itself.
 * Killing a child damages no data.
 */
import cluster, { type Worker } from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import { AggregatorRegistry } from 'prom-client'
import { deadlineMs } from '../platform/deadlines.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'

/** The server: this process or its children. */
export interface Serving {
  port: number
  metrics: Pick<Metrics, 'text' | 'contentType'>
  /** Resolves when every request under way is answered and nothing listens any more. */
  drain(delayMs: number): Promise<void>
  /** Kills the processes that have not drained. */
  kill(): void
}

/** A message from the parent to a child. */
type Order = { order: 'drain'; delayMs: number } | { order: 'metrics'; question: number }
/** A message from a child to the parent. */
type Report = { listening: number } | { failed: string } | { question: number; metrics: object[] }

const restartPauseMs = 1_000

/** Forks `count` children and waits until all listen. Throws the error of the first that fails. */
export async function forkServing(
  count: number,
  databaseUrl: string,
  { log, metrics }: { log: Log; metrics: Pick<Metrics, 'json'> },
): Promise<Serving> {
  const children = new Set<Worker>()
  const failedStart = Promise.withResolvers<never>()
  let phase: 'starting' | 'serving' | 'ending' = 'starting'

  function fork(): Promise<number> {
    const child = cluster.fork({ DATABASE_URL: databaseUrl })
    children.add(child)
    let why = ''
    return new Promise((resolve, reject) => {
      child.on('message', (report: Report) => {
        if ('listening' in report) resolve(report.listening)
        if ('failed' in report) why = report.failed
      })
      child.once('exit', (code, signal) => {
        children.delete(child)
        const error = new Error(why || `A serving process ended: ${signal ?? `code ${code}`}.`)
        reject(error)
        if (phase === 'starting') failedStart.reject(error)
        if (phase === 'serving') void replace(error)
      })
    })
  }

  async function replace(died: Error): Promise<void> {
    log.error('a serving process died; another takes its place', null, { why: died.message })
    await pause(restartPauseMs, undefined, { ref: false })
    // A replacement that dies before it listens is replaced like any other.
    if (phase === 'serving') await fork().catch(() => undefined)
  }

  function kill(): void {
    phase = 'ending'
    for (const child of children) child.process.kill('SIGKILL')
  }

  try {
    const ports = Promise.all(Array.from({ length: count }, fork))
    const [port] = await Promise.race([ports, failedStart.promise])
    phase = 'serving'
    return {
      port: port as number,
      metrics: {
        contentType: 'text/plain; version=0.0.4; charset=utf-8',
        text: () => gatherMetrics([...children], metrics),
      },
      async drain(delayMs) {
        phase = 'ending'
        const gone = [...children].map((child) => new Promise((end) => child.once('exit', end)))
        for (const child of children) order(child, { order: 'drain', delayMs })
        await Promise.all(gone)
      },
      kill,
    }
  } catch (error) {
    kill()
    throw error
  }
}

function order(child: Worker, message: Order): void {
  if (child.isConnected()) child.send(message)
}

let questions = 0

/** Sums the metrics of this process and its children, without children that answer too late. */
async function gatherMetrics(
  children: readonly Worker[],
  own: Pick<Metrics, 'json'>,
): Promise<string> {
  const answers = await Promise.all([own.json(), ...children.map(metricsOf)])
  return AggregatorRegistry.aggregate(answers.filter((answer) => answer.length > 0)).metrics()
}

function metricsOf(child: Worker): Promise<object[]> {
  const question = ++questions
  return new Promise((resolve) => {
    const onReport = (report: Report): void => {
      if (!('question' in report) || report.question !== question) return
      child.off('message', onReport)
      resolve(report.metrics)
    }
    child.on('message', onReport)
    order(child, { order: 'metrics', question })
    setTimeout(() => {
      child.off('message', onReport)
      resolve([])
    }, deadlineMs('childMetrics')).unref()
  })
}

interface Child {
  port: number
  metrics: Pick<Metrics, 'json'>
}

/**
 * Starts listening for orders of the parent; a child calls it before anything else. Call the
 * returned function once the child listens for requests: it reports the port, answers orders for
 * metrics, and resolves with the drain delay when the parent orders the drain or ends.
 */
export function listenToParent(): (child: Child) => Promise<number> {
  // Ctrl-C in a terminal reaches every process of the group; the parent alone decides.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
  let child: Child | undefined
  const leaving = new Promise<number>((resolve) => {
    process.once('disconnect', () => resolve(0))
    process.on('message', (message: Order) => {
      if (message.order === 'drain') resolve(message.delayMs)
      else void reportMetrics(message.question, child)
    })
  })
  return (own) => {
    child = own
    // From here on Node must not end this process when its parent ends: it drains first.
    setEndsWithParent(false)
    report({ listening: own.port })
    return leaving
  }
}

async function reportMetrics(question: number, child: Child | undefined): Promise<void> {
  report({ question, metrics: (await child?.metrics.json()) ?? [] })
}

/** Sends the error of a failed start to the parent, which prints it once, and ends this child. */
export function reportFailedStart(error: unknown): Promise<never> {
  const failed = error instanceof Error ? error.message : String(error)
  if (process.send === undefined) throw error
  process.send({ failed } satisfies Report, () => process.exit(1))
  return new Promise(() => undefined)
}

/** Closes the channel to the parent, which would keep a drained child alive. */
export function disconnectFromParent(): void {
  setEndsWithParent(true)
  if (process.connected) process.disconnect()
}

function setEndsWithParent(endsWithParent: boolean): void {
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = !endsWithParent
}

function report(message: Report): void {
  if (process.connected) process.send?.(message)
}

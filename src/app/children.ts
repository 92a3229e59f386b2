/**
 * Several serving processes on one port. The parent forks them, starts a new one when one dies, gathers their metrics and tells them to
 * drain; a child whose parent is gone drains by itself. Children hold nothing that a kill could damage.
 */
import cluster, { type Worker } from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import { AggregatorRegistry } from 'prom-client'
import { deadlineMs } from '../platform/deadlines.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'

/** What answers requests: this process, or its children. */
export interface Serving {
  port: number
  metrics: Pick<Metrics, 'text' | 'contentType'>
  /** Resolves when every request under way is answered and nothing listens any more. */
  drain(delayMs: number): Promise<void>
  /** Ends what is not drained. */
  kill(): void
}

/** From parent to child. */
type Order = { order: 'drain'; delayMs: number } | { order: 'metrics'; question: number }
/** From child to parent. */
type Report = { listening: number } | { failed: string } | { question: number; metrics: object[] }

const restartPauseMs = 1_000

/** Forks `count` children and waits until all of them listen. Throws what the first one says that cannot. */
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
        text: () => gathered([...children], metrics),
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

/** Summed over the children and this process, which runs the jobs; a child that does not answer in time is left out. */
async function gathered(children: readonly Worker[], own: Pick<Metrics, 'json'>): Promise<string> {
  const answers = await Promise.all([own.json(), ...children.map(metricsOf)])
  return AggregatorRegistry.aggregate(answers.filter((answer) => answer.length > 0)).metrics()
}

function metricsOf(child: Worker): Promise<object[]> {
  const question = ++questions
  return new Promise((resolve) => {
    const hear = (report: Report): void => {
      if (!('question' in report) || report.question !== question) return
      child.off('message', hear)
      resolve(report.metrics)
    }
    child.on('message', hear)
    order(child, { order: 'metrics', question })
    setTimeout(() => {
      child.off('message', hear)
      resolve([])
    }, deadlineMs('childMetrics')).unref()
  })
}

interface Child {
  port: number
  metrics: Pick<Metrics, 'json'>
}

/**
 * In a child, before it does anything: hears the parent from now on. Call what it gives once the child listens: it reports so,
 * answers for the child's metrics, and resolves with the drain delay when the parent says so or is gone.
 */
export function untilParentLeaves(): (child: Child) => Promise<number> {
  // Ctrl-C in a terminal reaches every process of the group; the parent alone decides.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
  let child: Child | undefined
  const leaving = new Promise<number>((resolve) => {
    process.once('disconnect', () => resolve(0))
    process.on('message', (message: Order) => {
      if (message.order === 'drain') resolve(message.delayMs)
      else void answerFor(message.question, child)
    })
  })
  return (own) => {
    child = own
    // Else Node would end this process the moment its parent is gone. Before it listens that is right: nobody would let it.
    endedByNode(false)
    report({ listening: own.port })
    return leaving
  }
}

async function answerFor(question: number, child: Child | undefined): Promise<void> {
  report({ question, metrics: (await child?.metrics.json()) ?? [] })
}

/** In a child that cannot start: the parent says why, once for all of them, and this process ends. */
export function reportFailedStart(error: unknown): Promise<never> {
  const failed = error instanceof Error ? error.message : String(error)
  if (process.send === undefined) throw error
  process.send({ failed } satisfies Report, () => process.exit(1))
  return new Promise(() => undefined)
}

/** In a child that is done: the channel to its parent would keep it alive. */
export function leaveParent(): void {
  endedByNode(true)
  if (process.connected) process.disconnect()
}

function endedByNode(isEnded: boolean): void {
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = !isEnded
}

function report(message: Report): void {
  if (process.connected) process.send?.(message)
}

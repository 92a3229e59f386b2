/**
 * Several serving processes on one port. The parent forks them, starts a new one when one dies, gathers their metrics and tells them to
 * drain; a child whose parent is gone drains by itself.
 */
import cluster, { type Worker } from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import { AggregatorRegistry } from 'prom-client'
import type { Log } from './platform/log.ts'
import type { Metrics } from './platform/metrics.ts'

export interface Children {
  port: number
  metrics: Pick<Metrics, 'text' | 'contentType'>
  drain(delayMs: number): Promise<void>
}

/** From parent to child. */
type Order = { order: 'drain'; delayMs: number } | { order: 'metrics'; question: number }
/** From child to parent. */
type Report = { listening: number } | { question: number; metrics: object[] }

const restartPauseMs = 1_000

/** Forks `count` children and waits until all of them listen. */
export async function forkServing(count: number, databaseUrl: string, log: Log): Promise<Children> {
  const children = new Set<Worker>()
  let draining = false

  function fork(): Promise<number> {
    const child = cluster.fork({ DATABASE_URL: databaseUrl })
    children.add(child)
    return new Promise((resolve, reject) => {
      child.on('message', (report: Report) => {
        if ('listening' in report) resolve(report.listening)
      })
      child.once('exit', (code) => {
        children.delete(child)
        reject(new Error(`a serving process ended with code ${code} before it listened`))
        if (!draining) void replace(code)
      })
    })
  }

  async function replace(code: number): Promise<void> {
    log.error('a serving process died; another takes its place', null, { code })
    await pause(restartPauseMs)
    if (draining) return
    await fork().catch((error: unknown) => log.error('a serving process could not start', error))
  }

  const [port] = await Promise.all(Array.from({ length: count }, fork))
  return {
    port: port as number,
    metrics: {
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      text: () => gathered([...children]),
    },
    async drain(delayMs) {
      draining = true
      const gone = [...children].map((child) => new Promise((end) => child.once('exit', end)))
      for (const child of children) order(child, { order: 'drain', delayMs })
      await Promise.all(gone)
    },
  }
}

function order(child: Worker, message: Order): void {
  if (child.isConnected()) child.send(message)
}

let questions = 0
const answerWithinMs = 1_000

/** Counters are summed over the children; one that does not answer in time is left out. */
async function gathered(children: readonly Worker[]): Promise<string> {
  const answers = await Promise.all(children.map(metricsOf))
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
    }, answerWithinMs).unref()
  })
}

/** In a child: reports that it listens, answers for its metrics, and resolves with the drain delay when the parent says so or is gone. */
export function untilParentLeaves(own: {
  port: number
  metrics: Pick<Metrics, 'json'>
}): Promise<number> {
  // Ctrl-C in a terminal reaches every process of the group; the parent alone decides.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
  const report = (message: Report): void => {
    process.send?.(message)
  }
  report({ listening: own.port })
  return new Promise((resolve) => {
    process.once('disconnect', () => resolve(0))
    process.on('message', (message: Order) => {
      if (message.order === 'drain') resolve(message.delayMs)
      else
        void own.metrics.json().then((metrics) => report({ question: message.question, metrics }))
    })
  })
}

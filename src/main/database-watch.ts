/**
 * What operators see of the database connections of a process: metrics of each pool and of
 * statements, and the causes of failures in the log.
 */
import { type DbMeter, type DbOptions, type PoolCounts, sqlState } from '../platform/db/db.ts'
import { type Log, textOf } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'

/** Returns the options of the pool `name`. Every pool of the process shares the limit of the log. */
export type DatabaseWatch = (
  name: string,
) => Required<Pick<DbOptions, 'onError' | 'onOutage' | 'meter'>>

const loggedEveryMs = 1_000
/** Seconds. Few, because each pool has its own. */
const buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5]

export function watchDatabase(log: Log, metrics: Metrics): DatabaseWatch {
  const pools = new Map<string, () => PoolCounts>()
  const gauge = (name: string, help: string, count: keyof PoolCounts) =>
    metrics.gauges({ name, help, labels: ['pool'] }, () =>
      Object.fromEntries([...pools].map(([pool, counts]) => [pool, counts()[count]])),
    )
  gauge('database_connections_in_use', 'Connections that run a call.', 'inUse')
  gauge('database_connections_idle', 'Open connections without a call.', 'idle')
  gauge('database_calls_waiting', 'Calls that wait for a connection.', 'waiting')
  const waited = metrics.histogram({
    name: 'database_wait_seconds',
    help: 'Time that a call waits for a connection.',
    labels: ['pool'],
    buckets,
  })
  const took = metrics.histogram({
    name: 'database_statement_seconds',
    help: 'Time of a statement.',
    labels: ['pool'],
    buckets,
  })
  const failed = metrics.counter({
    name: 'database_failures_total',
    help: 'Calls that the database could not answer, by SQLSTATE; none: no connection.',
    labels: ['sqlstate'],
  })
  const logged = failureLog(log)
  return (name) => {
    const meter: DbMeter = {
      watch: (counts) => void pools.set(name, counts),
      waited: (seconds) => waited(seconds, name),
      took: (seconds) => took(seconds, name),
    }
    return {
      meter,
      onError: (error) => log.warn('a database connection was lost', { why: error.message }),
      onOutage(cause) {
        const state = sqlState(cause) ?? 'none'
        failed(state)
        logged(state, cause)
      },
    }
  }
}

/** Logs the first failure of each second, and how many were not logged before it. */
function failureLog(log: Log): (sqlstate: string, cause: unknown) => void {
  let loggedAt = Number.NEGATIVE_INFINITY
  let unlogged = 0
  return (sqlstate, cause) => {
    const now = performance.now()
    if (now - loggedAt < loggedEveryMs) {
      unlogged++
      return
    }
    log.warn('the database could not answer', { sqlstate, why: textOf(cause), unlogged })
    loggedAt = now
    unlogged = 0
  }
}

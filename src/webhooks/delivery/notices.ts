/**
 * Notices to the operator about failing endpoints: a log line, a metric, and an audit entry if the
 * service disabled the endpoint itself. Each occasion gives one notice, with any number of
 * processes.
 */
import type { Tx } from '../../platform/db/db.ts'
import type { Log } from '../../platform/observability/log.ts'
import type { Metrics } from '../../platform/observability/metrics.ts'

/** The receiver answered 410, or nothing succeeded for five days. */
export type GaveUpReason = 'gone' | 'failing'

export interface GaveUp {
  endpointIds: readonly string[]
  reason: GaveUpReason
  at: Date
}

export interface Notices {
  /** Runs last in the transaction that disables the endpoints, and is part of it. */
  record(tx: Tx, gaveUp: GaveUp): Promise<void>
  /** Runs after the commit. */
  disabled(endpointId: string, reason: GaveUpReason): void
  /** Called after `hours` without a success. */
  failing(endpointId: string, hours: number): void
}

const reasons: Record<GaveUpReason, string> = {
  gone: 'its receiver answered 410',
  failing: 'five days without a success',
}

/**
 * Opens the notices. `record` writes the audit entry, because the audit log belongs to another
 * module.
 */
export function openNotices({
  log,
  metrics,
  record,
}: Pick<Notices, 'record'> & { log: Log; metrics: Metrics }): Notices {
  const count = metrics.counter({
    name: 'webhook_notices_total',
    help: 'What the operator was told of endpoints: failing for 24 or 72 hours, or disabled by the service.',
    labels: ['notice'],
  })
  return {
    record,
    disabled(endpointId, reason) {
      log.warn(`a webhook endpoint is disabled: ${reasons[reason]}`, { endpointId })
      count(`disabled_${reason}`)
    },
    failing(endpointId, hours) {
      log.warn('a webhook endpoint fails', { endpointId, hours })
      count(`failing_${hours}h`)
    },
  }
}

/** Notices of a deliverer without an operator: they go nowhere. */
export const noNotices: Notices = {
  record: () => Promise.resolve(),
  disabled() {},
  failing() {},
}

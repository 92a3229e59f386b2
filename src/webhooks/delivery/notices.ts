/**
 * What the operator is told of endpoints that fail: a line in the log, a number in the metrics, and an entry in the audit log where the
 * service disabled one by itself. Once for each occasion, however many workers see it.
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
  /** In the transaction that disables them, last: part of it. */
  record(tx: Tx, gaveUp: GaveUp): Promise<void>
  /** After the commit. */
  disabled(endpointId: string, reason: GaveUpReason): void
  /** Without a success for so many hours. */
  failing(endpointId: string, hours: number): void
}

const reasons: Record<GaveUpReason, string> = {
  gone: 'its receiver answered 410',
  failing: 'five days without a success',
}

/** `record` writes the entry: the audit log is another room's. */
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

/** For whoever delivers on their own account. */
export const noNotices: Notices = {
  record: () => Promise.resolve(),
  disabled() {},
  failing() {},
}

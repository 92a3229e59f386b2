/** Metrics of deliveries. */
import type { Metrics } from '../../platform/observability/metrics.ts'
import type { DeliveryCounts } from './delivery-store.ts'
import type { Outcome } from './outcome.ts'

export interface DeliveryMeter {
  dispatched(type: string): void
  attempted(outcome: Outcome, seconds: number): void
  /** Records the time from an event to its first attempt. */
  lagged(seconds: number): void
  settled(result: string): void
  /** Counts leases that ran out before their attempt ended. */
  leasesExpired(count: number): void
  /** Counts attempts that ended after their lease had expired. */
  endedLate(count: number): void
  /** `inFlight` is read at each scrape. */
  watch(inFlight: () => number): void
}

const lagBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3_600]
const attemptBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

export function deliveryMeter(metrics: Metrics): DeliveryMeter {
  const { counter, histogram } = metrics
  const events = counter({
    name: 'webhook_events_total',
    help: 'Events that went out.',
    labels: ['type'],
  })
  const deliveries = counter({
    name: 'webhook_deliveries_total',
    help: 'Deliveries by result; retry is an attempt that failed and is made again, postponed one that the limit of open files prevented.',
    labels: ['result'],
  })
  const attempts = counter({
    name: 'webhook_attempts_total',
    help: 'Attempts, by class of the answer and error.',
    labels: ['code_class', 'error'],
  })
  const blocked = counter({
    name: 'webhook_blocked_total',
    help: 'Attempts whose host led to an address that may not be reached.',
  })
  const expiredLeases = counter({
    name: 'webhook_expired_leases_total',
    help: 'Leases that expired before their attempt ended: the process died.',
  })
  const late = counter({
    name: 'webhook_late_attempts_total',
    help: 'Attempts that ended after their lease had expired; another attempt decides.',
  })
  const seconds = histogram({
    name: 'webhook_attempt_seconds',
    help: 'Time of an attempt.',
    buckets: attemptBuckets,
  })
  const lag = histogram({
    name: 'webhook_event_lag_seconds',
    help: 'Time from an event to its first attempt at an endpoint.',
    buckets: lagBuckets,
  })
  let inFlight = (): number => 0
  metrics.gauge('webhook_in_flight', 'Attempts under way.', () => inFlight())
  return {
    dispatched: events,
    attempted(outcome, tookSeconds) {
      const { responseStatus, errorCode } = outcome
      const codeClass = responseStatus === null ? 'none' : `${Math.floor(responseStatus / 100)}xx`
      attempts(codeClass, errorCode ?? 'none')
      seconds(tookSeconds)
      if (errorCode === 'blocked_address') blocked()
    },
    lagged: lag,
    settled: deliveries,
    leasesExpired(count) {
      for (let i = 0; i < count; i++) expiredLeases()
    },
    endedLate(count) {
      for (let i = 0; i < count; i++) late()
    },
    watch(read) {
      inFlight = read
    },
  }
}

/**
 * Publishes the counts of the tables, which every process can tell. Returns the function that takes
 * new counts.
 */
export function deliveryGauges(metrics: Metrics): (counts: DeliveryCounts, now: Date) => void {
  let counts: DeliveryCounts | undefined
  let oldestSeconds = 0
  metrics.gauge('webhook_pending', 'Deliveries that wait.', () => counts?.pending ?? 0)
  metrics.gauge(
    'webhook_oldest_pending_seconds',
    'How long the delivery that waits longest has been due.',
    () => oldestSeconds,
  )
  metrics.gauge(
    'webhook_outbox_undispatched',
    'Events that wait for their deliveries.',
    () => counts?.undispatched ?? 0,
  )
  metrics.gauges({ name: 'webhook_endpoints', help: 'Endpoints.', labels: ['state'] }, () => {
    const { active = 0, failing = 0, paused = 0, disabled = 0 } = counts ?? {}
    return { active, failing, paused, disabled }
  })
  return (found, now) => {
    counts = found
    const { oldestDueAt } = found
    oldestSeconds = oldestDueAt === null ? 0 : (now.getTime() - oldestDueAt.getTime()) / 1_000
  }
}

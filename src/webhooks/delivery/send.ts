/** Sends one leased delivery: its request, the time until which it may begin, and its outcome. */
import { setTimeout as pause } from 'node:timers/promises'
import { batched } from '../../platform/batching.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Db } from '../../platform/db/db.ts'
import { deadlineMs } from '../../platform/deadlines.ts'
import type { Egress } from '../../platform/egress/client.ts'
import type { EgressAnswer } from '../../platform/egress/exchange.ts'
import {
  type Span,
  startSpan,
  traced,
  traceparentOf,
} from '../../platform/observability/tracing.ts'
import type { AttemptEnd } from './acknowledge.ts'
import { attemptHeaders, signaturesIn } from './attempt-request.ts'
import type { DeliveryMeter } from './delivery-metrics.ts'
import { type ClaimedDelivery, findLeaseSecrets } from './leasing-store.ts'
import { outcomeOf } from './outcome.ts'
import { nextAttemptAt, retryWaitsSeconds } from './retry.ts'
import { type DatedSecret, type SigningSecrets, signingSecrets } from './secret.ts'

export interface SenderOptions {
  db: Db
  egress: Egress
  clock: Clock
  ring: Keyring
  meter: DeliveryMeter
  retryWaitsSeconds?: readonly number[]
  /** Random number from 0 to 1. */
  chance?: () => number
}

export interface Leased {
  delivery: ClaimedDelivery
  secrets: SigningSecrets
  /** Value of `performance.now()` before the lease was taken. */
  leasedAt: number
}

const postponedMs = 5_000

/** Returns a function that sends one delivery and returns its end. */
export function sender(options: SenderOptions) {
  const { clock, meter, chance = Math.random } = options
  const waits = options.retryWaitsSeconds ?? retryWaitsSeconds
  const leaseSecrets = batched<ClaimedDelivery, readonly DatedSecret[] | null>({
    name: 'ask for leases',
    run: async (deliveries) => {
      const secrets = await findLeaseSecrets(options.db, deliveries, clock())
      return deliveries.map(({ leaseId }) => secrets.get(leaseId) ?? null)
    },
    deadline: 'deliveryRecord',
  })
  return async (leased: Leased): Promise<AttemptEnd> => {
    const { delivery } = leased
    const { trigger, attempt } = delivery
    const startedAt = clock()
    const began = performance.now()
    const isTest = trigger === 'test'
    const span = startSpan('deliver an event', {
      kind: 'client',
      traceparent: delivery.traceparent,
      attributes: {
        'assay.event.type': delivery.eventType,
        'assay.event.id': delivery.eventId,
        'assay.endpoint.id': delivery.endpointId,
        'assay.attempt': attempt,
      },
    })
    const posted = await traced(span, () => post({ ...options, leaseSecrets, span }, leased))
    // Consent was withdrawn or the endpoint was disabled since the lease.
    if (posted === null) {
      meter.settled('cancelled')
      return { delivery, status: 'cancelled', dueAt: null, sent: null }
    }
    const { answer, ...signed } = posted
    // Our own lack of descriptors is no fault of the receiver: no attempt is counted.
    if ('failure' in answer && answer.failure === 'no_descriptors') {
      meter.settled('postponed')
      return { delivery, status: 'pending', dueAt: new Date(+clock() + postponedMs), sent: null }
    }
    if (attempt === 1) meter.lagged((startedAt.getTime() - delivery.createdAt.getTime()) / 1_000)
    const durationMs = Math.round(performance.now() - began)
    const failedAt = clock()
    const outcome = outcomeOf(answer, failedAt)
    meter.attempted(outcome, durationMs / 1_000)
    const sent = { outcome, startedAt, durationMs, ...(hasBegun(answer) ? signed : null) }
    if (outcome.succeeded) {
      meter.settled('succeeded')
      return { delivery, status: 'succeeded', dueAt: null, sent }
    }
    const { retryAfter } = outcome
    const again = { attempt, failedAt, retryAfter, chance: chance() }
    const dueAt = isTest ? null : nextAttemptAt(again, waits)
    meter.settled(dueAt === null ? 'exhausted' : 'retry')
    return { delivery, status: dueAt === null ? 'exhausted' : 'pending', dueAt, sent }
  }
}

interface PostOptions extends Pick<SenderOptions, 'egress' | 'clock' | 'ring'> {
  /** Returns the present secrets of the endpoint, or null if the lease no longer holds. */
  leaseSecrets(delivery: ClaimedDelivery): Promise<readonly DatedSecret[] | null>
  span: Span | undefined
}

interface Posted {
  answer: EgressAnswer
  sentAt: Date
  signatures: Record<string, string>
}

const failuresAfterBegin = new Set<string>(['timeout', 'reset', 'body_error'])

/** Returns whether the receiver may have got the request. */
function hasBegun(answer: EgressAnswer): boolean {
  return !('failure' in answer) || failuresAfterBegin.has(answer.failure)
}

/** Returns null if the delivery may no longer be sent; nothing was sent then. */
async function post(
  { egress, clock, ring, leaseSecrets, span }: PostOptions,
  { delivery, secrets, leasedAt }: Leased,
): Promise<Posted | null> {
  const { body, leaseId: id, trigger, url } = delivery
  if (body === null) return null
  const giveUpAt = performance.now() + deadlineMs('deliveryBegin')
  let signing = secrets
  for (let mayBeginFrom = leasedAt; ; ) {
    const attempt = { ...delivery, id, body, isTest: trigger === 'test' }
    const sentAt = clock()
    const headers = attemptHeaders(attempt, signing, sentAt)
    const answer = await egress.send({
      method: 'POST',
      url,
      headers: { ...headers, ...traceHeaders(span, delivery) },
      body,
      bodyWithinMs: deadlineMs('deliveryAnswerBody'),
      beginBy: mayBeginFrom + startWithinMs,
    })
    const isTooLate = 'failure' in answer && answer.failure === 'not_begun'
    if (span !== undefined && 'status' in answer)
      span.attributes['http.response.status_code'] = answer.status
    if (!isTooLate || performance.now() > giveUpAt)
      return { answer, sentAt, signatures: signaturesIn(headers) }
    mayBeginFrom = performance.now()
    const current = await leaseSecrets(delivery)
    if (current === null) return null
    // A secret that was replaced since the lease must not sign this request.
    const renewed = signingSecrets(current, ring, clock())
    if (renewed === null) throw new Error('the endpoint has no secret that signs')
    signing = renewed
  }
}

/** The trace goes on at the receiver, also if this process does not trace. */
function traceHeaders(
  span: Span | undefined,
  { traceparent: cause }: ClaimedDelivery,
): Record<string, string> {
  const traceparent = span === undefined ? cause : traceparentOf(span)
  return traceparent === null ? {} : { traceparent }
}

/**
 * Ensures that no POST begins after DELETE has answered, on any number of processes and without a
 * lock for which deliveries would wait. A lease lets its process begin the POST for
 * `startWithinMs`, counted on the process's own monotonic clock from before the lease. If
 * connecting takes longer, the process checks the lease again before it writes a byte of the
 * request. The request that disables an endpoint answers only when every lease that existed at its
 * commit may no longer begin. No two clocks are compared.
 *
 * The replacement of a signing secret holds in the same way: a POST that begins later is signed
 * with the secrets as they are then.
 */
export const startWithinMs = 250

/** Adds time for a request that began at the last moment. */
const settledAfterMs = startWithinMs + 50

/** Longer than the window plus the difference between two machines' clocks. */
const longAgoMs = 60_000

/**
 * Call it after the commit. When it resolves, no request begins that only the state before the
 * commit allowed. Resolves at once if the change was made long before `now`.
 */
export async function untilNothingStarts(changedAt: Date, now: Date): Promise<void> {
  if (now.getTime() - changedAt.getTime() > longAgoMs) return
  await pause(settledAfterMs)
}

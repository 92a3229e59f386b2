/** Sending one leased delivery: its request, until when it may begin, and what came of it. */
import type { Clock } from '../platform/clock.ts'
import { coalesce } from '../platform/coalesce.ts'
import type { Db } from '../platform/db.ts'
import type { Egress } from '../platform/egress.ts'
import type { EgressAnswer } from '../platform/egress-exchange.ts'
import type { AttemptEnd } from './acknowledge.ts'
import { attemptHeaders, type SigningSecrets } from './attempt-request.ts'
import type { DeliveryMeter } from './delivery-metrics.ts'
import { type ClaimedDelivery, findLeased } from './leasing-store.ts'
import { outcomeOf } from './outcome.ts'
import { nextAttemptAt, retryWaitsSeconds } from './retry.ts'
import { startWithinMs } from './start-window.ts'

export interface SenderParts {
  db: Db
  egress: Egress
  clock: Clock
  meter: DeliveryMeter
  retryWaitsSeconds?: readonly number[]
  /** From 0 to 1, at random. */
  chance?: () => number
}

export interface Leased {
  delivery: ClaimedDelivery
  secrets: SigningSecrets
  /** By `performance.now()`, before the leasing. */
  leasedAt: number
}

/** Sends one delivery and says what came of it. */
export function sender(parts: SenderParts) {
  const { clock, meter, chance = Math.random } = parts
  const waits = parts.retryWaitsSeconds ?? retryWaitsSeconds
  const isLeased = coalesce<ClaimedDelivery, boolean>({
    name: 'ask for leases',
    run: async (deliveries) => {
      const leased = await findLeased(parts.db, deliveries)
      return deliveries.map(({ leaseId }) => leased.has(leaseId))
    },
    deadlineMs: 10_000,
  })
  return async (leased: Leased): Promise<AttemptEnd> => {
    const { delivery } = leased
    const { trigger, attempt } = delivery
    const startedAt = clock()
    const began = performance.now()
    const isTest = trigger === 'test'
    const answer = await post({ ...parts, isLeased }, leased)
    // Consent was withdrawn since, or the endpoint disabled.
    if (answer === null) {
      meter.settled('cancelled')
      return { delivery, status: 'cancelled', dueAt: null, sent: null }
    }
    if (attempt === 1) meter.lagged((startedAt.getTime() - delivery.createdAt.getTime()) / 1_000)
    const durationMs = Math.round(performance.now() - began)
    const failedAt = clock()
    const outcome = outcomeOf(answer, failedAt)
    meter.attempted(outcome, durationMs / 1_000)
    const sent = { outcome, startedAt, durationMs }
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

/** How long one whose connection is slow to stand, on either side, is begun again: what connected too late is there for the next time. */
const beginAgainMs = 14_000

interface PostParts extends Pick<SenderParts, 'egress' | 'clock'> {
  isLeased(delivery: ClaimedDelivery): Promise<boolean>
}

/** Null where it may no longer leave: nothing was sent. */
async function post(
  { egress, clock, isLeased }: PostParts,
  { delivery, secrets, leasedAt }: Leased,
): Promise<EgressAnswer | null> {
  const { body, leaseId: id, trigger, url } = delivery
  if (body === null) return null
  const giveUpAt = performance.now() + beginAgainMs
  for (let mayBeginFrom = leasedAt; ; ) {
    const attempt = { ...delivery, id, body, isTest: trigger === 'test' }
    const answer = await egress.send({
      method: 'POST',
      url,
      headers: attemptHeaders(attempt, secrets, clock()),
      body,
      beginBy: mayBeginFrom + startWithinMs,
    })
    const isTooLate = answer.outcome === 'failed' && answer.failure === 'not_begun'
    if (!isTooLate || performance.now() > giveUpAt) return answer
    mayBeginFrom = performance.now()
    if (!(await isLeased(delivery))) return null
  }
}

/**
 * Keeps the rates of endpoints: grants are taken from their buckets before leasing, and unused
 * grants are returned.
 */
import type { Db } from '../../platform/db/db.ts'
import type { ClaimedDelivery } from './leasing-store.ts'
import { giveBackToRates, takeFromRates } from './rate-store.ts'
import type { DueEndpoint, Grant } from './slots.ts'

/** Returns the grants that may be leased, in their order. */
export async function withinRates(
  db: Db,
  grants: readonly Grant[],
  { due, now }: { due: readonly DueEndpoint[]; now: Date },
): Promise<Grant[]> {
  const rated = new Set(due.filter((one) => one.hasRate).map(({ endpointId }) => endpointId))
  const asked = grants.filter(({ endpointId }) => rated.has(endpointId))
  if (asked.length === 0) return [...grants]
  const taken = new Map(
    (await takeFromRates(db, asked, now)).map(({ endpointId, count }) => [endpointId, count]),
  )
  return grants.flatMap((grant) => {
    const { endpointId } = grant
    if (!rated.has(endpointId)) return [grant]
    const count = taken.get(endpointId) ?? 0
    return count > 0 ? [{ endpointId, count }] : []
  })
}

/**
 * Returns unused grants after leasing. A crash before it loses a fraction of a second's deliveries
 * and nothing else.
 */
export async function returnUnused(
  db: Db,
  grants: readonly Grant[],
  { due, claimed }: { due: readonly DueEndpoint[]; claimed: readonly ClaimedDelivery[] },
): Promise<void> {
  const rated = new Set(due.filter((one) => one.hasRate).map(({ endpointId }) => endpointId))
  const unused = grants
    .filter(({ endpointId }) => rated.has(endpointId))
    .map(({ endpointId, count }) => ({
      endpointId,
      count: count - claimed.filter((delivery) => delivery.endpointId === endpointId).length,
    }))
    .filter(({ count }) => count > 0)
  if (unused.length > 0) await giveBackToRates(db, unused)
}

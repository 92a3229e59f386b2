/** Leasing within the rates of endpoints: what is granted to them is taken from their buckets first, and given back where it was not used. */
import type { Db } from '../../platform/db/db.ts'
import type { ClaimedDelivery } from './leasing-store.ts'
import { giveBackToRates, takeFromRates } from './rate-store.ts'
import type { DueEndpoint, Grant } from './slots.ts'

/** The grants that may be leased, in their order. */
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

/** After leasing. A crash before it loses a part of a second's deliveries, nothing else. */
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

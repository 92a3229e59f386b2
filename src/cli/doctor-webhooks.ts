/**
 * The check of `assay doctor` on webhooks: whether a jobs process sends them and receivers accept
 * them.
 */
import { failingUrl } from '../demo/receiver.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { counted } from '../platform/counted.ts'
import type { Queryable } from '../platform/db/db.ts'
import { countDeliveries } from '../webhooks/delivery/delivery-store.ts'
import { findFailingNow } from '../webhooks/delivery/endpoint-store.ts'
import { findOldestUndispatched } from '../webhooks/events/store.ts'
import { type Finding, ok, warn } from './doctor-finding.ts'

const check = 'webhooks'
/** A jobs process fans an event out within a second. */
const undispatchedMsMax = 60_000

export async function checkWebhooks(db: Queryable, isDemo: boolean): Promise<Finding> {
  const now = systemClock()
  const undispatchedSince = await findOldestUndispatched(db)
  if (undispatchedSince !== null && now.getTime() - undispatchedSince.getTime() > undispatchedMsMax)
    return warn(
      check,
      `events wait since ${wireTime(undispatchedSince)}: start \`assay serve\` or \`assay jobs\`, with SECRETS_KEYRING.`,
    )
  const { active, failing } = await countDeliveries(db, now)
  const found = await findFailingNow(db, { owner: 'any', limit: 2 })
  const longest = found.find(({ url }) => !(isDemo && url === failingUrl))
  if (longest === undefined && found.length > 0)
    return ok(check, `active endpoints: ${active}; one fails on purpose, to show it in the demo`)
  if (longest === undefined) return ok(check, `active endpoints: ${active}, none fails`)
  return warn(
    check,
    `${failing} of ${counted(active, 'endpoint')} ${failing === 1 ? 'fails' : 'fail'}, the first since ${wireTime(longest.failingSince)}: \`assay webhooks failing\`.`,
  )
}

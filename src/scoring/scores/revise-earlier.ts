/** Correction of a score that another score has replaced since. */
import { revokeDigests } from '../../credentials/revoke.ts'
import type { Tx } from '../../platform/db/db.ts'
import { publishEvents } from '../../webhooks/events/outbox.ts'
import { findWorkerFacts } from '../../workers/api.ts'
import type { Correction } from './score-change.ts'
import { scoreRevised } from './score-events.ts'
import { mayPublish } from './sharing.ts'
import type { EarlierSnapshot, SharedSnapshot, Snapshot } from './snapshot.ts'
import { findActiveSnapshots } from './store.ts'

/**
 * Revokes the credential of `earlier` and publishes `score.revised` from it to the active score. If
 * there is no active score, or no consent, no event is sent. Called under the worker's lock.
 */
export async function reviseEarlier(
  tx: Tx,
  earlier: EarlierSnapshot,
  { correction, now }: { correction: Correction; now: Date },
): Promise<void> {
  const [revoked] = await revokeDigests(tx, [earlier.vcSha256], now)
  if (revoked?.now !== true) return
  const [active] = await findActiveSnapshots(tx, [earlier.workerId])
  const [worker] = await findWorkerFacts(tx, [earlier.workerId])
  if (active === undefined || !isShared(active)) return
  if (worker === undefined || !mayPublish(worker)) return
  const { issuedAt } = active
  const revision = { ...correction, previous: earlier, issuedAt, revisedAt: now }
  await publishEvents(tx, [scoreRevised(active, revision)], now)
}

function isShared<One extends Snapshot>(snapshot: One): snapshot is One & SharedSnapshot {
  return snapshot.vcSha256 !== null && snapshot.statusToken !== null
}

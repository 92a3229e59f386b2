/** Whose evidence it is, and which scores rest on it: for whoever takes it away from them. */
import { findEvidence, type OwnedEvidence } from '../evidence/store.ts'
import type { Tx } from '../platform/db/db.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import { lockWorkers } from '../workers/store.ts'
import { scoredIds } from './issue-rule.ts'
import type { ActiveSnapshot } from './snapshot.ts'
import { findActiveSnapshots, findEarlierCredentials } from './store.ts'

/** The items, under the locks of their owners and of `others`. Evidence may change its owner until its owner is locked. */
export async function lockOwners(
  tx: Tx,
  ids: readonly string[],
  others: readonly string[] = [],
): Promise<OwnedEvidence[]> {
  for (let items = await findEvidence(tx, ids); ; ) {
    const owners = new Set(workersOf(items))
    await lockWorkers(tx, [...owners, ...others])
    items = await findEvidence(tx, ids)
    if (workersOf(items).every((workerId) => owners.has(workerId))) return items
  }
}

/** By the id of the evidence: the active score that it counts in, as it stands before. */
export type RestedOn = ReadonlyMap<string, ActiveSnapshot>

export async function scoresRestingOn(tx: Tx, items: readonly OwnedEvidence[]): Promise<RestedOn> {
  const active = await findActiveSnapshots(tx, workersOf(items))
  const byWorker = new Map(
    active.map((snapshot) => [
      snapshot.workerId,
      { snapshot, ids: scoredIds(JSON.parse(snapshot.evidence)) },
    ]),
  )
  return new Map(
    items.flatMap(({ evidenceId, workerId }) => {
      const held = byWorker.get(workerId)
      return held?.ids.has(evidenceId) ? [[evidenceId, held.snapshot] as const] : []
    }),
  )
}

/** Credentials of scores before the active one are good of their date (decision D28), but not where they rested on what is lost now. */
export async function revokeEarlier(
  tx: Tx,
  lost: readonly OwnedEvidence[],
  now: Date,
): Promise<void> {
  const ids = new Set(lost.map(({ evidenceId }) => evidenceId))
  const earlier = await findEarlierCredentials(tx, workersOf(lost))
  const wrong = earlier.filter(
    ({ evidence }) => !scoredIds(JSON.parse(evidence)).isDisjointFrom(ids),
  )
  const digests = wrong.map(({ vcSha256 }) => vcSha256)
  if (digests.length > 0) await revokeDigests(tx, digests, now)
}

/** Each once. */
export function workersOf(items: readonly OwnedEvidence[]): string[] {
  return [...new Set(items.map(({ workerId }) => workerId))]
}

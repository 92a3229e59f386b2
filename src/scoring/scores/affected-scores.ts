/** Scores affected by the loss of evidence, by revocation or by reassignment. */
import { findUnrevoked } from '../../credentials/api.ts'
import { revokeDigests } from '../../credentials/revoke.ts'
import type { Tx } from '../../platform/db/db.ts'
import { lockWorkers } from '../../workers/api.ts'
import { findEvidence, type OwnedEvidence } from '../evidence/store.ts'
import { scoredIds } from './issue-rule.ts'
import type { ActiveSnapshot, EarlierSnapshot } from './snapshot.ts'
import { findActiveSnapshots, findEarlierSnapshots } from './store.ts'

/**
 * Returns the items under the locks of their workers and of `others`. An item may move to another
 * worker until its worker is locked, so the lookup repeats until all workers are locked.
 */
export async function lockEvidenceWorkers(
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

/** Evidence id to the active score that counts the item, as it was before the change. */
export type AffectedScores = ReadonlyMap<string, ActiveSnapshot>

export async function findAffectedScores(
  tx: Tx,
  items: readonly OwnedEvidence[],
): Promise<AffectedScores> {
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

/**
 * Returns the scores before the active ones that counted one of the items and whose credentials are
 * valid, the latest first. Such a credential remains valid for its date (decision D28), unless its
 * score counted lost evidence.
 */
export async function findEarlierAffected(
  tx: Tx,
  lost: readonly OwnedEvidence[],
): Promise<EarlierAffectedSnapshot[]> {
  const ids = new Set(lost.map(({ evidenceId }) => evidenceId))
  const earlier = (await findEarlierSnapshots(tx, workersOf(lost)))
    .map((snapshot) => ({ ...snapshot, countedIds: scoredIds(JSON.parse(snapshot.evidence)) }))
    .filter(({ countedIds }) => !countedIds.isDisjointFrom(ids))
  return unrevoked(tx, earlier)
}

export interface EarlierAffectedSnapshot extends EarlierSnapshot {
  /** Ids of the evidence that counted. */
  countedIds: ReadonlySet<string>
}

/** Returns the last score before the active one whose credential is valid, by worker. */
export async function findLastValid(
  tx: Tx,
  workerIds: readonly string[],
): Promise<Map<string, EarlierSnapshot>> {
  const earlier = await unrevoked(tx, await findEarlierSnapshots(tx, workerIds))
  return new Map(earlier.reverse().map((snapshot) => [snapshot.workerId, snapshot]))
}

async function unrevoked<One extends EarlierSnapshot>(tx: Tx, snapshots: One[]): Promise<One[]> {
  if (snapshots.length === 0) return []
  const valid = await findUnrevoked(
    tx,
    snapshots.map(({ vcSha256 }) => vcSha256),
  )
  return snapshots.filter(({ vcSha256 }) => valid.has(vcSha256.toString('hex')))
}

export async function revokeCredentialsOf(
  tx: Tx,
  snapshots: readonly EarlierSnapshot[],
  now: Date,
): Promise<void> {
  const digests = snapshots.map(({ vcSha256 }) => vcSha256)
  if (digests.length > 0) await revokeDigests(tx, digests, now)
}

/** Returns the workers of the items, each once. */
export function workersOf(items: readonly OwnedEvidence[]): string[] {
  return [...new Set(items.map(({ workerId }) => workerId))]
}

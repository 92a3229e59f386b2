/** Whose evidence it is, and which scores rest on it: for whoever takes it away from them. */
import { findEvidence, type OwnedEvidence } from '../evidence/store.ts'
import type { Tx } from '../platform/db/db.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import { findUnrevoked } from '../score-credentials/store.ts'
import { lockWorkers } from '../workers/store.ts'
import { scoredIds } from './issue-rule.ts'
import type { ActiveSnapshot, EarlierSnapshot } from './snapshot.ts'
import { findActiveSnapshots, findEarlierSnapshots } from './store.ts'

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

/**
 * Returns the scores before the active ones that counted one of the items and whose credentials are valid,
 * the latest first. Such a credential is good of its date (decision D28), unless it rests on what is lost.
 */
export async function earlierRestingOn(
  tx: Tx,
  lost: readonly OwnedEvidence[],
): Promise<RestingSnapshot[]> {
  const ids = new Set(lost.map(({ evidenceId }) => evidenceId))
  const earlier = (await findEarlierSnapshots(tx, workersOf(lost)))
    .map((snapshot) => ({ ...snapshot, restedOn: scoredIds(JSON.parse(snapshot.evidence)) }))
    .filter(({ restedOn }) => !restedOn.isDisjointFrom(ids))
  return unrevoked(tx, earlier)
}

export interface RestingSnapshot extends EarlierSnapshot {
  /** Ids of the evidence that counted. */
  restedOn: ReadonlySet<string>
}

/** Returns the last score before the active one whose credential is valid, by worker. */
export async function lastValid(
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

/** Each once. */
export function workersOf(items: readonly OwnedEvidence[]): string[] {
  return [...new Set(items.map(({ workerId }) => workerId))]
}

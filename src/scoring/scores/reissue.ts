/**
 * New credentials for scores whose credential was revoked with its key, or by name (decision D58).
 * The score and its id stay; `score.revised` with the reason `correction` names the revoked
 * credential.
 *
 * A revoked key is one row, so its revocation commits at once. Then its credentials are marked in
 * `score_reissues`, page by page. Any process continues an interrupted run. Any number of processes
 * take batches of marked workers, one batch a transaction.
 *
 * Only a public score gets a new credential. The marks of other scores wait until they are public.
 * A credential that is revoked because its score is wrong is not marked: a new score replaces it.
 */
import { findDigests, lockUnmarkedKey, setKeyMarked } from '../../credentials/api.ts'
import type { CredentialName } from '../../credentials/credential-name.ts'
import {
  type IssuedCredential,
  type Issuer,
  issueCredentials,
  type NewCredential,
} from '../../credentials/issue.ts'
import { type Revocation, revokeCredentials } from '../../credentials/revoke.ts'
import { type Db, planAnew, type Tx } from '../../platform/db/db.ts'
import { type NewEvent, publishEvents } from '../../webhooks/events/outbox.ts'
import { findWorkerFacts, lockWorkers } from '../../workers/api.ts'
import { mayShare } from './keep-sharing.ts'
import {
  deleteReissues,
  findIssuedSnapshots,
  findReissues,
  insertReissues,
  insertReissuesOfKey,
  tryLockReissues,
} from './reissue-store.ts'
import { scoreRevised } from './score-events.ts'
import type { SharedSnapshot, Snapshot } from './snapshot.ts'
import { findCredentialWorkers, setCredentials } from './store.ts'

/**
 * Revokes the named credentials, as `revokeCredentials` does, and marks those that a score has. The
 * workers are locked and marked first, in the order of a scoring transaction, against deadlocks.
 */
export async function revokeNamedCredentials(
  tx: Tx,
  names: readonly CredentialName[],
  now: Date,
): Promise<Revocation> {
  const digests = (await findDigests(tx, names)).flatMap((digest) => digest ?? [])
  await lockWorkers(tx, await findCredentialWorkers(tx, digests))
  await insertReissues(tx, digests, now)
  return revokeCredentials(tx, names, now)
}

const pageSize = 10_000

/** Marks the credentials of every revoked key. Returns at once if all are marked. */
export async function markRevokedKeys(db: Db, now: Date): Promise<void> {
  while (await db.transaction((tx) => markPage(tx, now)));
}

/** Returns false if the credentials of every revoked key are marked. */
async function markPage(tx: Tx, now: Date): Promise<boolean> {
  const key = await lockUnmarkedKey(tx)
  if (key === undefined) return false
  const { kid, markedTo } = key
  const last = await insertReissuesOfKey(tx, kid, { after: markedTo, limit: pageSize, now })
  await setKeyMarked(tx, { kid, markedTo: last ?? markedTo }, last === null ? now : null)
  return true
}

export interface Reissued {
  /** Worker id to the active score with its new credential. */
  snapshots: ReadonlyMap<string, SharedSnapshot>
  /** One `score.revised` for each revoked credential. */
  events: NewEvent[]
  /** Number of marks that the workers had. */
  marks: number
}

/**
 * Issues new credentials for at most `limit` workers within the caller's transaction, and publishes
 * the events. Never waits for a worker that another transaction holds. If `more` is true, call it
 * again: workers whose locks another process has just given back have no marks any more, and others
 * may wait behind them.
 */
export async function reissueSome(
  tx: Tx,
  issuer: Issuer,
  { limit, now }: { limit: number; now: Date },
): Promise<Reissued & { more: boolean }> {
  await planAnew(tx)
  const workerIds = await tryLockReissues(tx, { limit, now })
  const reissued = await reissueMarked(tx, issuer, workerIds, now)
  await publishEvents(tx, reissued.events, now)
  const { marks, events } = reissued
  return { ...reissued, more: workerIds.length > 0 && (marks === 0 || events.length > 0) }
}

/**
 * Replaces the marked credentials of workers that may share their score, and deletes the marks. The
 * caller holds the workers' locks and publishes the events.
 */
export async function reissueMarked(
  tx: Tx,
  issuer: Issuer,
  workerIds: readonly string[],
  now: Date,
): Promise<Reissued> {
  const marks = workerIds.length === 0 ? [] : await findReissues(tx, workerIds)
  if (marks.length === 0) return { snapshots: new Map(), events: [], marks: 0 }
  const workers = await findWorkerFacts(tx, [...new Set(marks.map(({ workerId }) => workerId))])
  const sharing = workers.filter((worker) => mayShare(worker, now))
  const usernames = new Map(sharing.map(({ workerId, username }) => [workerId, username]))
  const snapshots = await findIssuedSnapshots(tx, {
    workerIds: [...usernames.keys()],
    vcSha256s: marks.map(({ vcSha256 }) => vcSha256),
  })
  const digests = new Set(marks.map(({ vcSha256 }) => vcSha256.toString('hex')))
  const marked = snapshots.filter(({ vcSha256 }) => digests.has(vcSha256.toString('hex')))
  const lost = marked.filter(({ isActive }) => isActive)
  const credentials = await issueCredentials(
    tx,
    issuer,
    lost.map((snapshot) => ({
      ...credentialOf(snapshot, usernames.get(snapshot.workerId) ?? '', now),
      // The worker, or the issuer, may have had another name at that time.
      replaces: snapshot.vcSha256,
    })),
  )
  const reissued = new Map(
    lost.map((snapshot, i) => [
      snapshot.workerId,
      { ...snapshot, ...digestsOf(credentials[i] as IssuedCredential) },
    ]),
  )
  if (reissued.size > 0) await setCredentials(tx, [...reissued.values()])
  // An event never names a revoked credential as the present one. Its worker stays marked.
  const current = new Map<string, SharedSnapshot>([
    ...snapshots
      .filter(({ isActive, isRevoked }) => isActive && !isRevoked)
      .map((snapshot) => [snapshot.workerId, snapshot] as const),
    ...reissued,
  ])
  const events = marked.flatMap((previous) => {
    const { workerId } = previous
    const snapshot = current.get(workerId)
    if (snapshot === undefined) return []
    const issuedAt = reissued.has(workerId) ? now : snapshot.issuedAt
    const revision = { reason: 'correction', disputeId: null, revisedAt: now } as const
    return scoreRevised(snapshot, { ...revision, previous, issuedAt })
  })
  await deleteReissues(
    tx,
    marks.filter(({ workerId }) => current.has(workerId)),
  )
  return { snapshots: reissued, events, marks: marks.length }
}

/** Returns what the credential of a score states. */
export function credentialOf(snapshot: Snapshot, username: string, now: Date): NewCredential {
  const { score, band, low, high, evidenceCount, engineVersion, engineSha256 } = snapshot
  return {
    username,
    score,
    scoreBand: band,
    confidenceLow: low,
    confidenceHigh: high,
    evidenceCount,
    engineVersion,
    engineBinarySha256: engineSha256.toString('hex'),
    issuedAt: now,
  }
}

/** Returns what a score keeps of its credential. */
export function digestsOf({ vcSha256, statusToken }: IssuedCredential) {
  return {
    vcSha256: Buffer.from(vcSha256, 'hex'),
    statusToken: Buffer.from(statusToken, 'hex'),
  }
}

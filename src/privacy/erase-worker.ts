/**
 * Erases one worker in one transaction, in every module that stores data of workers. Consent is
 * withdrawn first, so that receivers get `candidate.consent_changed` and nothing after it. Then
 * credentials are revoked, then stored data is deleted. These stay, for the books: the worker's id,
 * the digest of each username (so that it is never given again), the history of consent and
 * identity, the ids of scores, the digests and status tokens of credentials. docs/privacy.md gives
 * the reason for each table.
 */
import { eraseCredentials } from '../credentials/api.ts'
import { revokeDigests } from '../credentials/revoke.ts'
import { eraseReplays } from '../operations/api.ts'
import type { Tx } from '../platform/db/db.ts'
import { eraseReportsAbout } from '../reports/retention.ts'
import { eraseDisputes, eraseEvidence, eraseWorkings } from '../scoring/api.ts'
import { changeConsent } from '../scoring/scores/keep-sharing.ts'
import { eraseEvents } from '../webhooks/api.ts'
import { eraseWorkerRows, findWorkerFacts, findWorkerId, lockToErase } from '../workers/api.ts'
import { permissions } from '../workers/schema.ts'
import { findTraces } from './traces.ts'

export interface Erasure {
  /** The actor. The audit log keeps it, which the caller writes, and no other table does. */
  by: string
  at: Date
}

export interface Erased {
  workerId: string
  credentialsErased: number
  evidenceErased: number
  reportsErased: number
}

/** Returns null if no worker has the username. */
export async function eraseWorker(
  tx: Tx,
  username: string,
  { by, at }: Erasure,
): Promise<Erased | null> {
  const workerId = await findWorkerId(tx, username)
  if (workerId === null || !(await lockToErase(tx, workerId))) return null
  // Read before anything is revoked, because a score forgets a revoked credential.
  const { scores, credentials, reportedNames: usernames } = await findTraces(tx, workerId)
  const [worker] = await findWorkerFacts(tx, [workerId])
  for (const permission of permissions)
    if (worker?.consents[permission])
      await changeConsent(tx, username, { permission, textVersion: null, by, at })
  const digests = credentials.map(({ vcSha256 }) => vcSha256)
  await revokeDigests(tx, digests, at)
  await eraseCredentials(tx, digests)
  await eraseWorkings(tx, workerId, at)
  await eraseDisputes(tx, workerId)
  const evidenceErased = await eraseEvidence(tx, workerId)
  await eraseEvents(tx, workerId)
  const scoreIds = scores.map(({ snapshotId }) => snapshotId)
  const reportsErased = await eraseReportsAbout(tx, { usernames, scoreIds })
  await eraseReplays(tx, [workerId, username, ...usernames])
  await eraseWorkerRows(tx, workerId, at)
  return { workerId, credentialsErased: credentials.length, evidenceErased, reportsErased }
}

/**
 * Erases and exports one worker, each in one transaction, in every module that stores data of
 * workers. docs/privacy.md gives the reason for each table.
 */
import {
  type CredentialRecord,
  eraseCredentials,
  findCredentialRecords,
} from '../credentials/api.ts'
import { revokeDigests } from '../credentials/revoke.ts'
import { eraseReplays } from '../operations/api.ts'
import type { Tx } from '../platform/db/db.ts'
import { eraseReportsAbout, findReportedNames, findReportRecords } from '../reports/api.ts'
import {
  eraseDisputes,
  eraseEvidence,
  eraseWorkings,
  findDisputeRecords,
  findEvidenceRecords,
  findScoreRecords,
  type ScoreRecord,
} from '../scoring/api.ts'
import { changeConsent } from '../scoring/scores/keep-sharing.ts'
import { eraseEvents, findEventRecords } from '../webhooks/api.ts'
import {
  eraseWorkerRows,
  findUsernameDigests,
  findWorkerFacts,
  findWorkerHistory,
  findWorkerId,
  findWorkers,
  lockToErase,
  lockWorkers,
  type Worker,
} from '../workers/api.ts'
import { permissions } from '../workers/schema.ts'

interface Erasure {
  /** The actor. The audit log keeps it, which the caller writes, and no other table does. */
  by: string
  at: Date
}

interface Erased {
  workerId: string
  credentialsErased: number
  evidenceErased: number
  reportsErased: number
}

/**
 * Withdraws consent first, so that receivers get `candidate.consent_changed` and nothing after it.
 * Then revokes credentials, then deletes stored data. These stay, for the books: the worker's id,
 * the digest of each username (so that it is never given again), the history of consent and
 * identity, the ids of scores, the digests and status tokens of credentials. Returns null if no
 * worker has the username.
 */
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

interface WorkerExport extends Record<string, unknown> {
  workerId: string
}

/**
 * Returns null if no worker has the username. The export shows one moment: changes of the worker
 * wait for it.
 */
export async function exportWorker(
  tx: Tx,
  username: string,
  now: Date,
): Promise<WorkerExport | null> {
  const workerId = await findWorkerId(tx, username)
  if (workerId === null) return null
  await lockWorkers(tx, [workerId])
  const [worker] = await findWorkers(tx, { workerIds: [workerId] })
  if (worker === undefined) return null
  const { scores, credentials, reportedNames } = await findTraces(tx, workerId)
  const evidence = await findEvidenceRecords(tx, workerId)
  const events = await findEventRecords(tx, workerId)
  const about = [...reportedNames, ...scores.map(({ snapshotId }) => snapshotId)]
  return {
    schemaVersion: 'assay.worker_export.v1',
    exportedAt: now,
    ...workerPart(worker),
    ...(await findWorkerHistory(tx, workerId)),
    evidence: evidence.map(({ payload, ...item }) => ({ ...item, private: jsonOf(payload) })),
    scores: scores.map((score) => ({
      ...score,
      evidence: jsonOf(score.evidence),
      result: jsonOf(score.result),
    })),
    disputes: await findDisputeRecords(tx, workerId),
    credentials: credentials.map(({ payload, proof, issuedAt, revokedAt }) => ({
      issuedAt,
      revokedAt,
      credential: { ...(jsonOf(payload) as object), proof: jsonOf(proof) },
    })),
    events: events.map(({ withheldAt, body }) => ({ withheldAt, event: jsonOf(body) })),
    reports: await findReportRecords(tx, about),
  }
}

function workerPart({ profile, consents, identity, ...rest }: Worker) {
  return { ...rest, profile, consents, identity }
}

/** The text is JSON that this service wrote. */
function jsonOf(text: string | null): unknown {
  return text === null ? null : JSON.parse(text)
}

interface Traces {
  scores: ScoreRecord[]
  /**
   * Credentials of these scores, and all credentials that were issued by hand under any username of
   * the worker.
   */
  credentials: CredentialRecord[]
  /** Usernames of the worker that agent reports name. */
  reportedNames: string[]
}

async function findTraces(tx: Tx, workerId: string): Promise<Traces> {
  const scores = await findScoreRecords(tx, workerId)
  const vcSha256s = scores.flatMap(({ vcSha256 }) =>
    vcSha256 === null ? [] : Buffer.from(vcSha256, 'hex'),
  )
  const usernameSha256s = await findUsernameDigests(tx, workerId)
  const credentials = await findCredentialRecords(tx, { vcSha256s, usernameSha256s })
  const reportedNames = await findReportedNames(tx, usernameSha256s)
  return { scores, credentials, reportedNames }
}

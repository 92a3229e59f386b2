/** Exports everything that is stored about one worker in one document. */
import type { Tx } from '../platform/db/db.ts'
import { findReportRecords } from '../reports/api.ts'
import { findDisputeRecords, findEvidenceRecords } from '../scoring/api.ts'
import { findEventRecords } from '../webhooks/api.ts'
import {
  findWorkerHistory,
  findWorkerId,
  findWorkers,
  lockWorkers,
  type Worker,
} from '../workers/api.ts'
import { findTraces } from './traces.ts'

export interface WorkerExport extends Record<string, unknown> {
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

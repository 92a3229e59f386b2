/** Export and erasure of the data of this module about one worker. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { deleteReissuesOf } from './reissue-store.ts'

/** What an export shows of a score. */
export interface ScoreRecord {
  /** 64 lowercase hex characters. */
  snapshotId: string
  vcSha256: string | null
  /** Input and result of the engine as JSON text, or null if they were erased. */
  evidence: string | null
  result: string | null
}

export function findScoreRecords(db: Queryable, workerId: string): Promise<ScoreRecord[]> {
  return db.rows<ScoreRecord>(sql`
    select encode(s.snapshot_id, 'hex') as "snapshotId", s.state, s.change, s.reason,
      to_char(s.as_of, 'YYYY-MM-DD') as "asOf", s.engine_version as "engineVersion", s.score,
      s.confidence_low as low, s.confidence_high as high, s.band,
      s.evidence_count as "evidenceCount", s.source_count as "sourceCount",
      s.issued_at as "issuedAt", s.ended_at as "endedAt", encode(s.vc_sha256, 'hex') as "vcSha256",
      w.evidence, w.result
    from score_snapshots s left join score_workings w on w.snapshot_id = s.snapshot_id
    where s.worker_id = ${workerId} order by s.issued_at`)
}

/**
 * Ends the worker's active score and erases evidence, result and nonce of all scores, so that none
 * can be recomputed. The rows of the scores stay, so that a published id remains known.
 */
export async function eraseWorkings(tx: Tx, workerId: string, at: Date): Promise<void> {
  await tx.run(sql`
    update score_snapshots set state = 'withdrawn', ended_at = ${at}
    where worker_id = ${workerId} and state = 'active'`)
  await tx.run(sql`
    delete from score_workings
    where snapshot_id in (select snapshot_id from score_snapshots where worker_id = ${workerId})`)
  await tx.run(sql`delete from score_evaluations where worker_id = ${workerId}`)
  await deleteReissuesOf(tx, [workerId])
}

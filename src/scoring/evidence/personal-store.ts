/** Export and erasure of the data of this module about one worker. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'

/** What an export shows of an item. */
interface EvidenceRecord {
  /** JSON text, or null if the item has no private part. */
  payload: string | null
}

export function findEvidenceRecords(db: Queryable, workerId: string): Promise<EvidenceRecord[]> {
  return db.rows<EvidenceRecord>(sql`
    select e.evidence_id as "evidenceId", e.source_id as "sourceId",
      e.external_id as "externalId", e.skill_id as "skillId", e.type, e.value,
      to_char(e.observed_on, 'YYYY-MM-DD') as "observedOn",
      to_char(e.expires_on, 'YYYY-MM-DD') as "expiresOn", encode(e.digest, 'hex') as digest,
      e.ingested_at as "ingestedAt", e.state, e.revoked_reason as "revokedReason",
      e.revoked_by as "revokedBy", p.payload
    from evidence e left join evidence_private p on p.evidence_id = e.evidence_id
    where e.worker_id = ${workerId} order by e.evidence_id`)
}

/** Erases all evidence of the worker and returns the number of items. */
export async function eraseEvidence(tx: Tx, workerId: string): Promise<number> {
  await tx.run(sql`delete from score_recomputations where worker_id = ${workerId}`)
  await tx.run(sql`
    delete from evidence_private
    where evidence_id in (select evidence_id from evidence where worker_id = ${workerId})`)
  return tx.run(sql`delete from evidence where worker_id = ${workerId}`)
}

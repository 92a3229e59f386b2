/** Export and erasure of the data of this module about one worker. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'

/** Returns the disputes as an export shows them. */
export function findDisputeRecords(db: Queryable, workerId: string): Promise<object[]> {
  return db.rows<object>(sql`
    select d.id as "disputeId", d.kind, d.state, d.resolution, d.restricted,
      encode(d.snapshot_id, 'hex') as "snapshotId",
      encode(d.resulting_snapshot_id, 'hex') as "resultingSnapshotId", d.opened_at as "openedAt",
      d.due_at as "dueAt", d.ended_at as "endedAt",
      (select coalesce(json_agg(json_build_object('evidenceId', t.evidence_id,
        'excluded', t.excluded, 'upheld', t.upheld) order by t.evidence_id), '[]')
        from dispute_targets t where t.dispute_id = d.id and t.evidence_id is not null) as evidence,
      (select json_agg(json_build_object('state', c.state, 'changedAt', c.changed_at,
        'actor', c.actor) order by
        array_position(array['open', 'under_review', 'resolved', 'withdrawn'], c.state))
        from dispute_changes c where c.dispute_id = d.id) as changes
    from disputes d where d.worker_id = ${workerId} order by d.id`)
}

/**
 * Erases the worker's disputes. Call it before the erasure of evidence, because disputes refer to
 * evidence. An ended dispute of a previous worker of the evidence refers to it too.
 */
export async function eraseDisputes(tx: Tx, workerId: string): Promise<void> {
  await tx.run(sql`
    delete from dispute_changes
    where dispute_id in (select id from disputes where worker_id = ${workerId})`)
  await tx.run(sql`
    delete from dispute_targets
    where worker_id = ${workerId} or evidence_id in (select evidence_id from evidence where worker_id = ${workerId})`)
  await tx.run(sql`delete from disputes where worker_id = ${workerId}`)
}

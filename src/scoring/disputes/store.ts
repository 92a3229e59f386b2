/** SQL of the tables `disputes`, `dispute_targets` and `dispute_changes`. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { Dispute, DisputeState, Resolution } from './dispute.ts'

/**
 * Returns disputes in order of due date. Under the workers' locks they stay the same until the
 * transaction ends.
 */
export function findDisputes(db: Queryable, ids: readonly string[]): Promise<Dispute[]> {
  return db.rows<Dispute>(sql`
    select d.id, d.worker_id as "workerId", d.kind, d.state, d.resolution, d.restricted,
      encode(d.snapshot_id, 'hex') as "snapshotId",
      encode(d.resulting_snapshot_id, 'hex') as "resultingSnapshotId", d.opened_at as "openedAt",
      d.due_at as "dueAt", d.ended_at as "endedAt",
      (select coalesce(json_agg(json_build_object('evidenceId', t.evidence_id,
        'excluded', t.excluded, 'upheld', t.upheld) order by t.evidence_id), '[]')
        from dispute_targets t where t.dispute_id = d.id and t.evidence_id is not null) as items
    from disputes d where d.id = any(${ids}::uuid[]) order by d.due_at, d.id`)
}

interface DisputePage {
  /** Disputes of this worker only; null: of all. */
  workerId: string | null
  /** The id of the last row of the page before, or null for the first page. */
  after: string | null
  limit: number
}

/** Returns the disputes that are open or under review, first due first. */
export async function findOpenDisputeIds(
  db: Queryable,
  { after, limit }: Pick<DisputePage, 'after' | 'limit'>,
): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select id from disputes
    where state in ('open', 'under_review')
      and (${after}::uuid is null
        or (due_at, id) > (select due_at, id from disputes where id = ${after}::uuid))
    order by due_at, id limit ${limit}`)
  return rows.map(({ id }) => id)
}

/** Returns disputes, open and ended, the latest opened first. */
export async function findLatestDisputeIds(
  db: Queryable,
  { workerId, after, limit }: DisputePage,
): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select id from disputes
    where (${workerId}::uuid is null or worker_id = ${workerId}::uuid)
      and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc limit ${limit}`)
  return rows.map(({ id }) => id)
}

export interface OpenDispute {
  id: string
  workerId: string
  restricted: boolean
}

/** Returns the open disputes of these workers, the latest opened first. */
export function findOpenDisputesOf(
  db: Queryable,
  workerIds: readonly string[],
): Promise<OpenDispute[]> {
  return db.rows<OpenDispute>(sql`
    select id, worker_id as "workerId", restricted from disputes
    where worker_id = any(${workerIds}::uuid[]) and state in ('open', 'under_review')
    order by id desc`)
}

/**
 * Returns an open dispute of the worker about the same subject; for evidence, about any of the
 * items.
 */
export async function findOpenDisputeAbout(
  db: Queryable,
  { workerId, kind, evidenceIds }: Pick<NewDispute, 'workerId' | 'kind' | 'evidenceIds'>,
): Promise<string | null> {
  const [row] = await db.rows<{ id: string }>(sql`
    select dispute_id as id from dispute_targets
    where worker_id = ${workerId} and kind = ${kind} and state in ('open', 'under_review')
      and (evidence_id is null or evidence_id = any(${evidenceIds}::uuid[]))
    order by dispute_id limit 1`)
  return row?.id ?? null
}

/** Returns the open dispute of each item, of any worker. */
export async function findDisputed(
  db: Queryable,
  evidenceIds: readonly string[],
): Promise<{ evidenceId: string; disputeId: string }[]> {
  return db.rows(sql`
    select evidence_id as "evidenceId", dispute_id as "disputeId" from dispute_targets
    where evidence_id = any(${evidenceIds}::uuid[]) and state in ('open', 'under_review')
    order by evidence_id`)
}

interface NewDispute
  extends Pick<
    Dispute,
    'id' | 'workerId' | 'kind' | 'restricted' | 'snapshotId' | 'openedAt' | 'dueAt'
  > {
  evidenceIds: readonly string[]
  /** Those of `evidenceIds` that are excluded. */
  excludedIds: readonly string[]
}

/** The caller holds the worker's lock. */
export async function insertDispute(tx: Tx, dispute: NewDispute): Promise<void> {
  const { id, workerId, kind, restricted, snapshotId, openedAt, dueAt } = dispute
  const snapshot = snapshotId === null ? null : Buffer.from(snapshotId, 'hex')
  await tx.run(sql`
    insert into disputes (id, worker_id, kind, state, restricted, snapshot_id, opened_at, due_at)
    values (${id}, ${workerId}, ${kind}, 'open', ${restricted}, ${snapshot}, ${openedAt}, ${dueAt})`)
  const { evidenceIds, excludedIds } = dispute
  const targets = evidenceIds.length === 0 ? [null] : evidenceIds
  await tx.run(sql`
    insert into dispute_targets (dispute_id, state, worker_id, kind, evidence_id, excluded)
    select ${id}::uuid, 'open', ${workerId}::uuid, ${kind}::text, target,
      coalesce(target = any(${excludedIds}::uuid[]), false)
    from unnest(${targets}::uuid[]) as target`)
}

/** The caller holds the worker's lock. */
export async function markUnderReview(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`update disputes set state = 'under_review' where id = ${id}`)
}

interface EndedDispute {
  id: string
  /** Null if the dispute was withdrawn. */
  resolution: Resolution | null
  upheldIds: readonly string[]
  resultingSnapshotId: string | null
  endedAt: Date
}

/** The caller holds the worker's lock. */
export async function markEnded(tx: Tx, ended: EndedDispute): Promise<void> {
  const { id, resolution, upheldIds, resultingSnapshotId, endedAt } = ended
  const state = resolution === null ? 'withdrawn' : 'resolved'
  const snapshot = resultingSnapshotId === null ? null : Buffer.from(resultingSnapshotId, 'hex')
  await tx.run(sql`
    update disputes set state = ${state}, resolution = ${resolution},
      resulting_snapshot_id = ${snapshot}, ended_at = ${endedAt}
    where id = ${id}`)
  await tx.run(sql`
    update dispute_targets set upheld = true
    where dispute_id = ${id} and evidence_id = any(${upheldIds}::uuid[])`)
}

interface DisputeChange {
  state: DisputeState
  changedAt: Date
  actor: string
}

/** Records the new state of the dispute. The caller holds the worker's lock. */
export async function insertChange(
  tx: Tx,
  disputeId: string,
  { state, changedAt, actor }: DisputeChange,
): Promise<void> {
  await tx.run(sql`
    insert into dispute_changes (dispute_id, state, changed_at, actor)
    values (${disputeId}, ${state}, ${changedAt}, ${actor})`)
}

/** Returns the changes, oldest first. */
export function findChanges(db: Queryable, disputeId: string): Promise<DisputeChange[]> {
  return db.rows<DisputeChange>(sql`
    select state, changed_at as "changedAt", actor from dispute_changes
    where dispute_id = ${disputeId}
    order by array_position(array['open', 'under_review', 'resolved', 'withdrawn'], state)`)
}

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

/** SQL of the table `score_recomputations`: workers whose score must be recomputed. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'

export type RecomputationReason =
  | 'evidence_added'
  | 'evidence_revoked'
  | 'evidence_excluded'
  | 'evidence_restored'
  | 'evidence_expired'
  | 'source_changed'
  | 'sharing_allowed'
  | 'rules_changed'
  | 'evaluation_due'
  | 'operator'
  | 'engine_recalled'

/**
 * Marks workers for recomputation. An existing mark keeps its time and reason, but is locked: a
 * transaction that takes the mark waits until this change is visible. Rows are locked in order of
 * worker id, against deadlocks.
 */
export async function markForRecomputation(
  tx: Tx,
  workerIds: Iterable<string>,
  { reason, now }: { reason: RecomputationReason; now: Date },
): Promise<void> {
  const ids = [...new Set(workerIds)]
  if (ids.length === 0) return
  await tx.run(sql`
    insert into score_recomputations as due (worker_id, since, reason)
    select id, ${now}::timestamptz, ${reason}::text from unnest(${ids}::uuid[]) as id order by id
    on conflict (worker_id) do update set since = due.since`)
}

/** Marks every worker with evidence of the source, in the way of `markForRecomputation`. */
export async function markWorkersOfSource(tx: Tx, sourceId: string, now: Date): Promise<void> {
  await tx.run(sql`
    insert into score_recomputations as due (worker_id, since, reason)
    select distinct worker_id, ${now}::timestamptz, 'source_changed' from evidence
    where source_id = ${sourceId} order by worker_id
    on conflict (worker_id) do update set since = due.since`)
}

/**
 * Locks at most `limit` marks, oldest first, and returns their workers. Skips marks that another
 * transaction holds.
 *
 * The caller deletes the marks and then reads the evidence in a later statement of the same
 * transaction. So no change is lost: either the statement reads the change, or the change marks its
 * worker again.
 */
export async function lockRecomputations(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    select worker_id as "workerId" from score_recomputations
    order by since limit ${limit} for update skip locked`)
  return rows.map(({ workerId }) => workerId)
}

/**
 * Deletes marks. Waits for transactions that are marking one of the workers. Rows are locked in
 * order of worker id, as in `markForRecomputation`.
 */
export async function deleteRecomputations(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`
    delete from score_recomputations where worker_id in (
      select worker_id from score_recomputations where worker_id = any(${workerIds}::uuid[])
      order by worker_id for update
    )`)
}

/** Marks every worker with evidence. Returns the number of new marks. */
export function markWorkersWithEvidence(
  tx: Tx,
  reason: RecomputationReason,
  now: Date,
): Promise<number> {
  return tx.run(sql`
    insert into score_recomputations (worker_id, since, reason)
    select distinct worker_id, ${now}::timestamptz, ${reason}::text from evidence order by worker_id
    on conflict do nothing`)
}

export async function countRecomputations(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*) as count from score_recomputations`)
  return row?.count ?? 0
}

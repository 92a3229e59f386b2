/** All SQL of score_recomputations: whose score no longer follows from the evidence. */
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
 * The scores of these workers no longer follow from their evidence. A row that is there already keeps its time and reason, and is
 * locked all the same: whoever takes it waits until this change can be read. In the order of ids, against deadlocks.
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

/** As `markForRecomputation`, for everybody who has evidence of the source. */
export async function markWorkersOfSource(tx: Tx, sourceId: string, now: Date): Promise<void> {
  await tx.run(sql`
    insert into score_recomputations as due (worker_id, since, reason)
    select distinct worker_id, ${now}::timestamptz, 'source_changed' from evidence
    where source_id = ${sourceId} order by worker_id
    on conflict (worker_id) do update set since = due.since`)
}

/**
 * The longest waiting workers, at most `limit`, under the locks of their marks; skips what another transaction holds. Whoever deletes the
 * marks and reads the evidence in a later statement of the same transaction misses nothing: every change is either in what is read or
 * marks its worker again.
 */
export async function lockRecomputations(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    select worker_id as "workerId" from score_recomputations
    order by since limit ${limit} for update skip locked`)
  return rows.map(({ workerId }) => workerId)
}

/** Waits for whoever is marking one of them. In the order of ids, as marking is. */
export async function deleteRecomputations(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`
    delete from score_recomputations where worker_id in (
      select worker_id from score_recomputations where worker_id = any(${workerIds}::uuid[])
      order by worker_id for update
    )`)
}

/** Marks everybody who has evidence; gives how many were not marked before. */
export function markEverybody(tx: Tx, reason: RecomputationReason, now: Date): Promise<number> {
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

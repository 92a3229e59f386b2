/** SQL of the table `score_recomputations`: workers whose score must be recomputed. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'

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

export interface Mark {
  reason: RecomputationReason
  now: Date
  /** The running import that adds the evidence. The mark waits for its end. */
  importId?: string | undefined
}

/**
 * Marks workers for recomputation. An existing mark keeps its time and reason, but is locked: a
 * transaction that takes the mark waits until this change is visible. Rows are locked in order of
 * worker id, against deadlocks. A mark waits for every import that set it, and for none as soon as
 * something else sets it.
 */
export async function markForRecomputation(
  tx: Tx,
  workerIds: Iterable<string>,
  { reason, now, importId }: Mark,
): Promise<void> {
  const ids = [...new Set(workerIds)]
  if (ids.length === 0) return
  const imports = importId === undefined ? [] : [importId]
  await tx.run(sql`
    insert into score_recomputations as due (worker_id, since, reason, imports)
    select id, ${now}::timestamptz, ${reason}::text, ${imports}::uuid[]
    from unnest(${ids}::uuid[]) as id order by id
    on conflict (worker_id) do update set imports = case
      when due.imports = '{}' or excluded.imports = '{}' then '{}'
      when due.imports @> excluded.imports then due.imports
      else due.imports || excluded.imports end`)
}

/** Marks every worker with evidence of the source, in the way of `markForRecomputation`. */
export async function markWorkersOfSource(tx: Tx, sourceId: string, now: Date): Promise<void> {
  await tx.run(sql`
    insert into score_recomputations as due (worker_id, since, reason)
    select distinct worker_id, ${now}::timestamptz, 'source_changed' from evidence
    where source_id = ${sourceId} order by worker_id
    on conflict (worker_id) do update set imports = '{}'`)
}

/** Says in the transaction of each batch that the import is running. */
export async function renewImport(tx: Tx, importId: string, now: Date): Promise<void> {
  await tx.run(sql`
    insert into evidence_imports (import_id, seen_at) values (${importId}, ${now})
    on conflict (import_id) do update set seen_at = excluded.seen_at`)
}

/** Ends the import: its marks are due. Also deletes the rows that crashed imports left behind. */
export async function deleteImport(tx: Tx, importId: string, now: Date): Promise<void> {
  await tx.run(sql`
    delete from evidence_imports where import_id in (
      select import_id from import_ends
      where import_id = ${importId} or ends_at <= ${now} for update skip locked)`)
}

/**
 * Locks at most `limit` due marks, oldest first, and returns their workers. Skips marks that another
 * transaction holds, and marks that wait for a running import.
 *
 * The caller deletes the marks and then reads the evidence in a later statement of the same
 * transaction. So no change is lost: either the statement reads the change, or the change marks its
 * worker again.
 */
export async function lockRecomputations(
  tx: Tx,
  { limit, now }: { limit: number; now: Date },
): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    select worker_id as "workerId" from score_recomputations
    where is_recomputation_due(since, imports,
      array(select import_id from import_ends where ends_at > ${now}), ${now})
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

export interface RecomputationCounts {
  due: number
  /** Marks that wait for a running import. */
  waiting: number
}

export async function countRecomputations(db: Queryable, now: Date): Promise<RecomputationCounts> {
  const [row] = await db.rows<RecomputationCounts>(sql`
    select count(*) filter (where is_due) as due, count(*) filter (where not is_due) as waiting
    from (
      select is_recomputation_due(since, imports,
        array(select import_id from import_ends where ends_at > ${now}), ${now}) as is_due
      from score_recomputations
    ) marks`)
  return row ?? { due: 0, waiting: 0 }
}

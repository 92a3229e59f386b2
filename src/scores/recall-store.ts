/** All SQL of engine_recalls, and which engine made which scores. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'

/**
 * Why an engine is recalled. `wrong_result`: it does not compute what the published algorithm says. `wrong_algorithm`: the algorithm
 * itself was wrong. `unfair`: it treats some people worse than others. `compromised`: its bytes are not those that were reviewed.
 */
export const recallReasons = ['wrong_result', 'wrong_algorithm', 'unfair', 'compromised'] as const
export type RecallReason = (typeof recallReasons)[number]

export interface EngineRecall {
  engineSha256: Buffer
  engineVersion: string
  reason: RecallReason
  recalledAt: Date
}

/** The first one first. */
export function findRecalls(db: Queryable): Promise<EngineRecall[]> {
  return db.rows<EngineRecall>(sql`
    select engine_sha256 as "engineSha256", engine_version as "engineVersion", reason,
      recalled_at as "recalledAt"
    from engine_recalls order by recalled_at, engine_sha256`)
}

/** Until the end of the transaction no engine is recalled: whoever recalls one waits. */
export async function holdRecalls(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock_shared(hashtext('engine_recalls'))`)
}

/** Waits for every transaction that scores: those after it see what is recalled. */
export async function lockRecalls(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('engine_recalls'))`)
}

/** False where it was recalled before: the first recall stands. Called under the lock. */
export async function insertRecall(
  tx: Tx,
  { engineSha256, engineVersion, reason, recalledAt }: EngineRecall,
  actor: string,
): Promise<boolean> {
  const inserted = await tx.run(sql`
    insert into engine_recalls (engine_sha256, engine_version, reason, actor, recalled_at)
    values (${engineSha256}, ${engineVersion}, ${reason}, ${actor}, ${recalledAt})
    on conflict do nothing`)
  return inserted === 1
}

/** Recalled engines of whose scores not everybody is marked yet. */
export async function findUnmarkedRecalls(db: Queryable): Promise<Buffer[]> {
  const rows = await db.rows<{ engineSha256: Buffer }>(sql`
    select engine_sha256 as "engineSha256" from engine_recalls where marked_at is null`)
  return rows.map(({ engineSha256 }) => engineSha256)
}

export async function setMarked(tx: Tx, engineSha256: Buffer, now: Date): Promise<void> {
  await tx.run(sql`
    update engine_recalls set marked_at = ${now}
    where engine_sha256 = ${engineSha256} and marked_at is null`)
}

export interface MadeSnapshot {
  snapshotId: Buffer
  workerId: string
  active: boolean
  /** Null where it has no credential. */
  vcSha256: Buffer | null
}

/** What the engine made, in the order of ids, after the one given. */
export function findSnapshotsOf(
  db: Queryable,
  engineSha256: Buffer,
  { after, limit }: { after: Buffer; limit: number },
): Promise<MadeSnapshot[]> {
  return db.rows<MadeSnapshot>(sql`
    select snapshot_id as "snapshotId", worker_id as "workerId", state = 'active' as active,
      vc_sha256 as "vcSha256"
    from score_snapshots
    where snapshot_id > ${after} and engine_sha256 = ${engineSha256}
    order by snapshot_id limit ${limit}`)
}

export interface EngineScores {
  engineSha256: Buffer
  engineVersion: string
  scores: number
  active: number
}

/** Of every engine that ever made a score. Reads them all. */
export function countScoresByEngine(db: Queryable): Promise<EngineScores[]> {
  return db.rows<EngineScores>(sql`
    select engine_sha256 as "engineSha256", engine_version as "engineVersion", count(*) as scores,
      count(*) filter (where state = 'active') as active
    from score_snapshots group by engine_sha256, engine_version order by min(issued_at)`)
}

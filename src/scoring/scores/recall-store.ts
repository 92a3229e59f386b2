/** SQL of the table `engine_recalls`, and reads of scores by engine. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'

/**
 * Reasons for a recall. `wrong_result`: the engine does not follow the published algorithm.
 * `wrong_algorithm`: the algorithm itself is wrong. `unfair`: the engine treats some people worse
 * than others. `compromised`: the bytes are not the reviewed ones.
 */
export const recallReasons = ['wrong_result', 'wrong_algorithm', 'unfair', 'compromised'] as const
export type RecallReason = (typeof recallReasons)[number]

export interface EngineRecall {
  engineSha256: Buffer
  engineVersion: string
  reason: RecallReason
  recalledAt: Date
}

/** Returns all recalls, oldest first. */
export function findRecalls(db: Queryable): Promise<EngineRecall[]> {
  return db.rows<EngineRecall>(sql`
    select engine_sha256 as "engineSha256", engine_version as "engineVersion", reason,
      recalled_at as "recalledAt"
    from engine_recalls order by recalled_at, engine_sha256`)
}

export async function findRecall(
  db: Queryable,
  engineSha256: Buffer,
): Promise<EngineRecall | undefined> {
  return (await findRecalls(db)).find((recall) => recall.engineSha256.equals(engineSha256))
}

/** Prevents recalls until the transaction ends; a recall waits. */
export async function holdRecalls(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock_shared(hashtext('engine_recalls'))`)
}

/** Waits for every running scoring transaction. Later ones see the recall. */
export async function lockRecalls(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('engine_recalls'))`)
}

/**
 * Returns false if the engine was recalled before; the first recall stays. Called under
 * `lockRecalls`.
 */
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

/** Returns the recalled engines whose workers are not all marked yet. */
export async function findUnmarkedRecalls(db: Queryable): Promise<Buffer[]> {
  const rows = await db.rows<{ engineSha256: Buffer }>(sql`
    select engine_sha256 as "engineSha256" from engine_recalls where marked_at is null`)
  return rows.map(({ engineSha256 }) => engineSha256)
}

/** Locks the recall. Returns the id up to which its scores are marked, or null if all are. */
export async function lockMarkedTo(tx: Tx, engineSha256: Buffer): Promise<Buffer | null> {
  const [row] = await tx.rows<{ markedTo: Buffer }>(sql`
    select marked_to as "markedTo" from engine_recalls
    where engine_sha256 = ${engineSha256} and marked_at is null for update`)
  return row?.markedTo ?? null
}

export async function setMarkedTo(tx: Tx, engineSha256: Buffer, to: Buffer): Promise<void> {
  await tx.run(sql`
    update engine_recalls set marked_to = ${to} where engine_sha256 = ${engineSha256}`)
}

export async function setMarked(tx: Tx, engineSha256: Buffer, now: Date): Promise<void> {
  await tx.run(sql`
    update engine_recalls set marked_at = ${now} where engine_sha256 = ${engineSha256}`)
}

export interface MadeSnapshot {
  snapshotId: Buffer
  workerId: string
  active: boolean
  /** Null if the score has no credential. */
  vcSha256: Buffer | null
}

/** Returns the scores of an engine in order of id, after the id `after`. */
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

/** Counts the scores of every engine. Scans the whole table. */
export function countScoresByEngine(db: Queryable): Promise<EngineScores[]> {
  return db.rows<EngineScores>(sql`
    select engine_sha256 as "engineSha256", engine_version as "engineVersion", count(*) as scores,
      count(*) filter (where state = 'active') as active
    from score_snapshots group by engine_sha256, engine_version order by min(issued_at)`)
}

/**
 * Recall of an engine that was found to be wrong. Every active score of the engine is recomputed by
 * the current engine as a correction, with its credential revoked. The credentials of the engine's
 * earlier scores are revoked too.
 *
 * The recall is one row. From its commit on, no process computes a score with that engine: scoring
 * transactions hold `holdRecalls`, and a recall waits for them. Then the affected workers are
 * marked, page by page. If a run is interrupted, any process goes on after its last page until
 * `marked_at` is set. The queue of recomputations does the rest.
 */
import { revokeDigests } from '../../credentials/revoke.ts'
import { type Db, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { markForRecomputation } from '../evidence/recomputation-store.ts'
import { type Engine, EngineRefused } from './engine.ts'

/**
 * Records a recall. Returns false if the engine was recalled before: the first recall stays. The
 * caller then marks its pages, in transactions of their own.
 */
export async function recallEngine(tx: Tx, recall: EngineRecall, by: string): Promise<boolean> {
  await lockRecalls(tx)
  return insertRecall(tx, recall, by)
}

/** Marks the pages of every recall that are left. */
export async function markRecalled(db: Db, now: Date): Promise<void> {
  for (const engineSha256 of await findUnmarkedRecalls(db))
    while (!(await db.transaction((tx) => markPage(tx, engineSha256, now))).isLast);
}

const pageRows = 1_000

interface Marked {
  /** Workers whose active score is of the engine. */
  workers: number
  /** Credentials of earlier scores that are revoked now. */
  revoked: number
  isLast: boolean
}

/**
 * Marks the workers of one page of an engine's scores, and revokes the credentials of the earlier
 * scores on it. Pages are taken by one transaction at a time.
 */
export async function markPage(tx: Tx, engineSha256: Buffer, now: Date): Promise<Marked> {
  const after = await lockMarkedTo(tx, engineSha256)
  if (after === null) return { workers: 0, revoked: 0, isLast: true }
  const made = await findSnapshotsOf(tx, engineSha256, { after, limit: pageRows })
  const due = made.filter(({ active }) => active).map(({ workerId }) => workerId)
  await markForRecomputation(tx, due, { reason: 'engine_recalled', now })
  // The correction revokes the credential of the active score itself and sends the event for it.
  const before = made.flatMap(({ active, vcSha256 }) =>
    active || vcSha256 === null ? [] : vcSha256,
  )
  const revoked = before.length > 0 ? await revokeDigests(tx, before, now) : []
  const last = made.at(-1)
  const isLast = made.length < pageRows || last === undefined
  if (isLast) await setMarked(tx, engineSha256, now)
  else await setMarkedTo(tx, engineSha256, last.snapshotId)
  return { workers: due.length, revoked: revoked.filter((row) => row.now).length, isLast }
}

/** Returns the SHA-256 of each recalled engine, 64 lowercase hex characters. */
export async function recalledEngines(db: Queryable): Promise<Set<string>> {
  return new Set((await findRecalls(db)).map(({ engineSha256 }) => engineSha256.toString('hex')))
}

/**
 * Checks that the engine was not recalled.
 * @throws EngineRefused if the engine was recalled
 */
export function refuseRecalled(engine: Engine, recalled: ReadonlySet<string>): void {
  if (!recalled.has(engine.binarySha256)) return
  throw new EngineRefused(
    'recalled',
    `engine ${engine.id} ${engine.version} was recalled: install a release with another engine`,
  )
}

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
async function lockRecalls(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('engine_recalls'))`)
}

/**
 * Returns false if the engine was recalled before; the first recall stays. Called under
 * `lockRecalls`.
 */
async function insertRecall(
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
async function findUnmarkedRecalls(db: Queryable): Promise<Buffer[]> {
  const rows = await db.rows<{ engineSha256: Buffer }>(sql`
    select engine_sha256 as "engineSha256" from engine_recalls where marked_at is null`)
  return rows.map(({ engineSha256 }) => engineSha256)
}

/** Locks the recall. Returns the id up to which its scores are marked, or null if all are. */
async function lockMarkedTo(tx: Tx, engineSha256: Buffer): Promise<Buffer | null> {
  const [row] = await tx.rows<{ markedTo: Buffer }>(sql`
    select marked_to as "markedTo" from engine_recalls
    where engine_sha256 = ${engineSha256} and marked_at is null for update`)
  return row?.markedTo ?? null
}

async function setMarkedTo(tx: Tx, engineSha256: Buffer, to: Buffer): Promise<void> {
  await tx.run(sql`
    update engine_recalls set marked_to = ${to} where engine_sha256 = ${engineSha256}`)
}

async function setMarked(tx: Tx, engineSha256: Buffer, now: Date): Promise<void> {
  await tx.run(sql`
    update engine_recalls set marked_at = ${now} where engine_sha256 = ${engineSha256}`)
}

interface MadeSnapshot {
  snapshotId: Buffer
  workerId: string
  active: boolean
  /** Null if the score has no credential. */
  vcSha256: Buffer | null
}

/** Returns the scores of an engine in order of id, after the id `after`. */
function findSnapshotsOf(
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

interface EngineScores {
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

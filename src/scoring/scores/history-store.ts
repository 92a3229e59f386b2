/**
 * Reads of every score ever issued, with the inputs that recompute it, and the erasure of a
 * worker's inputs. `store.ts` writes the tables.
 */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { Band } from '../core/parameters.ts'
import type { ScoreResult } from '../core/score.ts'
import { deleteReissuesOf } from './reissue-store.ts'
import type { NewSnapshot, Snapshot } from './snapshot.ts'
import { snapshotColumns } from './store.ts'

/** What recomputes a score, and what it gave. */
export type StoredSnapshot = Pick<
  NewSnapshot,
  | 'snapshotId'
  | 'workerId'
  | 'asOf'
  | 'engineId'
  | 'engineVersion'
  | 'engineSha256'
  | 'vocabularySha256'
  | 'evidenceRoot'
  | 'nonce'
  | 'evidence'
  | 'result'
  | (typeof publishedOfResult)[number]
>

/** What is published of the result of the engine. */
export const publishedOfResult = [
  'score',
  'low',
  'high',
  'band',
  'evidenceCount',
  'sourceCount',
] as const satisfies (keyof ScoreResult & keyof NewSnapshot)[]

/** Returns scores in order of id, from the id `from` on. */
export function findSnapshotsFrom(
  db: Queryable,
  from: Buffer,
  limit: number,
): Promise<StoredSnapshot[]> {
  return db.rows<StoredSnapshot>(sql`
    select s.snapshot_id as "snapshotId", s.worker_id as "workerId",
      to_char(s.as_of, 'YYYY-MM-DD') as "asOf", s.engine_id as "engineId",
      s.engine_version as "engineVersion", s.engine_sha256 as "engineSha256",
      s.vocabulary_sha256 as "vocabularySha256", s.evidence_root as "evidenceRoot", w.nonce,
      w.evidence, w.result, s.score, s.confidence_low as low, s.confidence_high as high, s.band,
      s.evidence_count as "evidenceCount", s.source_count as "sourceCount"
    from score_snapshots s join score_workings w on w.snapshot_id = s.snapshot_id
    where s.snapshot_id >= ${from}
    order by s.snapshot_id limit ${limit}`)
}

export async function findSnapshot(
  db: Queryable,
  snapshotId: Buffer,
): Promise<StoredSnapshot | undefined> {
  const [row] = await findSnapshotsFrom(db, snapshotId, 1)
  return row?.snapshotId.equals(snapshotId) ? row : undefined
}

export interface ErasedSnapshot {
  snapshotId: Buffer
  workerId: string
}

/**
 * Returns the scores that cannot be recomputed, because their inputs were erased, in order of id
 * from the id `from` on.
 */
export function findErasedFrom(
  db: Queryable,
  from: Buffer,
  limit: number,
): Promise<ErasedSnapshot[]> {
  return db.rows<ErasedSnapshot>(sql`
    select s.snapshot_id as "snapshotId", s.worker_id as "workerId"
    from score_snapshots s
    where s.snapshot_id >= ${from}
      and not exists (select from score_workings w where w.snapshot_id = s.snapshot_id)
    order by s.snapshot_id limit ${limit}`)
}

/** Returns the smallest byte string that sorts after `id`. */
export function bytesAfter(id: Buffer): Buffer {
  return Buffer.concat([id, Buffer.alloc(1)])
}

export async function countSnapshots(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*)::int as count from score_snapshots`)
  return row?.count ?? 0
}

/** Returns the rules of a vocabulary as canonical JSON, or undefined. */
export async function findRules(db: Queryable, sha256: Buffer): Promise<string | undefined> {
  const [row] = await db.rows<{ rules: string }>(sql`
    select rules from scoring_vocabularies where vocabulary_sha256 = ${sha256}`)
  return row?.rules
}

export interface ScoreInHistory extends Snapshot {
  state: 'active' | 'superseded' | 'withdrawn'
  change: 'first' | 'updated' | 'revised'
  reason: string | null
  endedAt: Date | null
}

/** Returns the scores of a worker, newest first. */
export function findHistory(
  db: Queryable,
  workerId: string,
  limit: number,
): Promise<ScoreInHistory[]> {
  return db.rows<ScoreInHistory>(sql`
    select ${snapshotColumns}, s.state, s.change, s.reason, s.ended_at as "endedAt"
    from score_snapshots s where s.worker_id = ${workerId}
    order by s.issued_at desc, (s.state = 'active') desc, s.snapshot_id limit ${limit}`)
}

export interface ActivePage {
  /** Only scores of this band; null: of any. */
  band: Band | null
  /** The worker of the last row of the page before, or null for the first page. */
  after: string | null
  limit: number
}

/** Returns active scores, those of the latest registered workers first. */
export function findActivePage(
  db: Queryable,
  { band, after, limit }: ActivePage,
): Promise<(Snapshot & { username: string })[]> {
  return db.rows(sql`
    select ${snapshotColumns}, p.username
    from score_snapshots s join profiles p on p.worker_id = s.worker_id
    where s.state = 'active' and (${band}::text is null or s.band = ${band})
      and (${after}::uuid is null or s.worker_id < ${after})
    order by s.worker_id desc limit ${limit}`)
}

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

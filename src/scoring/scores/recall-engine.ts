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
import type { Db, Queryable, Tx } from '../../platform/db/db.ts'
import { markForRecomputation } from '../evidence/recomputation-store.ts'
import { type Engine, EngineRefused } from './engine.ts'
import {
  type EngineRecall,
  findRecalls,
  findSnapshotsOf,
  findUnmarkedRecalls,
  insertRecall,
  lockMarkedTo,
  lockRecalls,
  setMarked,
  setMarkedTo,
} from './recall-store.ts'

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

/**
 * Recall of an engine that was found to be wrong. Every active score of the engine is recomputed by
 * the current engine as a correction, with its credential revoked. The credentials of the engine's
 * earlier scores are revoked too.
 *
 * The recall is one row. From its commit on, no process computes a score with that engine: scoring
 * transactions hold `holdRecalls`, and a recall waits for them. Then the affected workers are
 * marked, page by page. If a run is interrupted, any process starts it again until `marked_at` is
 * set. The queue of recomputations does the rest.
 */
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import { markForRecomputation } from '../evidence/recomputation-store.ts'
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import { type Engine, EngineRefused } from './engine.ts'
import {
  findRecalls,
  findSnapshotsOf,
  findUnmarkedRecalls,
  insertRecall,
  lockRecalls,
  type RecallReason,
  setMarked,
} from './recall-store.ts'

export interface RecalledEngine {
  version: string
  /** SHA-256 of its bundle, 64 lowercase hex characters. */
  sha256: string
  /** Number of its active scores, for the audit log. */
  active: number
}

/**
 * Records a recall. Returns false if the engine was recalled before. The caller then calls
 * `markRecalled`. The recall keeps `by`.
 */
export function recallEngine(
  context: ActionContext,
  { version, sha256, active }: RecalledEngine,
  { reason, by }: { reason: RecallReason; by: string },
): Promise<boolean> {
  return audited(context, 'engines.recalled', async (tx, now) => {
    const engineSha256 = Buffer.from(sha256, 'hex')
    const recall = { engineSha256, engineVersion: version, reason, recalledAt: now }
    await lockRecalls(tx)
    if (!(await insertRecall(tx, recall, by))) return unchanged(false)
    return changed(true, { subjects: [sha256], details: { version, reason, active } })
  })
}

const batch = 1_000

/**
 * Marks every worker with an active score of a recalled engine, and revokes the credentials of
 * earlier scores of these engines. Returns false if the signal ended it before.
 */
export async function markRecalled(db: Db, now: Date, signal?: AbortSignal): Promise<boolean> {
  for (const engineSha256 of await findUnmarkedRecalls(db)) {
    for (let after: Buffer | null = Buffer.alloc(0); after !== null; ) {
      if (signal?.aborted) return false
      const from: Buffer = after
      after = await db.transaction((tx) => markPage(tx, engineSha256, { after: from, now }))
    }
    await db.transaction((tx) => setMarked(tx, engineSha256, now))
  }
  return true
}

/** Marks one page. Returns the id to continue after, or null after the last page. */
async function markPage(
  tx: Tx,
  engineSha256: Buffer,
  { after, now }: { after: Buffer; now: Date },
): Promise<Buffer | null> {
  const made = await findSnapshotsOf(tx, engineSha256, { after, limit: batch })
  const due = made.filter(({ active }) => active).map(({ workerId }) => workerId)
  await markForRecomputation(tx, due, { reason: 'engine_recalled', now })
  // The correction revokes the credential of the active score itself and sends the event for it.
  const before = made.flatMap(({ active, vcSha256 }) =>
    active || vcSha256 === null ? [] : vcSha256,
  )
  if (before.length > 0) await revokeDigests(tx, before, now)
  return made.length < batch ? null : (made.at(-1)?.snapshotId ?? null)
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

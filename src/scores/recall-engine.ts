/**
 * The recall of an engine that was found to be wrong. Everything it scored was wrong: each score that stands is computed again by the
 * engine of the day as a correction, its credential revoked with it, and credentials of the scores before are revoked as well.
 *
 * The recall itself is one row. From its commit on nothing is scored by that engine, in no process: whoever scores holds the recalls
 * (`holdRecalls`), and a recall waits for them. Then whom it concerns is marked, page by page; a run that is cut off is begun again, here
 * or by any worker, until `marked_at` is there. The scores follow from the queue, like any other recomputation.
 */
import { markForRecomputation } from '../evidence/recomputation-store.ts'
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import { type Engine, EngineRefused } from './engine.ts'
import {
  type EngineRecall,
  findRecalls,
  findSnapshotsOf,
  findUnmarkedRecalls,
  insertRecall,
  lockRecalls,
  setMarked,
} from './recall-store.ts'

/** False where it was recalled before. `markRecalled` is to follow. */
export async function recallEngine(tx: Tx, recall: EngineRecall, actor: string): Promise<boolean> {
  await lockRecalls(tx)
  return insertRecall(tx, recall, actor)
}

const batch = 1_000

/** Everybody with a score of a recalled engine is due, and credentials of what these engines scored before are revoked. */
export async function markRecalled(db: Db, now: Date): Promise<void> {
  for (const engineSha256 of await findUnmarkedRecalls(db)) {
    for (let after: Buffer | null = Buffer.alloc(0); after !== null; ) {
      const from: Buffer = after
      after = await db.transaction((tx) => markPage(tx, engineSha256, { after: from, now }))
    }
    await db.transaction((tx) => setMarked(tx, engineSha256, now))
  }
}

/** Gives the id that the next page comes after, or null where there is none. */
async function markPage(
  tx: Tx,
  engineSha256: Buffer,
  { after, now }: { after: Buffer; now: Date },
): Promise<Buffer | null> {
  const made = await findSnapshotsOf(tx, engineSha256, { after, limit: batch })
  const due = made.filter(({ active }) => active).map(({ workerId }) => workerId)
  await markForRecomputation(tx, due, { reason: 'engine_recalled', now })
  // Of the one that is active the correction revokes it, and tells of it.
  const before = made.flatMap(({ active, vcSha256 }) =>
    active || vcSha256 === null ? [] : vcSha256,
  )
  if (before.length > 0) await revokeDigests(tx, before, now)
  return made.length < batch ? null : (made.at(-1)?.snapshotId ?? null)
}

/** The SHA-256s, 64 lowercase digits, of the engines that were recalled. */
export async function recalledEngines(db: Queryable): Promise<Set<string>> {
  return new Set((await findRecalls(db)).map(({ engineSha256 }) => engineSha256.toString('hex')))
}

/**
 * @throws EngineRefused where it was recalled
 */
export function refuseRecalled(engine: Engine, recalled: ReadonlySet<string>): void {
  if (!recalled.has(engine.binarySha256)) return
  throw new EngineRefused(
    'recalled',
    `engine ${engine.id} ${engine.version} was recalled: install a release with another engine`,
  )
}

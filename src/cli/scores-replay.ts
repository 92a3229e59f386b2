/** `assay scores replay`: computes scores again, as they were made, and compares: 0 all agree, 1 any differs, 2 could not be done. */
import type { Config } from '../config.ts'
import type { Db } from '../platform/db.ts'
import {
  bytesAfter,
  countSnapshots,
  findSnapshot,
  findSnapshotsFrom,
  type StoredSnapshot,
} from '../scores/history-store.ts'
import { openMakers, replay } from '../scores/replay.ts'
import { done, note, type Outcome } from './output.ts'
import { showProgress } from './progress.ts'
import { Interrupted, UsageError } from './run.ts'
import { snapshotIdGiven } from './score-name.ts'
import { withDatabase } from './with-database.ts'

export interface ReplayFlags {
  all?: boolean
}

export function replayScoresCommand(
  config: Config,
  given: string | undefined,
  flags: ReplayFlags,
): Promise<Outcome> {
  if ((given !== undefined) === (flags.all ?? false))
    throw new UsageError('Name one score, or --all.')
  const id = given === undefined ? null : snapshotIdGiven(given)
  return withDatabase(
    config,
    (db, signal) => (id === null ? replayAll(db, { signal }) : replayOne(db, id)),
    { watchesSignal: id === null },
  )
}

async function replayOne(db: Db, id: Buffer): Promise<Outcome> {
  const stored = await findSnapshot(db, id)
  if (stored === undefined) throw new UsageError(`There is no score ${id.toString('hex')}.`)
  const difference = await replay(stored, openMakers(db))
  const snapshotId = id.toString('hex')
  const report = { ok: difference === null, replayed: 1, snapshotId, difference }
  if (difference !== null) return done(report, [`DIFFERS: ${difference}.`], 1)
  const { asOf, engineVersion, score, low, high } = stored
  return done(report, [`agrees: ${score} [${low}, ${high}] of ${asOf}, engine ${engineVersion}`])
}

const batch = 500
/** Beyond so many the report, and the messages on the way, leave the rest to the counts. */
const differingToldMax = 1_000
const differingNotedMax = 20

export interface ReplayAllOptions {
  signal: AbortSignal
  /** The folder that holds `engines/`; this project's unless given. */
  root?: string
}

/** Page by page in the order of ids, so that memory does not grow with history; scores issued meanwhile may be among them. */
export async function replayAll(db: Db, { signal, root }: ReplayAllOptions): Promise<Outcome> {
  const makersOf = openMakers(db, root)
  const progress = showProgress(await countSnapshots(db), 'scores')
  const differing: { snapshotId: string; difference: string }[] = []
  let replayed = 0
  let differ = 0
  try {
    for await (const page of pages(db)) {
      if (signal.aborted) throw new Interrupted('interrupted')
      for (const stored of page) {
        const difference = await replay(stored, makersOf)
        if (difference === null) continue
        const snapshotId = stored.snapshotId.toString('hex')
        if (++differ <= differingToldMax) differing.push({ snapshotId, difference })
        if (differ <= differingNotedMax) note(`DIFFERS ${snapshotId}: ${difference}`)
      }
      replayed += page.length
      progress.at(replayed, replayed)
    }
  } finally {
    progress.end()
  }
  const ok = differ === 0
  const lines = ok
    ? [`${replayed} scores computed again: all agree`]
    : [`${replayed} scores computed again: ${differ} DIFFER`]
  return done({ ok, replayed, differ, differing }, lines, ok ? 0 : 1)
}

async function* pages(db: Db): AsyncGenerator<StoredSnapshot[]> {
  for (let from: Buffer = Buffer.alloc(0); ; ) {
    const page = await findSnapshotsFrom(db, from, batch)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    from = bytesAfter(last.snapshotId)
  }
}

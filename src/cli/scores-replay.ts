/** `assay scores replay`: computes scores again, as they were made, and compares: 0 all agree, 1 any differs, 2 could not be done. */
import type { Config } from '../config/config.ts'
import type { Db } from '../platform/db/db.ts'
import {
  bytesAfter,
  countSnapshots,
  findGoneFrom,
  findSnapshot,
  findSnapshotsFrom,
  type GoneSnapshot,
} from '../scores/history-store.ts'
import { openMakers, replay } from '../scores/replay.ts'
import { findWorkerIds } from '../workers/worker-ids.ts'
import { keepMemoryFlat } from './flat-memory.ts'
import { done, note, type Outcome } from './output.ts'
import { showProgress } from './progress.ts'
import { Interrupted, UsageError } from './run.ts'
import { noSuchScore, snapshotIdGiven } from './score-name.ts'
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
  keepMemoryFlat()
  const id = given === undefined ? null : snapshotIdGiven(given)
  return withDatabase(
    config,
    (db, signal) => (id === null ? replayAll(db, { signal }) : replayOne(db, id)),
    { watchesSignal: id === null },
  )
}

async function replayOne(db: Db, id: Buffer): Promise<Outcome> {
  const stored = await findSnapshot(db, id)
  if (stored === undefined) throw new UsageError(noSuchScore(id))
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

interface Tally {
  replayed: number
  /** Of people who were erased: what their scores were made of is gone with them. */
  erased: number
  differ: number
  differing: { snapshotId: string; difference: string }[]
}

/** Page by page in the order of ids, so that memory does not grow with history; scores issued meanwhile may be among them. */
export async function replayAll(db: Db, { signal, root }: ReplayAllOptions): Promise<Outcome> {
  const makersOf = openMakers(db, root)
  const tally: Tally = { replayed: 0, erased: 0, differ: 0, differing: [] }
  const progress = showProgress(await countSnapshots(db), 'scores')
  const reached = (): void => {
    progress.at(tally.replayed, tally.replayed + tally.erased)
    if (signal.aborted) throw new Interrupted('interrupted')
  }
  try {
    for await (const page of pages((from) => findSnapshotsFrom(db, from, batch))) {
      for (const stored of page) told(tally, stored, await replay(stored, makersOf))
      tally.replayed += page.length
      reached()
    }
    for await (const page of pages((from) => findGoneFrom(db, from, batch))) {
      await tellGone(db, tally, page)
      reached()
    }
  } finally {
    progress.end()
  }
  return summary(tally)
}

function told(tally: Tally, { snapshotId: id }: GoneSnapshot, difference: string | null): void {
  if (difference === null) return
  const snapshotId = id.toString('hex')
  if (++tally.differ <= differingToldMax) tally.differing.push({ snapshotId, difference })
  if (tally.differ <= differingNotedMax) note(`DIFFERS ${snapshotId}: ${difference}`)
}

/** Of who is still there, nothing may be gone. */
async function tellGone(db: Db, tally: Tally, gone: readonly GoneSnapshot[]): Promise<void> {
  const workerIds = gone.map(({ workerId }) => workerId)
  const found = await findWorkerIds(db, { workerIds, externalIds: [], usernames: [] })
  const present = new Set(found.map(({ workerId }) => workerId))
  for (const snapshot of gone)
    if (present.has(snapshot.workerId)) told(tally, snapshot, 'what it was made of is gone')
    else tally.erased++
}

function summary(tally: Tally): Outcome {
  const { replayed, erased, differ } = tally
  const ok = differ === 0
  const verdict = ok ? 'all agree' : `${differ} DIFFER`
  const left = erased === 0 ? '' : `; ${erased} were erased with their people`
  const line = `${replayed} scores computed again: ${verdict}${left}`
  return done({ ok, ...tally }, [line], ok ? 0 : 1)
}

async function* pages<Row extends GoneSnapshot>(
  find: (from: Buffer) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let from: Buffer = Buffer.alloc(0); ; ) {
    const page = await find(from)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    from = bytesAfter(last.snapshotId)
  }
}

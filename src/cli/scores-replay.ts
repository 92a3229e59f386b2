/**
 * `assay scores replay`: computes scores again, as they were made, and compares. Ends with 0 if all agree, with 1 if any differs, and with 2
 * if none differs but some could not be computed, because the file of their engine is missing or altered.
 */
import type { Config } from '../config/config.ts'
import type { Db } from '../platform/db/db.ts'
import {
  bytesAfter,
  countSnapshots,
  type ErasedSnapshot,
  findErasedFrom,
  findSnapshot,
  findSnapshotsFrom,
  type StoredSnapshot,
} from '../scores/history-store.ts'
import { openMakers, type Replayed, replay } from '../scores/replay.ts'
import { findWorkerIds } from '../workers/worker-ids.ts'
import { withDatabase } from './context.ts'
import { interrupted, usageError } from './fail.ts'
import { keepMemoryFlat } from './flat-memory.ts'
import { done, note, type Outcome } from './output.ts'
import { showProgress } from './progress.ts'
import { noSuchScore, snapshotIdGiven } from './score-name.ts'

export interface ReplayFlags {
  all?: boolean
}

export function replayScoresCommand(
  config: Config,
  given: string | undefined,
  flags: ReplayFlags,
): Promise<Outcome> {
  if ((given !== undefined) === (flags.all ?? false)) throw usageError('Name one score, or --all.')
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
  if (stored === undefined) throw usageError(noSuchScore(id))
  const result = await replay(stored, openMakers(db))
  const snapshotId = id.toString('hex')
  if (result.outcome === 'engine unavailable') {
    const engine = unavailableEngine(stored, result.reason)
    const report = { ok: false, replayed: 0, snapshotId, difference: null, engine }
    return done(report, [`The score could not be computed again. ${renderUnavailable(engine)}`], 2)
  }
  const difference = result.outcome === 'differs' ? result.difference : null
  const report = { ok: difference === null, replayed: 1, snapshotId, difference }
  if (difference !== null) return done(report, [`DIFFERS: ${difference}.`], 1)
  const { asOf, engineVersion, score, low, high } = stored
  return done(report, [`agrees: ${score} [${low}, ${high}] of ${asOf}, engine ${engineVersion}`])
}

/** An engine whose file is missing or altered. */
interface UnavailableEngine {
  version: string
  sha256: string
  reason: string
}

function unavailableEngine(
  { engineVersion, engineSha256 }: StoredSnapshot,
  reason: string,
): UnavailableEngine {
  return { version: engineVersion, sha256: engineSha256.toString('hex'), reason }
}

function renderUnavailable({ version, sha256, reason }: UnavailableEngine): string {
  return `Engine ${version} (SHA-256 ${sha256}) is not available: ${reason}. Put its released file back into engines/ and run the command again.`
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
  /** Scores whose engine is not available. */
  notReplayed: number
  /** By SHA-256. */
  unavailable: Map<string, UnavailableEngine & { scores: number }>
  /** Of people who were erased: what their scores were made of is gone with them. */
  erased: number
  differ: number
  differing: { snapshotId: string; difference: string }[]
}

/** Page by page in the order of ids, so that memory does not grow with history; scores issued meanwhile may be among them. */
export async function replayAll(db: Db, { signal, root }: ReplayAllOptions): Promise<Outcome> {
  const makersOf = openMakers(db, root)
  const tally: Tally = {
    replayed: 0,
    notReplayed: 0,
    unavailable: new Map(),
    erased: 0,
    differ: 0,
    differing: [],
  }
  const progress = showProgress(await countSnapshots(db), 'scores')
  const reached = (): void => {
    const { replayed, notReplayed, erased } = tally
    progress.at(replayed, replayed + notReplayed + erased)
    if (signal.aborted) throw interrupted()
  }
  try {
    for await (const page of pages((from) => findSnapshotsFrom(db, from, batch))) {
      for (const stored of page) count(tally, stored, await replay(stored, makersOf))
      reached()
    }
    for await (const page of pages((from) => findErasedFrom(db, from, batch))) {
      await tellGone(db, tally, page)
      reached()
    }
  } finally {
    progress.end()
  }
  return summary(tally)
}

function count(tally: Tally, stored: StoredSnapshot, result: Replayed): void {
  if (result.outcome === 'engine unavailable') {
    tally.notReplayed++
    const engine = unavailableEngine(stored, result.reason)
    const scores = (tally.unavailable.get(engine.sha256)?.scores ?? 0) + 1
    tally.unavailable.set(engine.sha256, { ...engine, scores })
    return
  }
  tally.replayed++
  if (result.outcome === 'differs') countDifference(tally, stored, result.difference)
}

function countDifference(
  tally: Tally,
  { snapshotId: id }: ErasedSnapshot,
  difference: string,
): void {
  const snapshotId = id.toString('hex')
  if (++tally.differ <= differingToldMax) tally.differing.push({ snapshotId, difference })
  if (tally.differ <= differingNotedMax) note(`DIFFERS ${snapshotId}: ${difference}`)
}

/** Of who is still there, nothing may be gone. */
async function tellGone(db: Db, tally: Tally, gone: readonly ErasedSnapshot[]): Promise<void> {
  const workerIds = gone.map(({ workerId }) => workerId)
  const found = await findWorkerIds(db, { workerIds, externalIds: [], usernames: [] })
  const present = new Set(found.map(({ workerId }) => workerId))
  for (const snapshot of gone)
    if (present.has(snapshot.workerId))
      countDifference(tally, snapshot, 'what it was made of is gone')
    else tally.erased++
}

function summary({ unavailable, ...tally }: Tally): Outcome {
  const { replayed, notReplayed, erased, differ } = tally
  const engines = [...unavailable.values()]
  const verdict = differ === 0 ? 'all agree' : `${differ} DIFFER`
  const left = erased === 0 ? '' : `; ${erased} were erased with their people`
  const missing = notReplayed === 0 ? '' : `; ${notReplayed} could not be computed again`
  const lines = [
    `${replayed} scores computed again: ${verdict}${left}${missing}`,
    ...engines.map((engine) => `${engine.scores} scores: ${renderUnavailable(engine)}`),
  ]
  const exitCode = differ > 0 ? 1 : notReplayed > 0 ? 2 : 0
  return done({ ok: exitCode === 0, ...tally, unavailable: engines }, lines, exitCode)
}

async function* pages<Row extends ErasedSnapshot>(
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

/** Replay of every score that was ever issued. */
import type { Db } from '../../platform/db/db.ts'
import { findWorkerIds } from '../../workers/worker-ids.ts'
import {
  bytesAfter,
  type ErasedSnapshot,
  findErasedFrom,
  findSnapshotsFrom,
  type StoredSnapshot,
} from './history-store.ts'
import { openMakers, type Replayed, replay } from './replay.ts'

/** An engine whose file is missing or altered. */
export interface UnavailableEngine {
  version: string
  sha256: string
  reason: string
}

interface Difference {
  snapshotId: string
  difference: string
}

export interface ReplayTally {
  replayed: number
  /** Scores whose engine is not available. */
  notReplayed: number
  /** Scores of erased workers, whose evidence is gone. */
  erased: number
  differ: number
  /** The first differing scores. */
  differing: Difference[]
  unavailable: (UnavailableEngine & { scores: number })[]
}

export interface ReplayAllOptions {
  /** Folder that holds `engines/`, by default that of this project. */
  root?: string
  onDifference?: (difference: Difference) => void
  /** Called after each page. It may throw to end the replay. */
  onPage?: (tally: ReplayTally) => void
}

const pageRows = 500
const differingMax = 1_000

/**
 * Replays page by page in the order of ids, so memory does not grow with the history. Scores that
 * are issued meanwhile may be included.
 */
export async function replayAll(db: Db, options: ReplayAllOptions = {}): Promise<ReplayTally> {
  const { root, onPage } = options
  const makersOf = openMakers(db, root)
  const tally: ReplayTally = {
    replayed: 0,
    notReplayed: 0,
    erased: 0,
    differ: 0,
    differing: [],
    unavailable: [],
  }
  for await (const page of pages((from) => findSnapshotsFrom(db, from, pageRows))) {
    for (const stored of page) count(tally, stored, await replay(stored, makersOf), options)
    onPage?.(tally)
  }
  for await (const page of pages((from) => findErasedFrom(db, from, pageRows))) {
    await countErased(db, tally, page, options)
    onPage?.(tally)
  }
  return tally
}

function count(
  tally: ReplayTally,
  stored: StoredSnapshot,
  result: Replayed,
  options: ReplayAllOptions,
): void {
  if (result.verdict === 'engine unavailable') {
    tally.notReplayed++
    countUnavailable(tally, stored, result.reason)
    return
  }
  tally.replayed++
  if (result.verdict === 'differs') countDifference(tally, stored, result.difference, options)
}

function countUnavailable(
  { unavailable }: ReplayTally,
  { engineVersion: version, engineSha256 }: StoredSnapshot,
  reason: string,
): void {
  const sha256 = engineSha256.toString('hex')
  const known = unavailable.find((engine) => engine.sha256 === sha256)
  if (known === undefined) unavailable.push({ version, sha256, reason, scores: 1 })
  else known.scores++
}

function countDifference(
  tally: ReplayTally,
  { snapshotId: id }: ErasedSnapshot,
  difference: string,
  { onDifference }: ReplayAllOptions,
): void {
  const one = { snapshotId: id.toString('hex'), difference }
  if (++tally.differ <= differingMax) tally.differing.push(one)
  onDifference?.(one)
}

/** Only an erasure may remove the evidence of a score. */
async function countErased(
  db: Db,
  tally: ReplayTally,
  gone: readonly ErasedSnapshot[],
  options: ReplayAllOptions,
): Promise<void> {
  const workerIds = gone.map(({ workerId }) => workerId)
  const found = await findWorkerIds(db, { workerIds, externalIds: [], usernames: [] })
  const present = new Set(found.map(({ workerId }) => workerId))
  for (const snapshot of gone)
    if (present.has(snapshot.workerId))
      countDifference(tally, snapshot, 'its evidence is gone', options)
    else tally.erased++
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

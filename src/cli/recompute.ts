/** `assay recompute`: what a server does in the background, now and to the end. The queue says what is left; a second run takes it up. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { countDue, markEveryWorker, recomputeSome } from '../scores/recompute.ts'
import type { ScoredWorker } from '../scores/score-workers.ts'
import type { Scoring } from '../scores/scoring.ts'
import { keepMemoryFlat } from './flat-memory.ts'
import type { Outcome } from './output.ts'
import { type Progress, showProgress } from './progress.ts'
import { UsageError } from './run.ts'
import { openScoring } from './scoring-here.ts'
import { withDatabase } from './with-database.ts'

export interface RecomputeFlags {
  all?: boolean
  workers: string
}

const workersMax = 32

export async function recomputeCommand(config: Config, flags: RecomputeFlags): Promise<Outcome> {
  keepMemoryFlat()
  const lanes = lanesOf(flags.workers)
  const scoringNow = await openScoring(config)
  return withDatabase(
    config,
    async (db, signal) => {
      // Before anybody is marked: without a key nothing could come of it.
      await scoringNow(db)
      if (flags.all) await db.transaction(markRecorded)
      const progress = showProgress(await countDue(db), 'workers')
      const startedAt = performance.now()
      const run: Run = { db, scoringNow, signal, progress, tally: { ...nothing } }
      await Promise.all(Array.from({ length: lanes }, () => drain(run))).finally(progress.end)
      return summary(run, performance.now() - startedAt)
    },
    { watchesSignal: true, connectionsMax: lanes + 1 },
  )
}

function lanesOf(text: string): number {
  const lanes = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (lanes < 1 || lanes > workersMax)
    throw new UsageError(`--workers is a whole number from 1 to ${workersMax}`)
  return lanes
}

async function markRecorded(tx: Tx): Promise<void> {
  const now = systemClock()
  const details = { count: await markEveryWorker(tx, now) }
  await recordAction(tx, { actor: operator(), action: 'scores.marked', subjects: [], details }, now)
}

interface Run {
  db: Db
  scoringNow: (db: Queryable) => Promise<Scoring>
  signal: AbortSignal
  progress: Progress
  tally: Tally
}

type Tally = Record<'scored' | 'issued' | 'kept' | 'withdrawn' | 'none' | 'unscorable', number>

const nothing: Tally = { scored: 0, issued: 0, kept: 0, withdrawn: 0, none: 0, unscorable: 0 }

const batchMax = 256

/** Until nobody is due whom another transaction does not hold. When the signal comes, the batch in hand is committed. */
async function drain({ db, scoringNow, signal, progress, tally }: Run): Promise<void> {
  while (!signal.aborted) {
    const scored = await db.transaction((tx) => recomputeRecorded(tx, scoringNow))
    if (scored.length === 0) return
    tally.scored += scored.length
    for (const { outcome } of scored) tally[outcome]++
    progress.at(tally.scored, tally.scored)
  }
}

/** An entry for each batch, in its transaction: after a kill the log tells exactly what was done. */
async function recomputeRecorded(tx: Tx, scoringNow: Run['scoringNow']): Promise<ScoredWorker[]> {
  const now = systemClock()
  const scored = await recomputeSome(tx, await scoringNow(tx), { limit: batchMax, now })
  const subjects = [...scored.slice(0, 1), ...scored.slice(1).slice(-1)].map((one) => one.workerId)
  if (subjects.length === 0) return scored
  const countOf = (outcome: ScoredWorker['outcome']) =>
    scored.filter((one) => one.outcome === outcome).length
  const details = {
    count: scored.length,
    issued: countOf('issued'),
    withdrawn: countOf('withdrawn'),
    unscorable: countOf('unscorable'),
  }
  const action = 'scores.recomputed'
  await recordAction(tx, { actor: operator(), action, subjects, details }, now)
  return scored
}

function summary({ tally, signal }: Run, ms: number): Outcome {
  const interrupted = signal.aborted
  const ok = !interrupted && tally.unscorable === 0
  const workersPerSecond = Math.round((tally.scored * 1_000) / Math.max(ms, 1))
  const { scored, issued, kept, withdrawn, none, unscorable } = tally
  const lines = [
    `${scored} scored: ${issued} issued, ${kept} kept, ${withdrawn} withdrawn, ${none} with too little evidence, ${unscorable} refused by the engine (${workersPerSecond} workers/s)`,
  ]
  if (interrupted) lines.push('Interrupted. Run it again: who was not scored is still due.')
  return {
    exitCode: ok ? 0 : 1,
    report: { ok, ...tally, interrupted, workersPerSecond },
    lines,
  }
}

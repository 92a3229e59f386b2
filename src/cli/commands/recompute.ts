import type { Command } from 'commander'
/** `assay recompute`: what a server does in the background, now and to the end. The queue says what is left; a second run takes it up. */
import { operator, recordAction } from '../../audit/record.ts'
import { systemClock } from '../../platform/clock.ts'
import type { Db, Queryable, Tx } from '../../platform/db/db.ts'
import { countDue, markEveryWorker, recomputeSome } from '../../scores/recompute.ts'
import type { ScoredWorker } from '../../scores/score-workers.ts'
import type { Scoring } from '../../scores/scoring.ts'
import { wholeNumber } from '../args.ts'
import { act, finish } from '../command.ts'
import { settings, withContext } from '../context.ts'
import { keepMemoryFlat } from '../flat-memory.ts'
import type { Outcome } from '../output.ts'
import { type Progress, showProgress } from '../progress.ts'
import { openScoring } from '../scoring-here.ts'

export function declareCommand(declared: Command): void {
  finish(declared, 'assay recompute --all --workers 4')
    .option('--all', 'mark every worker with evidence as due first')
    .option('--workers <n>', 'concurrent transactions', wholeNumber(1, 32), 2)
    .addHelpText(
      'after',
      '\nAfter an interruption, run the command again: a worker is due until the score is stored. A server computes due scores in the background.',
    )
    .action(act(recompute))
}

interface RecomputeFlags {
  all?: boolean
  workers: number
}

async function recompute({ all = false, workers: lanes }: RecomputeFlags): Promise<Outcome> {
  keepMemoryFlat()
  const scoringNow = await openScoring(settings())
  return withContext(
    async ({ db, signal }) => {
      // Before any worker is marked: without a key, no score could be issued.
      await scoringNow(db)
      if (all) await db.transaction(markRecorded)
      const progress = showProgress(await countDue(db), 'workers')
      const startedAt = performance.now()
      const run: Run = { db, scoringNow, signal, progress, tally: { ...nothing } }
      await Promise.all(Array.from({ length: lanes }, () => drain(run))).finally(progress.end)
      return summary(run, performance.now() - startedAt)
    },
    { watchesSignal: true, connectionsMax: lanes + 1 },
  )
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

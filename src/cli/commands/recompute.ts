/**
 * `assay recompute`: computes due scores as a server does in the background, until none is left.
 * The queue keeps what is left, so a second run continues.
 */
import type { Command } from 'commander'
import { openScoring } from '../../main/scoring.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { countDue, scoresMark, scoresRecompute } from '../../scoring/scores/recompute.ts'
import { markRevokedKeys } from '../../scoring/scores/reissue.ts'
import { type Effect, effects } from '../../scoring/scores/score-workers.ts'
import type { Scoring } from '../../scoring/scores/scoring.ts'
import { wholeNumber } from '../args.ts'
import { act, finish } from '../command.ts'
import { type CommandContext, withContext } from '../context.ts'
import { performWith } from '../operation-command.ts'
import type { Outcome } from '../output.ts'
import { type Progress, renderProgress } from '../render.ts'

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
  return withContext(
    async (context) => {
      const { db, config, clock } = context
      // Opened once: to load the engine for each batch would take longer than some batches.
      const services = { scoring: await openScoring(config) }
      // Before any worker is marked: without a key, no score could be issued.
      await services.scoring(db)
      if (all) await performWith(context, scoresMark, { input: {}, flags: {}, services })
      // Completes a revocation of a key that was interrupted.
      await markRevokedKeys(db, clock())
      using progress = renderProgress((await countDue(db, clock())).due, 'workers')
      const startedAt = performance.now()
      const run: Run = { context, services, progress, tally: { ...nothing } }
      await Promise.all(Array.from({ length: lanes }, () => drain(run)))
      const ms = performance.now() - startedAt
      const { waiting } = await countDue(db, clock())
      return summary(run, { ms, waiting })
    },
    { watchesSignal: true, connectionsMax: lanes + 1 },
  )
}

interface Run {
  context: CommandContext
  services: { scoring(db: Queryable): Promise<Scoring> }
  progress: Progress
  tally: Tally
}

const counts = ['scored', ...effects] as const
type Tally = Record<'scored' | Effect, number>

const nothing = Object.fromEntries(counts.map((name) => [name, 0])) as Tally

/** Scores batches until no due worker is left that another transaction does not lock. */
async function drain({ context, services, progress, tally }: Run): Promise<void> {
  for (let more = true; more && !context.signal.aborted; ) {
    const batch = await performWith(context, scoresRecompute, {
      input: {},
      flags: {},
      options: { batchesMsMax: 0 },
      services,
    })
    for (const name of counts) tally[name] += batch[name]
    progress.update(tally.scored, tally.scored)
    more = batch.more === true
  }
}

function summary(
  { context, tally }: Run,
  { ms, waiting }: { ms: number; waiting: number },
): Outcome {
  const interrupted = context.signal.aborted
  const ok = !interrupted && tally.unscorable === 0
  const workersPerSecond = Math.round((tally.scored * 1_000) / Math.max(ms, 1))
  const { scored, issued, reissued, kept, withdrawn, none, unscorable } = tally
  const replaced = reissued === 0 ? '' : ` ${reissued} with a new credential,`
  const lines = [
    `${scored} scored: ${issued} issued,${replaced} ${kept} kept, ${withdrawn} withdrawn, ${none} with too little evidence, ${unscorable} rejected by the engine (${workersPerSecond} workers/s)`,
  ]
  if (waiting > 0)
    lines.push(`${waiting} wait for the end of an import that brings evidence of them.`)
  if (interrupted)
    lines.push('Interrupted. Run the command again: the other workers are still due.')
  return {
    exitCode: ok ? 0 : 1,
    report: { ok, ...tally, waiting, interrupted, workersPerSecond },
    lines,
  }
}

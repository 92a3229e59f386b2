/** Background jobs for scores. Without a usable engine, evidence still expires. */
import { expireDueEvidence } from '../../evidence/expire-evidence.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Job } from '../../platform/job-runner.ts'
import type { Log } from '../../platform/observability/log.ts'
import type { Issuer } from '../../score-credentials/issue.ts'
import { markRecalled } from '../../scores/recall-engine.ts'
import { markFaded, markOutdated, recomputeSome } from '../../scores/recompute.ts'
import type { ScoringRules } from '../../scores/scoring.ts'

export interface ScoreJobOptions {
  db: Db
  clock: Clock
  log: Log
  /** Null if the engine was refused. */
  rules: ScoringRules | null
  /** Returns undefined if no key can sign. */
  issuer: () => Promise<Issuer | undefined>
}

export function scoreJobs({ db, clock, log, rules, issuer }: ScoreJobOptions): Job[] {
  const expire: Job = { name: 'expire evidence', everyMs: 60_000, run: () => expireAll(db, clock) }
  if (rules === null) return [expire]
  return [
    expire,
    { name: 'find scores that are due', everyMs: 60_000, run: dueScoreFinder(db, rules, clock) },
    {
      name: 'recompute scores',
      everyMs: 1_000,
      async run(signal) {
        for (let scored = 1; scored > 0 && !signal.aborted; ) {
          const by = await issuer()
          if (by === undefined) return
          scored = await recomputeBatch({ db, clock, log }, { ...rules, issuer: by })
        }
      },
    },
  ]
}

const batchMax = 256

async function recomputeBatch(
  { db, clock, log }: Pick<ScoreJobOptions, 'db' | 'clock' | 'log'>,
  scoring: ScoringRules & { issuer: Issuer },
): Promise<number> {
  const limits = { limit: batchMax, now: clock() }
  const scored = await db.transaction((tx) => recomputeSome(tx, scoring, limits))
  const unscorable = scored.filter(({ outcome }) => outcome === 'unscorable')
  if (unscorable.length > 0)
    log.error('the engine refused evidence: the scores of these workers are unchanged', null, {
      workerIds: unscorable.map(({ workerId }) => workerId).join(' '),
    })
  return scored.length
}

async function expireAll(db: Db, clock: Clock): Promise<void> {
  while ((await expireDueEvidence(db, clock())) > 0);
}

/**
 * Returns the run of the job. Only its first run marks scores of other rules as outdated. So if two
 * releases run at the same time, the rules of the one that started last apply.
 */
function dueScoreFinder(db: Db, rules: ScoringRules, clock: Clock): () => Promise<void> {
  let outdatedFound = false
  return async () => {
    if (!outdatedFound) await markOutdated(db, rules, clock())
    outdatedFound = true
    // Completes a recall command that was interrupted.
    await markRecalled(db, clock())
    await markFaded(db, clock())
  }
}

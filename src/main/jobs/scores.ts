/**
 * Background jobs for scores. Without a usable engine, evidence still expires, and revoked
 * credentials are still replaced.
 */
import type { Issuer } from '../../credentials/issue.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Job } from '../../platform/job-runner.ts'
import type { Log } from '../../platform/observability/log.ts'
import { countDueReissues } from '../../scoring/api.ts'
import { expireDueEvidence } from '../../scoring/evidence/exclude-evidence.ts'
import { markRecalled } from '../../scoring/scores/recall-engine.ts'
import { countDue, markFaded, markOutdated, recomputeSome } from '../../scoring/scores/recompute.ts'
import { markRevokedKeys, reissueSome } from '../../scoring/scores/reissue.ts'
import type { ScoringRules } from '../../scoring/scores/scoring.ts'
import type { Signing } from '../signing.ts'

export interface ScoreJobOptions {
  db: Db
  clock: Clock
  log: Log
  /** Null if the engine was refused. */
  rules: ScoringRules | null
  signing: Pick<Signing, 'issuer' | 'whyUnsigned'>
}

export function scoreJobs(options: ScoreJobOptions): Job[] {
  const { db, clock, log, rules, signing } = options
  const always: Job[] = [
    { name: 'expire evidence', everyMs: 60_000, run: () => expireAll(db, clock) },
    {
      name: 'replace revoked credentials',
      everyMs: 1_000,
      run: (signal) => replaceCredentials(options, signal),
    },
  ]
  if (rules === null) return always
  return [
    ...always,
    { name: 'find scores that are due', everyMs: 60_000, run: dueScoreFinder(db, rules, clock) },
    {
      name: 'recompute scores',
      everyMs: 1_000,
      async run(signal) {
        for (let scored = 1; scored > 0 && !signal.aborted; ) {
          const issuer = await signing.issuer()
          if (issuer === undefined) return refuseDue({ db, clock }, signing)
          scored = await recomputeBatch({ db, clock, log }, { ...rules, issuer })
        }
      },
    },
  ]
}

/** Throws if a worker waits to be scored, which this process cannot do without a key. */
async function refuseDue(
  { db, clock }: Pick<ScoreJobOptions, 'db' | 'clock'>,
  { whyUnsigned }: Pick<Signing, 'whyUnsigned'>,
): Promise<void> {
  const { due } = await countDue(db, clock())
  if (due > 0) throw new Error(`${due} workers wait to be scored, but ${whyUnsigned()}.`)
}

const batchMax = 256

async function recomputeBatch(
  { db, clock, log }: Pick<ScoreJobOptions, 'db' | 'clock' | 'log'>,
  scoring: ScoringRules & { issuer: Issuer },
): Promise<number> {
  const limits = { limit: batchMax, now: clock() }
  const scored = await db.transaction((tx) => recomputeSome(tx, scoring, limits))
  const unscorable = scored.filter(({ effect }) => effect === 'unscorable')
  if (unscorable.length > 0)
    log.error('the engine refused evidence: the scores of these workers are unchanged', null, {
      workerIds: unscorable.map(({ workerId }) => workerId).join(' '),
    })
  return scored.length
}

async function expireAll(db: Db, clock: Clock): Promise<void> {
  while ((await expireDueEvidence(db, clock())) > 0);
}

/** Throws if scores wait and this process cannot sign, so that the log and `doctor` show it. */
async function replaceCredentials(
  { db, clock, signing }: ScoreJobOptions,
  signal: AbortSignal,
): Promise<void> {
  await markRevokedKeys(db, clock())
  for (let hasMore = true; hasMore && !signal.aborted; ) {
    const by = await signing.issuer()
    if (by === undefined) {
      const waiting = await countDueReissues(db, clock())
      if (waiting === 0) return
      throw new Error(
        `${waiting} public scores wait for a new credential, but ${signing.whyUnsigned()}.`,
      )
    }
    const { more } = await db.transaction((tx) =>
      reissueSome(tx, by, { limit: batchMax, now: clock() }),
    )
    hasMore = more
  }
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

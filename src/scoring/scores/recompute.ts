/**
 * Recomputation from the queue `score_recomputations`. A change of a score's inputs marks its
 * workers in the same transaction. Any number of processes take batches from the queue, one batch a
 * transaction. An interrupted batch is taken again.
 */
import { type Db, planAnew, type Queryable, type Tx } from '../../platform/db/db.ts'
import { tryLockWorkers } from '../../workers/api.ts'
import {
  countRecomputations,
  lockRecomputations,
  markForRecomputation,
  type RecomputationCounts,
} from '../evidence/recomputation-store.ts'
import { evaluatedEveryDays } from './score-change.ts'
import { type ScoredWorker, scoreWorkers } from './score-workers.ts'
import type { Scoring, ScoringRules } from './scoring.ts'
import { findEvaluatedUnderOthers, findEvaluationsDue } from './store.ts'

/**
 * Scores at most `limit` marked workers, oldest mark first, within the caller's transaction. Never
 * waits: a worker locked by another transaction is skipped. An empty result means that no worker is
 * due, or that all due workers are locked.
 */
export async function recomputeSome(
  tx: Tx,
  scoring: Scoring,
  { limit, now }: { limit: number; now: Date },
): Promise<ScoredWorker[]> {
  await planAnew(tx)
  const due = await lockRecomputations(tx, { limit, now })
  const free = due.length === 0 ? [] : await tryLockWorkers(tx, due)
  return scoreWorkers(
    tx,
    scoring,
    free.map((workerId) => ({ workerId, correction: null })),
    now,
  )
}

export function countDue(db: Queryable, now: Date): Promise<RecomputationCounts> {
  return countRecomputations(db, now)
}

/**
 * Marks workers that were not evaluated for 30 days, the longest unevaluated first, and workers
 * whose score ends today, at most `limit` of each. They stay candidates until they are evaluated.
 */
export async function markFaded(db: Db, now: Date, limit = 1_000): Promise<void> {
  const before = new Date(now.getTime() - evaluatedEveryDays * 86_400_000)
  await db.transaction(async (tx) => {
    const today = now.toISOString().slice(0, 10)
    const ids = await findEvaluationsDue(tx, { before, today, limit })
    await markForRecomputation(tx, ids, { reason: 'evaluation_due', now })
  })
}

const batch = 1_000

/**
 * Marks every worker that was last evaluated with another engine, vocabulary or issue rule. An
 * interrupted run can be repeated.
 */
export async function markOutdated(db: Db, rules: ScoringRules, now: Date): Promise<void> {
  for (let after: string | null = null; ; ) {
    const ids: string[] = await db.transaction(async (tx) => {
      const found = await findEvaluatedUnderOthers(tx, rules.sha256, { after, limit: batch })
      await markForRecomputation(tx, found, { reason: 'rules_changed', now })
      return found
    })
    after = ids.at(-1) ?? null
    if (after === null) return
  }
}

/**
 * Recomputation: score_recomputations is the queue. Whatever a score rests on marks its workers there, in its own transaction; any number of
 * processes take from it, a batch a transaction, and a batch that is cut off is taken again.
 */
import {
  countRecomputations,
  lockRecomputations,
  markEverybody,
  markForRecomputation,
} from '../evidence/recomputation-store.ts'
import { type Db, planAnew, type Queryable, type Tx } from '../platform/db/db.ts'
import { tryLockWorkers } from '../workers/store.ts'
import { type ScoredWorker, scoreWorkers } from './score-workers.ts'
import type { Scoring, ScoringRules } from './scoring.ts'
import { findEvaluatedBefore, findEvaluatedUnderOthers } from './store.ts'

/**
 * Scores the longest waiting workers, at most `limit`, within the caller's transaction. Never waits: whom somebody else is changing is left
 * for later. None: nobody waits, or all that do are being changed.
 */
export async function recomputeSome(
  tx: Tx,
  scoring: Scoring,
  { limit, now }: { limit: number; now: Date },
): Promise<ScoredWorker[]> {
  await planAnew(tx)
  const due = await lockRecomputations(tx, limit)
  const free = due.length === 0 ? [] : await tryLockWorkers(tx, due)
  return scoreWorkers(
    tx,
    scoring,
    free.map((workerId) => ({ workerId, correction: null })),
    now,
  )
}

export function countDue(db: Queryable): Promise<number> {
  return countRecomputations(db)
}

/** Everybody who has evidence is due; gives how many were not before. */
export function recomputeEverybody(tx: Tx, now: Date): Promise<number> {
  return markEverybody(tx, 'operator', now)
}

/** Scores fade as evidence does: each is looked at again after so many days. */
const evaluatedEveryDays = 30

/** Marks those who were not looked at for a month, at most `limit`: the longest ago first, and again until they are. */
export async function markFaded(db: Db, now: Date, limit = 1_000): Promise<void> {
  const before = new Date(now.getTime() - evaluatedEveryDays * 86_400_000)
  await db.transaction(async (tx) => {
    const ids = await findEvaluatedBefore(tx, before, limit)
    await markForRecomputation(tx, ids, { reason: 'evaluation_due', now })
  })
}

const batch = 1_000

/** Marks everybody who was last evaluated by another engine, vocabulary or minimum. A run that is cut off is run again. */
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

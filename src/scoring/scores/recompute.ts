/**
 * Recomputation from the queue `score_recomputations`. A change of a score's inputs marks its
 * workers in the same transaction. Any number of processes take batches from the queue, one batch a
 * transaction. An interrupted batch is taken again.
 *
 * The operations of `assay recompute` have no operator route: the jobs process computes due scores
 * anyway, and these use the processors of the machine that runs the command.
 */
import { Type } from 'typebox'
import { moreField } from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { counted } from '../../platform/counted.ts'
import { type Db, planAnew, type Queryable, type Tx } from '../../platform/db/db.ts'
import type { Refusal } from '../../platform/errors.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { tryLockWorkers } from '../../workers/api.ts'
import {
  countRecomputations,
  lockRecomputations,
  markForRecomputation,
  markWorkersWithEvidence,
  type RecomputationCounts,
} from '../evidence/recomputation-store.ts'
import { evaluatedEveryDays } from './score-change.ts'
import { type Effect, effects, type ScoredWorker, scoreWorkers } from './score-workers.ts'
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

interface RecomputeServices {
  /** Refused if no score can be computed and issued on this machine. */
  scoring(db: Queryable): Promise<Scoring | Refusal<'scoring_unavailable'>>
}

const { change } = operationsFor<RecomputeServices>()

const count = Type.Integer()

export const scoresMark = change({
  name: 'scores mark',
  http: 'POST /scores/mark',
  summary: 'Mark every worker with evidence as due',
  who: { operator: 'admin' },
  output: closedObject({ count }),
  audit: 'scores.marked',
  renderLines: ({ count: marked }) => [`${counted(marked, 'worker')} marked`],
  async run(tx, _, { now }) {
    const marked = await markWorkersWithEvidence(tx, 'operator', now)
    return changed({ count: marked }, { subjects: [], details: { count: marked } })
  },
})

const batchMax = 256

/** After a kill, the entries of its batches show exactly what was computed. */
export const scoresRecompute = change({
  name: 'scores recompute',
  http: 'POST /scores/recompute',
  summary: 'Compute the scores that are due, in batches',
  who: { operator: 'admin' },
  output: closedObject({
    scored: count,
    issued: count,
    reissued: count,
    kept: count,
    withdrawn: count,
    none: count,
    unscorable: count,
    more: moreField,
  }),
  refusals: ['scoring_unavailable'],
  audit: 'scores.recomputed',
  async run(tx, _, { now, services }) {
    const scoring = await services.scoring(tx)
    if ('refusal' in scoring) return scoring
    const scored = await recomputeSome(tx, scoring, { limit: batchMax, now })
    const countOf = (effect: Effect) => scored.filter((one) => one.effect === effect).length
    const { kept, none, ...recorded } = Object.fromEntries(
      effects.map((effect) => [effect, countOf(effect)]),
    ) as Record<Effect, number>
    const output = { scored: scored.length, kept, none, ...recorded }
    const [first, last] = [scored.at(0), scored.at(-1)]
    if (first === undefined || last === undefined) return unchanged(output)
    const subjects = [...new Set([first.workerId, last.workerId])]
    const details = { count: scored.length, ...recorded }
    return changed(output, { subjects, details }, { more: true })
  },
})

export const recomputeOperations = [scoresMark, scoresRecompute] as const

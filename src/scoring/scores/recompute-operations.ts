/**
 * The operations of `assay recompute`. They have no operator route: the jobs process computes due
 * scores anyway, and these use the processors of the machine that runs the command.
 */
import { Type } from 'typebox'
import { moreField } from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { counted } from '../../platform/counted.ts'
import type { Queryable } from '../../platform/db/db.ts'
import type { Refusal } from '../../platform/errors.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { markWorkersWithEvidence } from '../evidence/recomputation-store.ts'
import { recomputeSome } from './recompute.ts'
import { type Effect, effects } from './score-workers.ts'
import type { Scoring } from './scoring.ts'

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

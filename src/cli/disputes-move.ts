/** `assay disputes review`, `resolve` and `withdraw`: what becomes of a dispute. */

import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { type Ending, resolutions } from '../disputes/dispute.ts'
import { type Ended, endDispute } from '../disputes/end-dispute.ts'
import { type Reviewing, reviewDispute } from '../disputes/open-dispute.ts'
import { type EvidenceName, findNamedEvidence } from '../evidence/evidence-names.ts'
import { systemClock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { KeyRefused } from '../score-credentials/signing-key.ts'
import type { Scoring } from '../scores/scoring.ts'
import { withDatabase } from './context.ts'
import { disputeGiven, refused, unknownDispute } from './disputes-told.ts'
import { Failure, failure, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { actorGiven } from './person.ts'
import { openScoring } from './scoring.ts'

export function reviewDisputeCommand(
  config: Config,
  given: string,
  { by }: { by: string },
): Promise<Outcome> {
  const disputeId = disputeGiven(given)
  const actor = actorGiven(by)
  return withDatabase(config, async (db) => {
    const now = systemClock()
    const reviewing = await db.transaction(async (tx): Promise<Reviewing> => {
      const answer = await reviewDispute(tx, disputeId, { actor, now })
      if (answer.outcome !== 'under_review') return answer
      const entry = { action: 'disputes.reviewed', subjects: [disputeId], details: {} } as const
      await recordAction(tx, { ...entry, actor: operator() }, now)
      return answer
    })
    if (reviewing.outcome === 'unknown_dispute') return unknownDispute(disputeId)
    if (reviewing.outcome === 'refused') return cannot('reviewed', disputeId, reviewing.from)
    return done({ ok: true, disputeId, state: 'under_review' }, [
      `Dispute ${disputeId} is under review.`,
    ])
  })
}

export interface ResolveFlags {
  as: string
  /** Of a dispute that is partly upheld, the items that are: ids, or `SOURCE/EXTERNAL-ID`. */
  evidence?: EvidenceName[]
  by: string
}

export function resolveDisputeCommand(
  config: Config,
  given: string,
  { as, evidence = [], by }: ResolveFlags,
): Promise<Outcome> {
  const ending = resolutions.find((known) => known === as)
  if (ending === undefined) throw usageError(`--as is one of ${resolutions.join(', ')}.`)
  const disputeId = disputeGiven(given)
  return endCommand(config, { disputeId, ending, names: evidence, by })
}

export function withdrawDisputeCommand(
  config: Config,
  given: string,
  { by }: { by: string },
): Promise<Outcome> {
  const disputeId = disputeGiven(given)
  return endCommand(config, { disputeId, ending: 'withdrawn', names: [], by })
}

interface EndWish {
  disputeId: string
  ending: Ending
  names: readonly EvidenceName[]
  by: string
}

/** Whatever the end, a score may follow from it at once: where none can be computed or issued here, the dispute stays as it is. */
function endCommand(config: Config, { by, ...wish }: EndWish): Promise<Outcome> {
  const { disputeId, ending } = wish
  const actor = actorGiven(by)
  return withDatabase(config, async (db) => {
    const scoring = await scoringOrNothing(config, db)
    const ended = await db.transaction((tx) => endRecorded(tx, scoring, { ...wish, actor }))
    if (ended.outcome === 'unknown_dispute') return unknownDispute(disputeId)
    if (ended.outcome === 'refused')
      return cannot(ending === 'withdrawn' ? ending : 'resolved', disputeId, ended.from)
    if (ended.outcome === 'unusable')
      return refused(`Dispute ${disputeId}: ${ended.reason}.`, { disputeId })
    const { scoreChanged, resultingSnapshotId } = ended
    const state = ending === 'withdrawn' ? ending : 'resolved'
    const report = { disputeId, state, ending, scoreChanged, resultingSnapshotId }
    return done({ ok: true, ...report }, [
      `Dispute ${disputeId}: ${ending}.`,
      scoreChanged
        ? `The score is another one now: ${resultingSnapshotId ?? 'none'}.`
        : 'The score is the one that was disputed.',
    ])
  })
}

async function scoringOrNothing(config: Config, db: Db): Promise<Scoring> {
  try {
    const scoringNow = await openScoring(config)
    return await scoringNow(db)
  } catch (error) {
    if (!(error instanceof Failure || error instanceof KeyRefused)) throw error
    const message = `${error.message.replace(/\.?$/, '.')} The dispute stays as it is.`
    throw failure(message, { cause: error })
  }
}

async function endRecorded(
  tx: Tx,
  scoring: Scoring,
  { disputeId, ending, names, actor }: Omit<EndWish, 'by'> & { actor: string },
): Promise<Ended> {
  const now = systemClock()
  const { ids: upheldIds, unknown } = await findNamedEvidence(tx, names)
  if (unknown.length > 0)
    return { outcome: 'unusable', reason: `no evidence is named ${unknown.join(', ')}` }
  const ended = await endDispute(tx, scoring, { disputeId, ending, upheldIds, actor, now })
  if (ended.outcome !== 'ended') return ended
  const entry = { actor: operator(), subjects: [disputeId] }
  await (ending === 'withdrawn'
    ? recordAction(tx, { ...entry, action: 'disputes.withdrawn', details: {} }, now)
    : recordAction(
        tx,
        { ...entry, action: 'disputes.resolved', details: { resolution: ending } },
        now,
      ))
  return ended
}

function cannot(moved: string, disputeId: string, from: string): Outcome {
  const next =
    from === 'open' ? 'review it first' : from === 'under_review' ? 'that is done' : 'that is final'
  return refused(`Dispute ${disputeId} cannot be ${moved}: it is ${from}, ${next}.`, {
    disputeId,
    from,
  })
}

/**
 * Issues the demo's credentials again, because the issuer's address changed or they expire soon.
 * The workers of the samples pass through expiry, supersession and revocation again, within
 * minutes. The seeded history does not change.
 */
import type { Action } from '../audit/actions.ts'
import type { Tx } from '../platform/db/db.ts'
import { scoreWorkers } from '../scoring/scores/score-workers.ts'
import type { Scoring } from '../scoring/scores/scoring.ts'
import type { DueWorker } from '../scoring/scores/scoring-inputs.ts'
import { findWorkers } from '../workers/api.ts'
import { dayMs } from './days.ts'
import { sampleWorkers } from './scenario.ts'
import { checkIdentity, scoredAction } from './seed.ts'
import { demoWorkers } from './workers.ts'

/**
 * Returns the actions for the audit log. `lately` is far enough in the past that a credential valid
 * for one second from then has expired.
 */
export async function reissueCredentials(
  tx: Tx,
  scoring: Scoring,
  { lately, now }: { lately: Date; now: Date },
): Promise<Action[]> {
  const workers = await findWorkers(tx, {
    externalIds: demoWorkers.map(({ username }) => username),
  })
  const ids = new Map(workers.map(({ workerId, externalId }) => [externalId, workerId]))
  const due = (username: string, correction: DueWorker['correction'] = null): DueWorker[] => {
    const workerId = ids.get(username)
    return workerId === undefined ? [] : [{ workerId, correction }]
  }
  const { issuer, issueRule } = scoring
  const renewing = { ...scoring, issueRule: { ...issueRule, renewAfterDays: 0 } }
  const shortLived = { ...renewing, issuer: { ...issuer, validityDays: secondMs / dayMs } }
  const [lapsed] = due(sampleWorkers.expired)
  if (lapsed !== undefined) {
    const until = new Date(lately.getTime() + secondMs)
    await checkIdentity(tx, lapsed.workerId, { now: lately, until })
  }
  const others = [...ids.values()].filter((workerId) => workerId !== lapsed?.workerId)
  const all = others.map((workerId) => ({ workerId, correction: null }))
  const correction = { reason: 'correction', disputeId: null } as const
  const scored = [
    ...(await scoreWorkers(tx, shortLived, lapsed === undefined ? [] : [lapsed], lately)),
    ...(await scoreWorkers(tx, renewing, all, now)),
    ...(await scoreWorkers(tx, renewing, due(sampleWorkers.superseded), now)),
    ...(await scoreWorkers(tx, renewing, due(sampleWorkers.revoked, correction), now)),
  ]
  return [scoredAction(scored)]
}

const secondMs = 1_000

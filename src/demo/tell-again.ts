/**
 * Another address is another issuer, and credentials grow old: then everybody's is issued anew, and the people who teach a lesson go
 * through theirs once more, within minutes. Their first story stays as it was told.
 */
import type { Action } from '../audit/actions.ts'
import type { Tx } from '../platform/db/db.ts'
import { scoreWorkers } from '../scores/score-workers.ts'
import type { Scoring } from '../scores/scoring.ts'
import type { DueWorker } from '../scores/scoring-inputs.ts'
import { findWorkers } from '../workers/store.ts'
import { dayMs } from './days.ts'
import { demoPeople } from './people.ts'
import { heroes } from './story.ts'
import { checkIdentity, scoredAction } from './tell-story.ts'

/** `lately` is so long ago that what was valid for a second has expired. Gives what the audit log is to say of it. */
export async function tellAgain(
  tx: Tx,
  scoring: Scoring,
  { lately, now }: { lately: Date; now: Date },
): Promise<Action[]> {
  const people = await findWorkers(tx, { externalIds: demoPeople.map(({ username }) => username) })
  const ids = new Map(people.map(({ workerId, externalId }) => [externalId, workerId]))
  const due = (username: string, correction: DueWorker['correction'] = null): DueWorker[] => {
    const workerId = ids.get(username)
    return workerId === undefined ? [] : [{ workerId, correction }]
  }
  const { issuer, issueRule } = scoring
  const anew = { ...scoring, issueRule: { ...issueRule, renewAfterDays: 0 } }
  const brief = { ...anew, issuer: { ...issuer, validityDays: secondMs / dayMs } }
  const [lapsed] = due(heroes.expired)
  if (lapsed !== undefined) {
    const until = new Date(lately.getTime() + secondMs)
    await checkIdentity(tx, lapsed.workerId, { now: lately, until })
  }
  const others = [...ids.values()].filter((workerId) => workerId !== lapsed?.workerId)
  const everybody = others.map((workerId) => ({ workerId, correction: null }))
  const wrong = { reason: 'correction', disputeId: null } as const
  const scored = [
    ...(await scoreWorkers(tx, brief, lapsed === undefined ? [] : [lapsed], lately)),
    ...(await scoreWorkers(tx, anew, everybody, now)),
    ...(await scoreWorkers(tx, anew, due(heroes.superseded), now)),
    ...(await scoreWorkers(tx, anew, due(heroes.revoked, wrong), now)),
  ]
  return [scoredAction(scored)]
}

const secondMs = 1_000

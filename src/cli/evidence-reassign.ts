/** `assay evidence reassign`: two records were of one person, or one was of two. All of it or nothing. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { findDisputed } from '../disputes/store.ts'
import { systemClock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { type Reassigned, reassignEvidence } from '../scores/reassign-evidence.ts'
import type { Scoring } from '../scores/scoring.ts'
import { findWorkerId } from '../workers/store.ts'
import { withDatabase } from './context.ts'
import { type EvidenceName, evidenceIdsOf, evidenceNameOf } from './evidence-names.ts'
import { failure, unknownWorker, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { usernameGiven } from './person.ts'
import { openScoring } from './scoring-here.ts'

export interface ReassignFlags {
  allOf?: string
  to: string
}

/** `names` are ids, or `SOURCE/EXTERNAL-ID`. */
export async function reassignEvidenceCommand(
  config: Config,
  names: readonly string[],
  flags: ReassignFlags,
): Promise<Outcome> {
  if (names.length > 0 === (flags.allOf !== undefined))
    throw usageError('Name items, or --all-of and a person.')
  const wish = {
    names: names.map(evidenceNameOf),
    allOf: flags.allOf === undefined ? null : usernameGiven(flags.allOf),
    to: usernameGiven(flags.to),
  }
  const scoringNow = await openScoring(config)
  return withDatabase(config, async (db) => {
    const scoring = await scoringNow(db)
    const answer = await db.transaction((tx) => reassignRecorded(tx, scoring, wish))
    if ('unknownPerson' in answer) throw unknownWorker(answer.unknownPerson)
    if (answer.outcome === 'unknown_worker') throw unknownWorker(wish.to)
    return told(answer, wish.to)
  })
}

interface Wish {
  names: readonly EvidenceName[]
  allOf: string | null
  to: string
}

async function reassignRecorded(
  tx: Tx,
  scoring: Scoring,
  { names, allOf, to }: Wish,
): Promise<Reassigned | { unknownPerson: string }> {
  const toWorkerId = await findWorkerId(tx, to)
  if (toWorkerId === null) return { unknownPerson: to }
  const allOfId = allOf === null ? null : await findWorkerId(tx, allOf)
  if (allOf !== null && allOfId === null) return { unknownPerson: allOf }
  const { ids, unknown } = await evidenceIdsOf(tx, names)
  if (unknown.length > 0) return { outcome: 'not_found', evidenceIds: unknown }
  const now = systemClock()
  const what = allOfId === null ? ids : { allOf: allOfId }
  const answer = await reassignEvidence(tx, scoring, { what, toWorkerId, now })
  if (answer.outcome !== 'reassigned') return answer
  await refuseDisputed(tx, answer.moved)
  await recordMoves(tx, answer.moved, { toWorkerId, now })
  return answer
}

type Moved = (Reassigned & { outcome: 'reassigned' })['moved']

/** Takes everything back: the one who decides the dispute must find what is disputed where it was. */
async function refuseDisputed(tx: Tx, moved: Moved): Promise<void> {
  const [disputed] = await findDisputed(
    tx,
    moved.map(({ evidenceId }) => evidenceId),
  )
  if (disputed !== undefined)
    throw failure(
      `${disputed.evidenceId} is disputed: end dispute ${disputed.disputeId} first. Nothing was done.`,
    )
}

const subjectsMax = 256

async function recordMoves(
  tx: Tx,
  moved: Moved,
  { toWorkerId: to, now }: { toWorkerId: string; now: Date },
): Promise<void> {
  for (const [from, items] of Map.groupBy(moved, ({ fromWorkerId }) => fromWorkerId))
    for (let at = 0; at < items.length; at += subjectsMax) {
      const subjects = items.slice(at, at + subjectsMax).map(({ evidenceId }) => evidenceId)
      const details = { from, to, count: subjects.length }
      const action = 'evidence.reassigned'
      await recordAction(tx, { actor: operator(), action, subjects, details }, now)
    }
}

const refusals = {
  not_found: 'not found',
  revoked: 'revoked, so it counts for nobody',
  excluded: 'set aside by a dispute: end that first',
}

function told(answer: Exclude<Reassigned, { outcome: 'unknown_worker' }>, to: string): Outcome {
  if (answer.outcome !== 'reassigned') {
    const message = `${answer.evidenceIds.join(', ')}: ${refusals[answer.outcome]}. Nothing was done.`
    return done({ ok: false, ...answer, message }, [message], 1)
  }
  const { moved } = answer
  const rescored = answer.scored.map(({ workerId, outcome, snapshot }) => ({
    workerId,
    outcome,
    snapshotId: snapshot?.snapshotId.toString('hex') ?? null,
  }))
  return done({ ok: true, moved, rescored }, [
    `${moved.length} reassigned to ${to}`,
    ...rescored.map(({ workerId, outcome }) => `score of ${workerId}: ${outcome}`),
  ])
}

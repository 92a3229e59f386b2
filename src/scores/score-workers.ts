/**
 * From evidence to scores. The room's verbs write score_snapshots, score_workings and score_evaluations, and in the same transaction the
 * credentials and the events that follow: a crash before the commit leaves all as it was, after it all is there. Whoever changes what a
 * score rests on holds the worker's lock first (`lockWorkers`), so that a worker has one change at a time and events keep their order.
 */
import { randomBytes } from 'node:crypto'
import type { Tx } from '../platform/db/db.ts'
import {
  type IssuedCredential,
  issueCredentials,
  type NewCredential,
} from '../score-credentials/issue.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import type { ScoreResult } from '../scoring-core/score.ts'
import { type NewEvent, publishEvents } from '../webhooks/events/outbox.ts'
import { type ScoreChange, type Standing, scoreChangeOf } from './score-change.ts'
import { scoreRevised, scoreUpdated } from './score-events.ts'
import type { Scoring } from './scoring.ts'
import { mayShare } from './sharing.ts'
import type { NewSnapshot, SharedSnapshot, Snapshot } from './snapshot.ts'
import { nonceBytes } from './snapshot-id.ts'
import { type DueWorker, standingsOf } from './standings.ts'
import {
  endSnapshots,
  insertSnapshots,
  keepVocabulary,
  markEvaluated,
  setCredentials,
} from './store.ts'

export interface ScoredWorker {
  workerId: string
  /** `unscorable`: the engine refuses the evidence, and what was there stays. */
  outcome: 'none' | 'kept' | 'issued' | 'withdrawn' | 'unscorable'
  /** The score that is active now, and the one that was before: the same where it was kept. */
  snapshot: Snapshot | null
  previous: Snapshot | null
  /** What the evidence comes to now; null where the engine refuses it. */
  result: ScoreResult | null
}

/**
 * Scores the workers, each named once, from their evidence as it is now: issues what the issue rule lets through, ends what it replaces,
 * and publishes the events. They no longer wait for recomputation. Up to some hundreds a call. A worker that is not there is left out.
 * @throws EngineRefused where the engine was recalled
 */
export async function scoreWorkers(
  tx: Tx,
  scoring: Scoring,
  due: readonly DueWorker[],
  now: Date,
): Promise<ScoredWorker[]> {
  const { scored, events } = await rescore(tx, scoring, due, now)
  await publishEvents(tx, events, now)
  return scored
}

/** The same, and the events are the caller's to publish: for who has others that come before. */
export async function rescore(
  tx: Tx,
  scoring: Scoring,
  due: readonly DueWorker[],
  now: Date,
): Promise<{ scored: ScoredWorker[]; events: NewEvent[] }> {
  const standings = await standingsOf(tx, scoring.engine, due)
  if (standings.length === 0) return { scored: [], events: [] }
  const nonces = randomBytes(nonceBytes * standings.length)
  const steps = standings.map((standing, i): Step => {
    const nonce = nonces.subarray(nonceBytes * i, nonceBytes * (i + 1))
    return { standing, change: scoreChangeOf(standing, scoring, { now, nonce }) }
  })
  await endReplaced(tx, steps, now)
  const shared = await issueShared(tx, scoring, steps, now)
  await insertIssued(tx, scoring, steps, now)
  await revokeWrong(tx, steps, { shared, now })
  const workerIds = standings.map(({ workerId }) => workerId)
  await markEvaluated(tx, workerIds, { rulesSha256: scoring.sha256, now })
  return {
    scored: steps.map(scoredOf),
    events: shared.map((step) => eventOf(step, now)),
  }
}

/** One worker on the way. */
interface Step {
  standing: Standing
  change: ScoreChange
}

async function endReplaced(tx: Tx, steps: readonly Step[], now: Date): Promise<void> {
  const ended = steps.flatMap(({ standing: { active }, change: { decision } }) => {
    if (active === null || decision === 'keep') return []
    const to = decision === 'issue' ? ('superseded' as const) : ('withdrawn' as const)
    return { snapshotId: active.snapshotId, to }
  })
  if (ended.length > 0) await endSnapshots(tx, ended, now)
}

/** A step whose score has its credential now. */
interface SharedStep extends Step {
  snapshot: SharedSnapshot
}

/** Credentials for every score that may be shared and has none: the new ones, and those kept whose person allows it again. */
async function issueShared(
  tx: Tx,
  scoring: Scoring,
  steps: readonly Step[],
  now: Date,
): Promise<SharedStep[]> {
  const wanted = steps.flatMap((step) => {
    const snapshot = snapshotAfter(step)
    const { person } = step.standing
    if (snapshot === null || snapshot.vcSha256 !== null || person === null) return []
    return mayShare(person, now) ? { step, snapshot, username: person.username } : []
  })
  const credentials = await issueCredentials(
    tx,
    scoring.issuer,
    wanted.map(({ step, snapshot, username }) => ({
      ...credentialOf(snapshot, username, now),
      // The person, or the issuer, may have had another name then.
      replaces: step.standing.told?.vcSha256 ?? null,
    })),
  )
  const shared = wanted.map(({ step, snapshot }, i): SharedStep => {
    const { vcSha256, statusToken } = credentials[i] as IssuedCredential
    const credential = {
      vcSha256: Buffer.from(vcSha256, 'hex'),
      statusToken: Buffer.from(statusToken, 'hex'),
    }
    return { ...step, snapshot: Object.assign(snapshot, credential) }
  })
  const kept = shared.filter(({ change }) => change.decision === 'keep')
  if (kept.length > 0)
    await setCredentials(
      tx,
      kept.map(({ snapshot }) => snapshot),
    )
  return shared
}

/** The score that is active when all is done. */
function snapshotAfter({ standing, change }: Step): Snapshot | null {
  return change.decision === 'keep' ? standing.active : change.snapshot
}

function credentialOf(snapshot: Snapshot, username: string, now: Date): NewCredential {
  const { score, band, low, high, evidenceCount, engineVersion, engineSha256 } = snapshot
  return {
    username,
    score,
    scoreBand: band,
    confidenceLow: low,
    confidenceHigh: high,
    evidenceCount,
    engineVersion,
    engineBinarySha256: engineSha256.toString('hex'),
    issuedAt: now,
  }
}

async function insertIssued(
  tx: Tx,
  { vocabularySha256, vocabularyText }: Scoring,
  steps: readonly Step[],
  now: Date,
): Promise<void> {
  const issued = steps.flatMap(({ change }): NewSnapshot[] =>
    change.snapshot === null ? [] : [change.snapshot],
  )
  if (issued.length === 0) return
  const sha256 = Buffer.from(vocabularySha256, 'hex')
  await keepVocabulary(tx, { sha256, rules: vocabularyText }, now)
  await insertSnapshots(tx, issued)
}

/**
 * The credential of a score that was wrong is revoked with it; that of a score that was right stays true of
 * its date (decision D28). So is the one that receivers have, if they are told that it was revised.
 */
async function revokeWrong(
  tx: Tx,
  steps: readonly Step[],
  { shared, now }: { shared: readonly SharedStep[]; now: Date },
): Promise<void> {
  const told = new Set(shared.map(({ standing }) => standing))
  const wrong = steps.flatMap(({ standing, change: { decision, correction } }) => {
    if (correction === null || decision === 'keep') return []
    // Without another score to tell of, a forced correction changes nothing: the score held was right.
    if (correction.isForced && !told.has(standing)) return []
    const replaced = told.has(standing) ? [standing.active, standing.told] : [standing.active]
    return replaced.flatMap((snapshot) => snapshot?.vcSha256 ?? [])
  })
  if (wrong.length > 0) await revokeDigests(tx, wrong, now)
}

function eventOf({ standing, change, snapshot }: SharedStep, now: Date): NewEvent {
  const { told: previous } = standing
  const { correction, decision } = change
  return decision === 'issue' && previous !== null && correction !== null
    ? scoreRevised(snapshot, { ...correction, previous, issuedAt: now, revisedAt: now })
    : scoreUpdated(snapshot, now)
}

const outcomes = {
  none: 'none',
  keep: 'kept',
  issue: 'issued',
  withdraw: 'withdrawn',
} as const

function scoredOf(step: Step): ScoredWorker {
  const { standing, change } = step
  const { result, decision } = change
  const isLeft = decision === 'keep' || decision === 'none'
  return {
    workerId: standing.workerId,
    outcome: result === null && isLeft ? 'unscorable' : outcomes[decision],
    snapshot: snapshotAfter(step),
    previous: standing.active,
    result,
  }
}

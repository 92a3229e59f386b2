/**
 * From evidence to scores. Scoring writes `score_snapshots`, `score_workings` and
 * `score_evaluations`, and in the same transaction the credentials and events that follow. A crash
 * before the commit changes nothing.
 *
 * Every change of a score's inputs locks the worker first (`lockWorkers`). So a worker has one
 * change at a time, and its events keep their order.
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
import { type ScoreChange, type ScoringInputs, scoreChangeOf } from './score-change.ts'
import { scoreRevised, scoreUpdated } from './score-events.ts'
import type { Scoring } from './scoring.ts'
import { type DueWorker, readScoringInputs } from './scoring-inputs.ts'
import { mayShare } from './sharing.ts'
import type { NewSnapshot, SharedSnapshot, Snapshot } from './snapshot.ts'
import { nonceBytes } from './snapshot-id.ts'
import {
  endSnapshots,
  insertSnapshots,
  keepVocabulary,
  markEvaluated,
  setCredentials,
} from './store.ts'

export interface ScoredWorker {
  workerId: string
  /** `unscorable`: the engine rejects the evidence, and the current score stays. */
  outcome: 'none' | 'kept' | 'issued' | 'withdrawn' | 'unscorable'
  /** The active score after and before the call. Both are the same if the score was kept. */
  snapshot: Snapshot | null
  previous: Snapshot | null
  /** Null if the engine rejects the evidence. */
  result: ScoreResult | null
}

/**
 * Scores workers from their current evidence, each named once and at most some hundreds a call.
 * Issues, keeps or ends scores by the issue rule, publishes the events and removes the marks for
 * recomputation. Unknown workers are left out.
 * @throws EngineRefused if the engine was recalled
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

/**
 * Does the same as `scoreWorkers`, but returns the events. The caller publishes them after earlier
 * events of its own.
 */
export async function rescore(
  tx: Tx,
  scoring: Scoring,
  due: readonly DueWorker[],
  now: Date,
): Promise<{ scored: ScoredWorker[]; events: NewEvent[] }> {
  const allInputs = await readScoringInputs(tx, scoring.engine, due)
  if (allInputs.length === 0) return { scored: [], events: [] }
  const nonces = randomBytes(nonceBytes * allInputs.length)
  const steps = allInputs.map((inputs, i): Step => {
    const nonce = nonces.subarray(nonceBytes * i, nonceBytes * (i + 1))
    return { inputs, change: scoreChangeOf(inputs, scoring, { now, nonce }) }
  })
  await endReplaced(tx, steps, now)
  const shared = await issueShared(tx, scoring, steps, now)
  await insertIssued(tx, scoring, steps, now)
  await revokeWrong(tx, steps, { shared, now })
  const workerIds = allInputs.map(({ workerId }) => workerId)
  await markEvaluated(tx, workerIds, { rulesSha256: scoring.sha256, now })
  return {
    scored: steps.map(scoredOf),
    events: shared.map((step) => eventOf(step, now)),
  }
}

/** State of one worker between the steps. */
interface Step {
  inputs: ScoringInputs
  change: ScoreChange
}

async function endReplaced(tx: Tx, steps: readonly Step[], now: Date): Promise<void> {
  const ended = steps.flatMap(({ inputs: { active }, change: { decision } }) => {
    if (active === null || decision === 'keep') return []
    const to = decision === 'issue' ? ('superseded' as const) : ('withdrawn' as const)
    return { snapshotId: active.snapshotId, to }
  })
  if (ended.length > 0) await endSnapshots(tx, ended, now)
}

/** A step whose score now has a credential. */
interface SharedStep extends Step {
  snapshot: SharedSnapshot
}

/**
 * Issues a credential for every score that may be shared and has none: new scores, and kept ones if
 * sharing is allowed again.
 */
async function issueShared(
  tx: Tx,
  scoring: Scoring,
  steps: readonly Step[],
  now: Date,
): Promise<SharedStep[]> {
  const wanted = steps.flatMap((step) => {
    const snapshot = snapshotAfter(step)
    const { worker } = step.inputs
    if (snapshot === null || snapshot.vcSha256 !== null || worker === null) return []
    return mayShare(worker, now) ? { step, snapshot, username: worker.username } : []
  })
  const credentials = await issueCredentials(
    tx,
    scoring.issuer,
    wanted.map(({ step, snapshot, username }) => ({
      ...credentialOf(snapshot, username, now),
      // The worker, or the issuer, may have had another name at that time.
      replaces: step.inputs.lastSent?.vcSha256 ?? null,
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

/** Returns the score that is active after the change. */
function snapshotAfter({ inputs, change }: Step): Snapshot | null {
  return change.decision === 'keep' ? inputs.active : change.snapshot
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
 * Revokes the credential of each score that was wrong; a score that was right keeps its credential,
 * which stays valid for its date (decision D28). If an event reports the revision, the credential
 * that receivers have is revoked too.
 */
async function revokeWrong(
  tx: Tx,
  steps: readonly Step[],
  { shared, now }: { shared: readonly SharedStep[]; now: Date },
): Promise<void> {
  const sent = new Set(shared.map(({ inputs }) => inputs))
  const wrong = steps.flatMap(({ inputs, change: { decision, correction } }) => {
    if (correction === null || decision === 'keep') return []
    // If no new score is sent, a forced correction changes nothing, because the current score was
    // right.
    if (correction.isForced && !sent.has(inputs)) return []
    const replaced = sent.has(inputs) ? [inputs.active, inputs.lastSent] : [inputs.active]
    return replaced.flatMap((snapshot) => snapshot?.vcSha256 ?? [])
  })
  if (wrong.length > 0) await revokeDigests(tx, wrong, now)
}

function eventOf({ inputs, change, snapshot }: SharedStep, now: Date): NewEvent {
  const { lastSent: previous } = inputs
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
  const { inputs, change } = step
  const { result, decision } = change
  const isLeft = decision === 'keep' || decision === 'none'
  return {
    workerId: inputs.workerId,
    outcome: result === null && isLeft ? 'unscorable' : outcomes[decision],
    snapshot: snapshotAfter(step),
    previous: inputs.active,
    result,
  }
}

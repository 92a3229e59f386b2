/**
 * From evidence to scores. Scoring writes `score_snapshots`, `score_workings` and
 * `score_evaluations`, and in the same transaction the credentials and events that follow. A crash
 * before the commit changes nothing.
 *
 * Every change of a score's inputs locks the worker first (`lockWorkers`). So a worker has one
 * change at a time, and its events keep their order.
 */
import { randomBytes } from 'node:crypto'
import { supersedeReplaced } from '../../credentials/api.ts'
import { type IssuedCredential, issueCredentials } from '../../credentials/issue.ts'
import { revokeDigests } from '../../credentials/revoke.ts'
import type { Tx } from '../../platform/db/db.ts'
import { type NewEvent, publishEvents } from '../../webhooks/events/outbox.ts'
import type { ScoreResult } from '../core/score.ts'
import { mayShare } from './keep-sharing.ts'
import { credentialOf, digestsOf, type Reissued, reissueMarked } from './reissue.ts'
import { deleteReissues, type Reissue } from './reissue-store.ts'
import { type ScoreChange, type ScoringInputs, scoreChangeOf } from './score-change.ts'
import { scoreRevised, scoreUpdated } from './score-events.ts'
import type { Scoring } from './scoring.ts'
import { type DueWorker, readScoringInputs } from './scoring-inputs.ts'
import { type NewSnapshot, nonceBytes, type SharedSnapshot, type Snapshot } from './snapshot.ts'
import {
  endSnapshots,
  insertSnapshots,
  keepVocabulary,
  markEvaluated,
  setCredentials,
} from './store.ts'

/**
 * What scoring did to the score of a worker. `reissued`: the score is kept, and its revoked
 * credential is replaced. `unscorable`: the engine rejects the evidence, and the current score stays.
 */
export const effects = ['issued', 'reissued', 'kept', 'withdrawn', 'none', 'unscorable'] as const
export type Effect = (typeof effects)[number]

export interface ScoredWorker {
  workerId: string
  effect: Effect
  /** The active score after and before the call. */
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
  await deleteReissues(tx, shared.flatMap(revisedBy))
  const workerIds = allInputs.map(({ workerId }) => workerId)
  const reissued = await reissueMarked(tx, scoring.issuer, workerIds, now)
  const evaluations = steps.map(({ inputs: { workerId }, change: { endsOn } }) => ({
    workerId,
    endsOn,
  }))
  await markEvaluated(tx, evaluations, { rulesSha256: scoring.sha256, now })
  return {
    scored: steps.map((step) => scoredOf(step, reissued)),
    events: [...shared.map((step) => eventOf(step, now)), ...reissued.events],
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
  // The credential of a withdrawn score stays valid for its date, and nothing newer replaces it.
  const withdrawn = steps.flatMap(({ inputs: { active }, change: { decision } }) =>
    decision === 'withdraw' ? (active?.vcSha256 ?? []) : [],
  )
  if (withdrawn.length > 0) await supersedeReplaced(tx, withdrawn, now)
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
    const credential = digestsOf(credentials[i] as IssuedCredential)
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

function eventOf(step: SharedStep, now: Date): NewEvent {
  const { snapshot } = step
  const revision = revisionOf(step)
  return revision === null
    ? scoreUpdated(snapshot, now)
    : scoreRevised(snapshot, { ...revision, issuedAt: now, revisedAt: now })
}

/** Returns why and from which score the event revises, or null if it is `score.updated`. */
function revisionOf({ inputs: { lastSent: previous }, change: { correction, decision } }: Step) {
  if (decision !== 'issue' || previous === null || correction === null) return null
  return { ...correction, previous }
}

/** Returns the credential that the event names as revoked. No other event may name it. */
function revisedBy(step: SharedStep): Reissue[] {
  const vcSha256 = revisionOf(step)?.previous.vcSha256 ?? null
  return vcSha256 === null ? [] : [{ workerId: step.inputs.workerId, vcSha256 }]
}

const effectOf = {
  none: 'none',
  keep: 'kept',
  issue: 'issued',
  withdraw: 'withdrawn',
} as const

function scoredOf(step: Step, { snapshots: reissued }: Reissued): ScoredWorker {
  const { inputs, change } = step
  const { result, decision } = change
  const { workerId } = inputs
  const isLeft = decision === 'keep' || decision === 'none'
  const fresh = reissued.get(workerId)
  return {
    workerId,
    effect: result === null && isLeft ? 'unscorable' : fresh ? 'reissued' : effectOf[decision],
    snapshot: fresh ?? snapshotAfter(step),
    previous: inputs.active,
    result,
  }
}

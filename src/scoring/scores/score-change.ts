/** Pure: the change of one worker's score that follows from its scoring inputs. */
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import type { WorkerFacts } from '../../workers/gate.ts'
import type { Evidence, ScoreInput } from '../core/evidence.ts'
import type { ScoreResult } from '../core/score.ts'
import type { PastEngine } from './engine.ts'
import {
  type Decision,
  decide,
  endsOnDay,
  isPublished,
  type Published,
  scoredIds,
} from './issue-rule.ts'
import { mayShare } from './keep-sharing.ts'
import type { ScoringRules } from './scoring.ts'
import {
  type ActiveSnapshot,
  evidenceRootOf,
  evidenceTexts,
  type NewSnapshot,
  type RevisionReason,
  type Snapshot,
  snapshotId,
} from './snapshot.ts'

/** Reason why the current score is known to be wrong. */
export interface Correction {
  reason: RevisionReason
  /** Dispute that led to the correction, if any. */
  disputeId: string | null
  /**
   * True if an earlier score was wrong and the current one is right. A score is then issued even if
   * it is equal, if the worker shares its score, so that receivers learn that the dispute was
   * upheld.
   */
  isForced?: true
}

/** Every fact about one worker that its score depends on. */
export interface ScoringInputs {
  workerId: string
  /** Null if the worker has no profile. */
  worker: WorkerFacts | null
  active: ActiveSnapshot | null
  /**
   * The last score that was sent in events: the active one, or an earlier one whose credential is
   * still valid if the active one has none. Null if there is none.
   */
  lastSent: Snapshot | null
  /** In the form that the engine receives. */
  evidence: readonly Evidence[]
  /** Ids of the worker's revoked evidence. */
  revoked: ReadonlySet<string>
  /** True if the engine of the current score was recalled since. */
  isRecalled: boolean
  /**
   * Set by the caller. Revoked evidence and recalled engines are detected from the other inputs.
   */
  correction: Correction | null
}

export interface ScoreChange {
  decision: Decision
  /** New score without a credential, if the decision is `issue`. */
  snapshot: NewSnapshot | null
  /** Correction of the current score, if it is wrong. */
  correction: Correction | null
  /** Null if the engine rejects the evidence. */
  result: ScoreResult | null
  /** `YYYY-MM-DD`: the day on which the score ends, if it comes before the next evaluation. */
  endsOn: string | null
}

export interface Moment {
  now: Date
  /** 32 random bytes, for this score only. */
  nonce: Buffer
}

const dayMs = 86_400_000

/** Days after which a score is evaluated again, because evidence decays. */
export const evaluatedEveryDays = 30

export function scoreChangeOf(
  inputs: ScoringInputs,
  rules: ScoringRules,
  { now, nonce }: Moment,
): ScoreChange {
  const { evidence } = inputs
  const evidenceIds = scoredIdsOf(inputs.active)
  const correction = correctionOf(inputs, evidenceIds, now)
  const held = heldOf(inputs, evidenceIds, correction)
  const input = {
    evidence,
    vocabulary: rules.vocabulary,
    asOfDay: Math.floor(now.getTime() / dayMs),
  }
  const result = resultOf(rules.engine, input)
  const fresh = {
    evidenceIds: scoredIds(evidence),
    result,
    isCorrection: correction !== null && correction.isForced === undefined,
    now,
  }
  const decision = decide(held, fresh, rules.issueRule)
  const snapshot =
    decision === 'issue' && result !== null && isPublished(result, rules.issueRule)
      ? snapshotOf({ ...inputs, correction }, { rules, result, now, nonce })
      : null
  return { decision, snapshot, correction, result, endsOn: endsOnOf(rules, input, result) }
}

function endsOnOf(
  { engine, issueRule }: ScoringRules,
  input: ScoreInput,
  result: ScoreResult | null,
): string | null {
  if (result === null || !isPublished(result, issueRule)) return null
  // Evidence that expires marks its worker on that day by itself.
  const expiryDays = new Map<string, number>()
  const future = { score: engine.score, input, expiryDays, daysMax: evaluatedEveryDays }
  const day = endsOnDay(future, issueRule)
  return day === null ? null : new Date(day * dayMs).toISOString().slice(0, 10)
}

function scoredIdsOf(active: ActiveSnapshot | null): Set<string> {
  // The column holds canonical JSON that this module wrote.
  return scoredIds(active === null ? [] : (JSON.parse(active.evidence) as Evidence[]))
}

function heldOf(
  { active, isRecalled }: ScoringInputs,
  evidenceIds: ReadonlySet<string>,
  correction: Correction | null,
) {
  if (active === null) return null
  const { score, low, high, band, issuedAt } = active
  const mustReplace = isRecalled || correction?.isForced === true
  return { evidenceIds, score, low, high, band, issuedAt, mustReplace }
}

/**
 * Returns the reason why the current score is wrong, or null. A score that counts revoked evidence,
 * or that a recalled engine made, is wrong even if the caller names no correction.
 */
function correctionOf(
  { correction, lastSent, worker, revoked, isRecalled }: ScoringInputs,
  held: ReadonlySet<string>,
  now: Date,
): Correction | null {
  const isUnsent = correction?.isForced && (worker === null || !mayShare(worker, now))
  if (lastSent !== null && correction !== null && !isUnsent) return correction
  if (!held.isDisjointFrom(revoked)) return { reason: 'evidence_revoked', disputeId: null }
  return isRecalled ? { reason: 'engine_correction', disputeId: null } : null
}

/**
 * Returns null if the engine rejects the evidence, so that one such worker does not block the
 * others.
 */
export function resultOf(engine: Pick<PastEngine, 'score'>, input: ScoreInput): ScoreResult | null {
  try {
    return engine.score(input)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

interface Computed extends Moment {
  rules: ScoringRules
  result: ScoreResult & Published
}

function snapshotOf(
  { workerId, active, lastSent, evidence, correction }: ScoringInputs,
  { rules, result, now, nonce }: Computed,
): NewSnapshot {
  const { engine, vocabularySha256 } = rules
  const previous = correction === null ? active : lastSent
  const asOf = now.toISOString().slice(0, 10)
  const texts = evidenceTexts(evidence)
  const evidenceRoot = evidenceRootOf(texts, nonce)
  const facts = { workerId, asOf, nonce, engine, vocabularySha256, evidenceRoot, result }
  const { score, low, high, band, evidenceCount, sourceCount } = result
  return {
    snapshotId: snapshotId(facts),
    workerId,
    previousId: previous?.snapshotId ?? null,
    change: previous === null ? 'first' : correction === null ? 'updated' : 'revised',
    reason: correction?.reason ?? null,
    disputeId: correction?.disputeId ?? null,
    asOf,
    engineId: engine.id,
    engineVersion: engine.version,
    engineSha256: Buffer.from(engine.binarySha256, 'hex'),
    vocabularySha256: Buffer.from(vocabularySha256, 'hex'),
    evidenceRoot,
    nonce,
    evidence: `[${texts.join(',')}]`,
    result: canonicalJson(result),
    score,
    low,
    high,
    band,
    evidenceCount,
    sourceCount,
    issuedAt: now,
    vcSha256: null,
    statusToken: null,
  }
}

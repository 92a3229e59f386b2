/** Pure: what becomes of one worker's score, from what stands and what the evidence comes to now. */

import { canonicalJson } from '../platform/json/canonical-json.ts'
import type { Evidence } from '../scoring-core/evidence.ts'
import type { ScoreResult } from '../scoring-core/score.ts'
import type { WorkerFacts } from '../workers/gate.ts'
import { type Decision, decide, scoredIds } from './issue-rule.ts'
import type { ScoringRules } from './scoring.ts'
import { mayShare } from './sharing.ts'
import type { ActiveSnapshot, NewSnapshot, RevisionReason, Snapshot } from './snapshot.ts'
import { evidenceRootOf, evidenceTexts, snapshotId } from './snapshot-id.ts'

/** Why the score held is known to be wrong. */
export interface Correction {
  reason: RevisionReason
  /** The dispute that led to it, if one did. */
  disputeId: string | null
  /**
   * An earlier score was wrong, and the one held is not: a score is issued all the same if it may be shared,
   * so that receivers learn that the dispute was upheld.
   */
  isForced?: true
}

/** Everything about one worker that bears on the score. */
export interface Standing {
  workerId: string
  /** Null of who has no profile. */
  person: WorkerFacts | null
  active: ActiveSnapshot | null
  /**
   * The last score that receivers of events were told: the active one, or an earlier one whose credential
   * is still valid if the active one has none. Null if there is none.
   */
  told: Snapshot | null
  /** As the engine is given it. */
  evidence: readonly Evidence[]
  /** Ids. */
  revoked: ReadonlySet<string>
  /** The engine that made the score held was recalled since. */
  isRecalled: boolean
  /** Told by the caller; that the score held rests on revoked evidence, or on a recalled engine, is seen here. */
  correction: Correction | null
}

export interface ScoreChange {
  decision: Decision
  /** Where the decision is to issue; without a credential yet. */
  snapshot: NewSnapshot | null
  /** Of the score held, where it is wrong. */
  correction: Correction | null
  /** What the evidence comes to; null where the engine refuses it. */
  result: ScoreResult | null
}

export interface Moment {
  now: Date
  /** 32 random bytes, of this score alone. */
  nonce: Buffer
}

const dayMs = 86_400_000

export function scoreChangeOf(
  standing: Standing,
  rules: ScoringRules,
  { now, nonce }: Moment,
): ScoreChange {
  const { evidence } = standing
  const evidenceIds = scoredIdsOf(standing.active)
  const correction = correctionOf(standing, evidenceIds, now)
  const held = heldOf(standing, evidenceIds, correction)
  const result = resultOf(rules, evidence, Math.floor(now.getTime() / dayMs))
  const fresh = {
    evidenceIds: scoredIds(evidence),
    result,
    isCorrection: correction !== null && correction.isForced === undefined,
    now,
  }
  const decision = decide(held, fresh, rules.issueRule)
  const snapshot =
    decision === 'issue' && result !== null
      ? snapshotOf({ ...standing, correction }, { rules, result, now, nonce })
      : null
  return { decision, snapshot, correction, result }
}

function scoredIdsOf(active: ActiveSnapshot | null): Set<string> {
  // Our own canonical JSON of exactly such items.
  return scoredIds(active === null ? [] : (JSON.parse(active.evidence) as Evidence[]))
}

function heldOf(
  { active, isRecalled }: Standing,
  evidenceIds: ReadonlySet<string>,
  correction: Correction | null,
) {
  if (active === null) return null
  const { score, band, issuedAt } = active
  const mustReplace = isRecalled || correction?.isForced === true
  return { evidenceIds, score, band, issuedAt, mustReplace }
}

/** A score that rests on what has been revoked or recalled was wrong, whoever notices. */
function correctionOf(
  { correction, told, person, revoked, isRecalled }: Standing,
  held: ReadonlySet<string>,
  now: Date,
): Correction | null {
  const isUntold = correction?.isForced && (person === null || !mayShare(person, now))
  if (told !== null && correction !== null && !isUntold) return correction
  if (!held.isDisjointFrom(revoked)) return { reason: 'evidence_revoked', disputeId: null }
  return isRecalled ? { reason: 'engine_correction', disputeId: null } : null
}

/** Null where the engine refuses the evidence: one such worker must not stand in the way of the others. */
function resultOf(
  { engine, vocabulary }: ScoringRules,
  evidence: readonly Evidence[],
  asOfDay: number,
): ScoreResult | null {
  try {
    return engine.score({ evidence, vocabulary, asOfDay })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

interface Computed extends Moment {
  rules: ScoringRules
  result: ScoreResult
}

function snapshotOf(
  { workerId, active, told, evidence, correction }: Standing,
  { rules, result, now, nonce }: Computed,
): NewSnapshot {
  const { engine, vocabularySha256 } = rules
  const previous = correction === null ? active : told
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

/**
 * Pure: the public gate (decision D33). For fast reads, the database keeps the result in
 * `readable_profiles` and `readable_scores`. The views `gate_profiles` and `gate_scores` state the
 * same rule as `readable`; a test compares them over all combinations.
 */
import type { StoredIdentity } from './identity-state.ts'
import type { Permission } from './schema.ts'

/** Facts about one worker that the gate depends on. */
export interface WorkerFacts {
  workerId: string
  username: string
  onboarded: boolean
  consents: Record<Permission, boolean>
  identity: StoredIdentity | null
}

interface ListingFacts {
  onboarded: boolean
  consents: Readonly<Record<'public_profile' | 'search_listing', boolean>>
}

export interface GateFacts extends ListingFacts {
  /** True if the worker has an active score snapshot. */
  snapshotActive: boolean
  consents: Readonly<Record<Permission, boolean>>
  /** True if the identity is verified and the verification has not expired. */
  identityActive: boolean
  /** True if an open dispute hides the score. */
  restricted: boolean
}

export interface Readable {
  /** The worker appears in search results. */
  search: boolean
  /** The worker has a public detail. */
  detail: boolean
  /** The score is readable. The detail shows it if both are readable. */
  score: boolean
}

/** Returns whether search may return the worker. */
function mayBeFound({ onboarded, consents }: ListingFacts): boolean {
  return onboarded && consents.public_profile && consents.search_listing
}

/** Conditions that hide a score from public reads. */
export const scoreGates = [
  'no_score',
  'not_onboarded',
  'public_profile',
  'score_sharing',
  'identity',
  'dispute',
] as const
export type ScoreGate = (typeof scoreGates)[number]

/**
 * Returns every condition that hides the score, and none if the score is public. A public score
 * names its worker, with avatar and path, and belongs to an onboarded public profile. The score
 * therefore needs the consent to a public profile too.
 */
export function hidingScore(facts: GateFacts): ScoreGate[] {
  const { snapshotActive, onboarded, consents, identityActive, restricted } = facts
  const closed: Record<ScoreGate, boolean> = {
    no_score: !snapshotActive,
    not_onboarded: !onboarded,
    public_profile: !consents.public_profile,
    score_sharing: !consents.score_sharing,
    identity: !identityActive,
    dispute: restricted,
  }
  return scoreGates.filter((gate) => closed[gate])
}

/** Decides the three public reads. */
export function readable(facts: GateFacts): Readable {
  return {
    detail: facts.onboarded && facts.consents.public_profile,
    search: mayBeFound(facts),
    score: hidingScore(facts).length === 0,
  }
}

/**
 * Pure: the public gate (decision D33). The database keeps what it lets through in readable_profiles and
 * readable_scores, for the reads; the views gate_profiles and gate_scores say the same as `readable`, and
 * a test compares them over all combinations.
 */
import type { StoredIdentity } from './identity-state.ts'
import type { Permission } from './schema.ts'

/** What is known of a person that bears on the gate. */
export interface PersonFacts {
  workerId: string
  username: string
  onboarded: boolean
  consents: Record<Permission, boolean>
  identity: StoredIdentity | null
}

export interface ListingFacts {
  onboarded: boolean
  consents: Readonly<Record<'public_profile' | 'search_listing', boolean>>
}

export interface GateFacts extends ListingFacts {
  /** The worker has a score snapshot that is active. */
  snapshotActive: boolean
  consents: Readonly<Record<Permission, boolean>>
  /** Verified, and not past its end. */
  identityActive: boolean
  /** By an open dispute. */
  restricted: boolean
}

export interface Readable {
  /** May be found by search. */
  search: boolean
  /** Has a public detail. */
  detail: boolean
  /** The score may be read; in the detail it stands where both may be. */
  score: boolean
}

/** By search. */
export function mayBeFound({ onboarded, consents }: ListingFacts): boolean {
  return onboarded && consents.public_profile && consents.search_listing
}

/** What can hide a score. */
export type ScoreGate =
  | 'no_score'
  | 'not_onboarded'
  | 'public_profile'
  | 'score_sharing'
  | 'identity'
  | 'dispute'

/**
 * Returns what hides the score; nothing if it is public. A public score names its person, with avatar and
 * path, and belongs to "an onboarded public profile" (spec §4.4): so it needs the consent to a public
 * profile, too.
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
  return (Object.keys(closed) as ScoreGate[]).filter((gate) => closed[gate])
}

export function readable(facts: GateFacts): Readable {
  return {
    detail: facts.onboarded && facts.consents.public_profile,
    search: mayBeFound(facts),
    score: hidingScore(facts).length === 0,
  }
}

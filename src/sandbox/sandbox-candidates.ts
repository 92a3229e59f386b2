/** The sandbox candidates with their credentials and public rows. */
import type { PublicRow } from '../candidates/public-read.ts'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import type { IssuedCredential } from '../score-credentials/issue.ts'
import type { Origin } from '../score-credentials/payload.ts'
import { bandOf } from '../skill-standard/bands.ts'
import { sandboxCredential, sandboxIssuedAt, sandboxListId } from './credentials.ts'
import { type FictionalCandidate, fictionalCandidates } from './fictional-candidates.ts'

export interface SandboxCandidate {
  /** Id of the score, 64 lowercase hex characters. */
  id: string
  row: PublicRow
  /** Null for a candidate without a score, or a score without a credential. */
  own: (IssuedCredential & { isRevoked: boolean; listIndex: number }) | null
}

export function sandboxCandidates(origin: Origin): SandboxCandidate[] {
  return fictionalCandidates.map((candidate, index) => {
    const own = issued(candidate, { origin, index })
    return { id: scoreIdOf(candidate), own, row: rowOf(candidate, own) }
  })
}

const engineVersion = '2.0.0'

/**
 * Returns the public row. Every sandbox candidate grants every consent; a candidate without a score
 * has no snapshot.
 */
function rowOf(fictional: FictionalCandidate, own: IssuedCredential | null): PublicRow {
  const { profile, score } = fictional
  const candidate = { ...profile, skills: [...profile.skills] }
  if (score === null) return { ...candidate, snapshot: null }
  const { low, high, evidenceCount } = score
  return {
    ...candidate,
    snapshot: {
      score: score.score,
      evidenceCount,
      engineVersion,
      id: scoreIdOf(fictional),
      low,
      high,
      band: bandOf(score.score),
      issuedAt: sandboxIssuedAt,
      credential: own && {
        sha256: own.vcSha256,
        statusToken: own.statusToken,
        listId: sandboxListId,
      },
    },
  }
}

function scoreIdOf({ profile }: FictionalCandidate): string {
  return sha256Hex(`sandbox score ${profile.username}`)
}

function issued(
  { profile, score }: FictionalCandidate,
  { origin, index }: { origin: Origin; index: number },
): SandboxCandidate['own'] {
  if (score === null || score.credential === 'none') return null
  const { low, high, evidenceCount } = score
  const made = sandboxCredential(
    origin,
    {
      username: profile.username,
      score: score.score,
      scoreBand: bandOf(score.score),
      confidenceLow: low,
      confidenceHigh: high,
      evidenceCount,
      engineVersion,
      engineBinarySha256: sha256Hex('sandbox engine'),
    },
    index,
  )
  return { ...made, isRevoked: score.credential === 'revoked', listIndex: index }
}

/** The sandbox candidates with their credentials and public rows. */
import type { IssuedCredential } from '../../credentials/issue.ts'
import type { Origin } from '../../credentials/payload.ts'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { engineVersion } from '../../scoring/core/parameters.ts'
import { bandOf } from '../../standard/bands.ts'
import type { PublicRow } from '../../workers/candidates/public-read.ts'
import { sandboxCredential, sandboxIssuedAt, sandboxListId } from './credentials.ts'
import { type FictionalWorker, fictionalWorkers, profileSkills } from './fictional-workers.ts'

export interface SandboxCandidate {
  /** Id of the score, 64 lowercase hex characters. */
  id: string
  row: PublicRow
  /** Null for a candidate without a score, or a score without a credential. */
  own: (IssuedCredential & { isRevoked: boolean; listIndex: number }) | null
}

/** `labels` holds skill labels by skill id. */
export function sandboxCandidates(
  origin: Origin,
  labels: ReadonlyMap<string, string>,
): SandboxCandidate[] {
  return fictionalWorkers.map((worker, index) => {
    const own = issued(worker, { origin, index })
    return { id: scoreIdOf(worker), own, row: rowOf(worker, own, labels) }
  })
}

const dayMs = 86_400_000

/**
 * Returns the public row. Every sandbox candidate grants every consent; a candidate without a score
 * has no snapshot.
 */
function rowOf(
  worker: FictionalWorker,
  own: IssuedCredential | null,
  labels: ReadonlyMap<string, string>,
): PublicRow {
  const { handle, displayName, title, joinedDaysAgo, career, score } = worker
  const memberSince = new Date(sandboxIssuedAt.getTime() - joinedDaysAgo * dayMs)
  const candidate = {
    username: handle,
    displayName,
    title,
    bio: score === null ? null : `${displayName} is fictional.`,
    avatarUrl: null,
    memberSince: memberSince.toISOString().slice(0, 7),
    skills: profileSkills(career, labels),
  }
  if (score === null) return { ...candidate, snapshot: null }
  const { low, high, evidenceCount } = score
  return {
    ...candidate,
    snapshot: {
      score: score.score,
      evidenceCount,
      engineVersion,
      id: scoreIdOf(worker),
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

function scoreIdOf({ handle }: FictionalWorker): string {
  return sha256Hex(`sandbox score ${handle}`)
}

function issued(
  { handle, score }: FictionalWorker,
  { origin, index }: { origin: Origin; index: number },
): SandboxCandidate['own'] {
  if (score === null || score.credential === 'none') return null
  const { low, high, evidenceCount } = score
  const made = sandboxCredential(
    origin,
    {
      username: handle,
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

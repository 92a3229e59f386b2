/** The people of the sandbox with their credentials, and what is public of them. */
import type { PublicRow } from '../candidates/public-read.ts'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import type { IssuedCredential } from '../score-credentials/issue.ts'
import type { Origin } from '../score-credentials/payload.ts'
import { bandOf } from '../skill-standard/bands.ts'
import { sandboxCredential, sandboxIssuedAt, sandboxListId } from './credentials.ts'
import { type FictionalPerson, fictionalPeople } from './people.ts'

export interface SandboxPerson {
  /** Of the score, 64 lowercase hex characters. */
  id: string
  row: PublicRow
  /** Null for a person without a score, or a score without a credential. */
  own: (IssuedCredential & { isRevoked: boolean; listIndex: number }) | null
}

export function sandboxPeople(origin: Origin): SandboxPerson[] {
  return fictionalPeople.map((person, place) => {
    const own = issued(person, { origin, place })
    return { id: scoreIdOf(person), own, row: rowOf(person, own) }
  })
}

const engineVersion = '1.0.0'

/** Everybody in the sandbox is public in every way; whoever has no score shares none. */
function rowOf(fictional: FictionalPerson, own: IssuedCredential | null): PublicRow {
  const { profile, score } = fictional
  const person = { ...profile, skills: [...profile.skills] }
  if (score === null) return { ...person, snapshot: null }
  const { low, high, evidenceCount } = score
  return {
    ...person,
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

function scoreIdOf({ profile }: FictionalPerson): string {
  return sha256Hex(`sandbox score ${profile.username}`)
}

function issued(
  { profile, score }: FictionalPerson,
  { origin, place }: { origin: Origin; place: number },
): SandboxPerson['own'] {
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
    place,
  )
  return { ...made, isRevoked: score.credential === 'revoked', listIndex: place }
}

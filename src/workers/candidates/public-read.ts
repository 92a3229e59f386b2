/**
 * Pure: the answers of the public reads, from rows that the public gate lets through (decision
 * D33).
 */
import type { Origin } from '../../credentials/payload.ts'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { wireTime } from '../../platform/clock.ts'
import type { ScoreBand } from '../../standard/bands.ts'
import type { CandidateDetail, CandidateScore, PublicScore } from './schema.ts'

interface Shown {
  username: string
  displayName: string
  avatarUrl: string | null
}

/** A public score with the name of its worker. */
export interface ScoreRow extends Shown {
  snapshot: SnapshotColumns
}

/** A public profile. */
export interface PublicRow extends Shown {
  title: string | null
  bio: string | null
  memberSince: string
  skills: { name: string; verified: boolean; level: string | null }[]
  /** Null if there is no public score. */
  snapshot: SnapshotColumns | null
}

export interface SnapshotColumns {
  /** 64 lowercase hex characters, like the digests. */
  id: string
  score: number
  low: number
  high: number
  band: ScoreBand
  evidenceCount: number
  engineVersion: string
  issuedAt: Date
  credential: { sha256: string; statusToken: string; listId: string } | null
}

export interface FoundCandidate {
  detail: CandidateDetail
  /** Null if no score of the candidate is public. */
  scoreId: string | null
}

export function foundCandidate(row: PublicRow, origin: Origin): FoundCandidate {
  return { detail: candidateDetail(row, origin), scoreId: row.snapshot?.id ?? null }
}

function candidateDetail(row: PublicRow, origin: Origin): CandidateDetail {
  const { username, displayName, title, bio, avatarUrl, memberSince, skills, snapshot } = row
  return {
    username,
    displayName,
    title,
    bio,
    avatarUrl,
    profilePath: profilePath(username),
    memberSince,
    skills,
    skillCount: skills.length,
    verifiedSkillCount: skills.filter(({ verified }) => verified).length,
    score: snapshot === null ? null : candidateScore(snapshot, origin),
  }
}

export function publicScore(row: ScoreRow, origin: Origin): PublicScore {
  const { username, displayName, avatarUrl, snapshot } = row
  return {
    schemaVersion: schemaVersion('public_score'),
    id: snapshot.id,
    ...candidateScore(snapshot, origin),
    profile: { username, displayName, avatarUrl, profilePath: profilePath(username) },
  }
}

function candidateScore(snapshot: SnapshotColumns, origin: Origin): CandidateScore {
  const { score, low, high, band, issuedAt, evidenceCount, engineVersion, credential } = snapshot
  return {
    score,
    confidence: { low, high },
    scoreBand: band,
    issuedAt: wireTime(issuedAt),
    evidenceCount,
    engineVersion,
    scoreVc:
      credential === null
        ? null
        : {
            sha256: credential.sha256,
            statusUrl: `${origin.statusUrlPrefix}${credential.statusToken}`,
            statusListCredential: `${origin.statusListUrlPrefix}${credential.listId}`,
          },
  }
}

export function profilePath(username: string): string {
  return `/u/${username}`
}

/** Pure: what is told of a person and of a score, where the gate lets it (decision D33). */

import { wireTime } from '../platform/clock.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import type { Origin } from '../score-credentials/payload.ts'
import type { ScoreBand } from '../skill-standard/bands.ts'
import { type Readable, readable } from '../workers/gate.ts'
import { isIdentityActive, type StoredIdentity } from '../workers/identity-state.ts'
import type { CandidateDetail, CandidateScore, PublicScore } from './schema.ts'

/** A score, whose it is, and what decides whether it may be told. */
export interface ScoreRow {
  username: string
  displayName: string
  avatarUrl: string | null
  onboarded: boolean
  /** Permissions, separated by spaces: a list would be parsed for every call. */
  granted: string
  identityState: StoredIdentity['state'] | null
  verifiedUntil: Date | null
  /** By an open dispute: the score is not shown. */
  restricted: boolean
  /** Null where no score stands: then the score's other columns are null as well. */
  snapshot: SnapshotColumns | null
}

export interface PublicRow extends ScoreRow {
  title: string | null
  bio: string | null
  memberSince: string
  skills: { name: string; verified: boolean; level: string | null }[]
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

export interface Moment {
  origin: Origin
  now: Date
}

/** Null for who is hidden. */
export function candidateDetail(row: PublicRow, { origin, now }: Moment): CandidateDetail | null {
  const open = openFor(row, now)
  if (!open.detail) return null
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
    score: snapshot !== null && open.score ? candidateScore(snapshot, origin) : null,
  }
}

/** Null for a score that is hidden. */
export function publicScore(row: ScoreRow, { origin, now }: Moment): PublicScore | null {
  const { username, displayName, avatarUrl, snapshot } = row
  if (snapshot === null || !openFor(row, now).score) return null
  return {
    schemaVersion: schemaVersion('public_score'),
    id: snapshot.id,
    ...candidateScore(snapshot, origin),
    profile: { username, displayName, avatarUrl, profilePath: profilePath(username) },
  }
}

function openFor(row: ScoreRow, now: Date): Readable {
  const { onboarded, identityState, verifiedUntil, restricted, snapshot } = row
  const granted: readonly string[] = row.granted.split(' ')
  const identity = identityState === null ? null : { state: identityState, verifiedUntil }
  return readable({
    onboarded,
    consents: {
      public_profile: granted.includes('public_profile'),
      search_listing: granted.includes('search_listing'),
      score_sharing: granted.includes('score_sharing'),
    },
    identityActive: isIdentityActive(identity, now),
    snapshotActive: snapshot !== null,
    restricted,
  })
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

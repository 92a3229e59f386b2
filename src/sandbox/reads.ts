/** The paid reads as test keys see them: fictional people in the same shapes, searched in the same order. Nothing is read but this file's room. */
import { lookThrough } from '../candidates/look.ts'
import { candidateDetail, type PublicRow, publicScore } from '../candidates/public-read.ts'
import type { CandidateReads } from '../candidates/reads.ts'
import { previewOf, searchOf } from '../candidates/search.ts'
import type { SkillNames } from '../candidates/skill-names.ts'
import { sha256Hex } from '../platform/bytes.ts'
import { bandOf } from '../skill-standard/bands.ts'
import { sandboxCredential, sandboxIssuedAt, sandboxOrigin } from './credentials.ts'
import { type FictionalPerson, fictionalPeople } from './people.ts'

export function sandboxReads(names: SkillNames): CandidateReads {
  const rows = fictionalPeople.map(rowOf)
  const byUsername = new Map(rows.map((row) => [row.username, row]))
  const byScore = new Map(rows.map((row) => [row.snapshot?.id, row]))
  const moment = { origin: sandboxOrigin, now: sandboxIssuedAt }
  return {
    async search(q, limit) {
      const search = searchOf(q, limit)
      const found = lookThrough(rows, search, names)
      const candidates = found.map((row) => previewOf(row, search, names.of))
      return { query: q, candidates, resultCount: candidates.length }
    },
    async candidate(username) {
      const row = byUsername.get(username)
      return row === undefined ? null : candidateDetail(row, moment)
    },
    async score(id) {
      const row = byScore.get(id)
      return row === undefined ? null : publicScore(row, moment)
    },
  }
}

const engineVersion = '1.0.0'

/** Everybody in the sandbox is public in every way; whoever has no score shares none. */
function rowOf({ profile, score }: FictionalPerson, place: number): PublicRow {
  const { username } = profile
  const person = {
    ...profile,
    skills: [...profile.skills],
    onboarded: true,
    granted: ['public_profile', 'search_listing', 'score_sharing'] as PublicRow['granted'],
    identityState: 'verified' as const,
    verifiedUntil: new Date('2126-01-01T00:00:00Z'),
  }
  if (score === null) return { ...person, snapshot: null }
  const { low, high, evidenceCount } = score
  const band = bandOf(score.score)
  const said = { score: score.score, evidenceCount, engineVersion }
  const issued = sandboxCredential(
    {
      ...said,
      username,
      scoreBand: band,
      confidenceLow: low,
      confidenceHigh: high,
      engineBinarySha256: sha256Hex('sandbox engine'),
    },
    place,
  )
  const { vcSha256: sha256, statusToken } = issued
  const credential =
    score.credential === 'none' ? null : { sha256, statusToken, listId: 'sandbox000' }
  return {
    ...person,
    snapshot: {
      ...said,
      id: sha256Hex(`sandbox score ${username}`),
      low,
      high,
      band,
      issuedAt: sandboxIssuedAt,
      credential,
    },
  }
}

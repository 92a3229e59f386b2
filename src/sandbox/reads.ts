/** The paid reads as test keys see them: fictional people in the same shapes, searched in the same order. Nothing is read but this file's room. */
import { lookThrough } from '../candidates/look.ts'
import {
  candidateDetail,
  type PublicRow,
  publicScore,
  type ScoreRow,
} from '../candidates/public-read.ts'
import type { CandidateReads } from '../candidates/reads.ts'
import { previewOf, searchOf } from '../candidates/search.ts'
import type { SkillNames } from '../candidates/skill-names.ts'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { inForm } from '../score-credentials/in-form.ts'
import type { IssuedCredential } from '../score-credentials/issue.ts'
import { bandOf } from '../skill-standard/bands.ts'
import {
  sandboxCredential,
  sandboxIssuedAt,
  sandboxListId,
  sandboxOrigin,
  sandboxSigners,
} from './credentials.ts'
import { type FictionalPerson, fictionalPeople } from './people.ts'

export function sandboxReads(names: SkillNames): CandidateReads {
  const people = fictionalPeople.map((person, i) => {
    const own = issued(person, i)
    return { id: scoreIdOf(person), own, row: rowOf(person, own) }
  })
  const rows = people.map(({ row }) => row)
  const byUsername = new Map(rows.map((row) => [row.username, row]))
  const byScore = new Map(people.map((person) => [person.id, person]))
  return {
    async search(q, limit) {
      const search = searchOf(q, limit)
      const found = lookThrough(rows, search, names)
      const candidates = found.map((row) => previewOf(row, search, names.of))
      return JSON.stringify({ query: q, candidates, resultCount: candidates.length })
    },
    async candidate(username) {
      const row = byUsername.get(username)
      return row === undefined ? null : candidateDetail(row, sandboxOrigin)
    },
    async score(id) {
      const row = byScore.get(id)?.row
      return row !== undefined && hasScore(row) ? publicScore(row, sandboxOrigin) : null
    },
    async credential(id, form) {
      const person = byScore.get(id)
      if (person === undefined || person.row.snapshot === null) return { missing: 'score' }
      if (person.own === null) return { missing: 'credential' }
      const forming = { origins: [sandboxOrigin], signers: sandboxSigners }
      const made = await inForm({ ...person.own.credential }, form, forming)
      return 'credential' in made ? made : { missing: 'key' }
    },
  }
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

function hasScore(row: PublicRow): row is PublicRow & ScoreRow {
  return row.snapshot !== null
}

function scoreIdOf({ profile }: FictionalPerson): string {
  return sha256Hex(`sandbox score ${profile.username}`)
}

/** Null for who has no score, or a score without a credential. */
function issued({ profile, score }: FictionalPerson, place: number): IssuedCredential | null {
  if (score === null || score.credential === 'none') return null
  const { low, high, evidenceCount } = score
  return sandboxCredential(
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
}

/**
 * The paid reads for test keys: fictional candidates in the same shapes, searched in the same
 * order. Nothing is read from the database.
 */
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
import { convertProof } from '../score-credentials/convert-proof.ts'
import type { Origin } from '../score-credentials/payload.ts'
import { sandboxSigners } from './credentials.ts'
import type { SandboxCandidate } from './sandbox-candidates.ts'

export function sandboxReads(
  candidates: readonly SandboxCandidate[],
  { names, origin }: { names: SkillNames; origin: Origin },
): CandidateReads {
  const rows = candidates.map(({ row }) => row)
  const byUsername = new Map(rows.map((row) => [row.username, row]))
  const byScore = new Map(candidates.map((candidate) => [candidate.id, candidate]))
  return {
    async search(q, limit) {
      const search = searchOf(q, limit)
      const matches = lookThrough(rows, search, names)
      const candidates = matches.map((row) => previewOf(row, search, names.of))
      return JSON.stringify({ query: q, candidates, resultCount: candidates.length })
    },
    async candidate(username) {
      const row = byUsername.get(username)
      return row === undefined ? null : candidateDetail(row, origin)
    },
    async score(id) {
      const row = byScore.get(id)?.row
      return row !== undefined && hasScore(row) ? publicScore(row, origin) : null
    },
    async credential(id, form) {
      const candidate = byScore.get(id)
      if (candidate === undefined || candidate.row.snapshot === null) return { missing: 'score' }
      if (candidate.own === null) return { missing: 'credential' }
      const conversion = { origins: [origin], signers: sandboxSigners }
      const made = await convertProof({ ...candidate.own.credential }, form, conversion)
      return 'credential' in made ? made : { missing: 'key' }
    },
  }
}

function hasScore(row: PublicRow): row is PublicRow & ScoreRow {
  return row.snapshot !== null
}

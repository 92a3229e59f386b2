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
import { convertProof } from '../score-credentials/convert-proof.ts'
import type { Origin } from '../score-credentials/payload.ts'
import { sandboxSigners } from './credentials.ts'
import type { SandboxPerson } from './issued-people.ts'

export function sandboxReads(
  people: readonly SandboxPerson[],
  { names, origin }: { names: SkillNames; origin: Origin },
): CandidateReads {
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
      return row === undefined ? null : candidateDetail(row, origin)
    },
    async score(id) {
      const row = byScore.get(id)?.row
      return row !== undefined && hasScore(row) ? publicScore(row, origin) : null
    },
    async credential(id, form) {
      const person = byScore.get(id)
      if (person === undefined || person.row.snapshot === null) return { missing: 'score' }
      if (person.own === null) return { missing: 'credential' }
      const forming = { origins: [origin], signers: sandboxSigners }
      const made = await convertProof({ ...person.own.credential }, form, forming)
      return 'credential' in made ? made : { missing: 'key' }
    },
  }
}

function hasScore(row: PublicRow): row is PublicRow & ScoreRow {
  return row.snapshot !== null
}

/**
 * The paid reads for test keys and sessions: fictional candidates in the same shapes, searched in
 * the same order. Nothing is read from the database.
 *
 * The result of a search never changes, so it is kept. In `npm run bench -- sessions` the server
 * then needs 0.4 times the processor time for a search.
 */
import type { Origin } from '../../credentials/payload.ts'
import { convertProof } from '../../credentials/signers.ts'
import { RecentMap } from '../../platform/recent-map.ts'
import { type PublicRow, publicScore, type ScoreRow } from '../../workers/candidates/public-read.ts'
import { type CandidateReads, foundCandidate } from '../../workers/candidates/reads.ts'
import { type AnyPage, pageFor, pageOf, searchOf } from '../../workers/candidates/search.ts'
import {
  comparePlaces,
  type Place,
  placeOf,
  type Search,
  type SearchHit,
  start,
} from '../../workers/candidates/search-hit.ts'
import type { SkillNames } from '../../workers/candidates/skill-names.ts'
import { sandboxSigners } from './credentials.ts'
import type { SandboxCandidate } from './sandbox-candidates.ts'

/** In characters. */
const keptSizeMax = 2 * 1_048_576

export function sandboxReads(
  candidates: readonly SandboxCandidate[],
  { names, origin }: { names: SkillNames; origin: Origin },
): CandidateReads {
  const rows = candidates.map(({ row }) => row)
  const byUsername = new Map(candidates.map((candidate) => [candidate.row.username, candidate]))
  const byScore = new Map(candidates.map((candidate) => [candidate.id, candidate]))
  const kept = new RecentMap<AnyPage>(keptSizeMax, ({ rest }, key) => rest.length + key.length)
  return {
    async search(q, { limit, after = start }) {
      const search = searchOf(q)
      const { section, rank, username } = after
      const words = `${search.handlesOnly ? '@' : ''}${search.handle}`
      const key = `${limit} ${section} ${rank} ${username} ${words}`
      let page = kept.get(key)
      if (page === undefined) {
        const found = scanCandidates(rows, { search, after, limit: limit + 1 }, names)
        page = pageOf({ search, found, limit }, names)
        kept.set(key, page)
      }
      return pageFor(q, page)
    },
    async candidate(username) {
      const row = byUsername.get(username)?.row
      return row === undefined ? null : foundCandidate(row, origin)
    },
    async score(id) {
      const row = byScore.get(id)?.row
      return row !== undefined && hasScore(row) ? publicScore(row, origin) : null
    },
    async credential(of, form) {
      const candidate = 'scoreId' in of ? byScore.get(of.scoreId) : byUsername.get(of.username)
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

/** Returns the first `limit` matching candidates behind the place `after`, best match first. */
function scanCandidates<Candidate extends SearchHit>(
  candidates: readonly Candidate[],
  { search, after, limit }: { search: Search; after: Place; limit: number },
  names: SkillNames,
): Candidate[] {
  return candidates
    .flatMap((candidate) => {
      const place = placeOf(candidate, search, names)
      return place !== null && comparePlaces(place, after) > 0 ? { candidate, place } : []
    })
    .sort((a, b) => comparePlaces(a.place, b.place))
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

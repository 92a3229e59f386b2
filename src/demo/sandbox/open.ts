/** The sandbox of one deployment. The credentials are signed once, when it is opened. */
import type { Origin } from '../../credentials/payload.ts'
import { type ProofForm, proofForms } from '../../credentials/proof.ts'
import { convertProof } from '../../credentials/signers.ts'
import {
  bitsOf,
  listRefreshSeconds,
  listTtlSeconds,
  statusListPayload,
  statusListProofs,
} from '../../credentials/status-list.ts'
import { type PublicDocument, publicDocument } from '../../edge/http/document.ts'
import type { Clock } from '../../platform/clock.ts'
import { RecentMap } from '../../platform/recent-map.ts'
import type { Vocabulary } from '../../standard/catalog.ts'
import {
  foundCandidate,
  type PublicRow,
  publicScore,
  type ScoreRow,
} from '../../workers/candidates/public-read.ts'
import type { CandidateReads } from '../../workers/candidates/reads.ts'
import { type AnyPage, pageFor, pageOf, searchOf } from '../../workers/candidates/search.ts'
import {
  comparePlaces,
  type Place,
  placeOf,
  type Search,
  type SearchHit,
  start,
} from '../../workers/candidates/search-hit.ts'
import { type SkillNames, skillNames } from '../../workers/candidates/skill-names.ts'
import { sandboxListId, sandboxSigner, sandboxSigners } from './credentials.ts'
import { type SandboxCandidate, sandboxCandidates } from './sandbox-candidates.ts'
import { sandboxOriginOf } from './schema.ts'

export interface Sandbox {
  reads: CandidateReads
  statuses: SandboxStatuses
  /** The ids of the scores, by username. */
  scoreIds: ReadonlyMap<string, string>
}

export function openSandbox({
  publicUrl,
  records,
  clock,
}: {
  publicUrl: string
  records: Vocabulary['records']
  clock: Clock
}): Sandbox {
  const origin = sandboxOriginOf(publicUrl)
  const labels = new Map(records.map(({ id, label }) => [id, label]))
  const candidates = sandboxCandidates(origin, labels)
  return {
    reads: sandboxReads(candidates, { names: skillNames(records), origin }),
    scoreIds: new Map(
      candidates
        .filter(({ row }) => row.snapshot !== null)
        .map(({ id, row }) => [row.username, id]),
    ),
    statuses: sandboxStatuses(candidates, { origin, clock }),
  }
}

/** In characters. */
const keptSizeMax = 2 * 1_048_576

/**
 * The paid reads for test keys and sessions: fictional candidates in the same shapes, searched in
 * the same order. Nothing is read from the database.
 *
 * The result of a search never changes, so it is kept. In `npm run bench -- sessions` the server
 * then needs 0.4 times the processor time for a search.
 */
function sandboxReads(
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

interface SandboxStatuses {
  /**
   * Returns when the credential was revoked, or null while it is active. Returns undefined if no
   * credential has the token, or if the digest is not that of the credential.
   */
  revokedAt(token: string, vcSha256: string | undefined): Date | null | undefined
  /** Returns the signed list, or null if there is no such list. */
  list(listId: string, form: ProofForm): PublicDocument | null
}

const revokedAt = new Date('2026-06-01T10:00:00Z')
const refreshMs = listRefreshSeconds * 1_000

/**
 * The revocation status of sandbox credentials: by token, and as a signed list. Nothing is stored.
 * Every node of a deployment serves the same list, byte for byte.
 */
function sandboxStatuses(
  candidates: readonly SandboxCandidate[],
  { origin, clock }: { origin: Origin; clock: Clock },
): SandboxStatuses {
  const credentials = candidates.flatMap(({ own }) => own ?? [])
  const byToken = new Map(credentials.map((own) => [own.statusToken, own]))
  const revoked = credentials.filter(({ isRevoked }) => isRevoked)
  const bits = bitsOf(revoked.map(({ listIndex }) => listIndex))
  let published: { at: number; documents: ReadonlyMap<ProofForm, PublicDocument> } | undefined

  function sign(at: number): ReadonlyMap<ProofForm, PublicDocument> {
    const payload = statusListPayload(origin, {
      listId: sandboxListId,
      bits,
      publishedAt: new Date(at),
    })
    const proofs = statusListProofs(payload, origin, sandboxSigner())
    const documentOf = (form: ProofForm): PublicDocument =>
      publicDocument({
        body: JSON.stringify({ ...payload, proof: proofs[form] }),
        contentType: 'application/ld+json',
        maxAgeSeconds: listTtlSeconds,
        cacheDirectives: 'must-revalidate',
      })
    return new Map(proofForms.map((form) => [form, documentOf(form)]))
  }

  return {
    revokedAt(token, vcSha256) {
      const own = byToken.get(token)
      if (own === undefined || (vcSha256 ?? own.vcSha256) !== own.vcSha256) return undefined
      return own.isRevoked ? revokedAt : null
    },
    list(listId, form) {
      if (listId !== sandboxListId) return null
      const at = Math.floor(clock().getTime() / refreshMs) * refreshMs
      if (published?.at !== at) published = { at, documents: sign(at) }
      return published.documents.get(form) ?? null
    },
  }
}

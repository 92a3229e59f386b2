/** The public reads of real candidates. Concurrent reads are batched into one statement. */
import { type Credential, convertProof } from '../../credentials/convert-proof.ts'
import type { Origin } from '../../credentials/payload.ts'
import type { ProofForm } from '../../credentials/proof.ts'
import type { Signers } from '../../credentials/signers.ts'
import { batched } from '../../platform/batching.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { lookUp, type PublicReads } from '../../platform/db/replicas.ts'
import { candidateDetail, type PublicRow, publicScore } from './public-read.ts'
import {
  findBySnapshot,
  findByUsername,
  findIssuedBySnapshot,
  findIssuedByUsername,
} from './public-store.ts'
import type { CandidateDetail, PublicScore } from './schema.ts'
import { candidateSearch, type SearchCandidates } from './search.ts'
import type { SkillNames } from './skill-names.ts'

/** The paid reads. Test keys read fictional candidates, all other callers real ones. */
export interface CandidateReads {
  search: SearchCandidates
  /** `username` has no @. Returns null if no such candidate is public. */
  candidate(username: string): Promise<FoundCandidate | null>
  /** `id` is in lowercase. Returns null if no such score is public. */
  score(id: string): Promise<PublicScore | null>
  credential(of: NamedScore, form: ProofForm): Promise<CredentialRead>
}

/** A public score by its id in lowercase, or by its candidate's username without @. */
export type NamedScore = { scoreId: string } | { username: string }

export interface FoundCandidate {
  detail: CandidateDetail
  /** Null if no score of the candidate is public. */
  scoreId: string | null
}

export function foundCandidate(row: PublicRow, origin: Origin): FoundCandidate {
  return { detail: candidateDetail(row, origin), scoreId: row.snapshot?.id ?? null }
}

export type CredentialRead =
  | { credential: Credential }
  /** No such score is public; it has no credential; its signing key is not on this machine. */
  | { missing: 'score' | 'credential' | 'key' }

export interface ReadsOptions {
  reads: PublicReads
  names: SkillNames
  origin: Origin
  /** Former addresses of this deployment. Their credentials are shown as they were issued. */
  formerOrigins: readonly Origin[]
  signers: Signers
  clock: Clock
}

export function candidateReads(options: ReadsOptions): CandidateReads {
  const { reads, names, origin, formerOrigins, signers, clock } = options
  /** Reads the rows of a key that public reads may show. */
  const batchedReads = <Row>(
    name: string,
    find: (db: Queryable, keys: readonly string[], now: Date) => Promise<Row[]>,
    keyOf: (row: Row) => string,
  ) =>
    batched<string, Row | undefined>({
      name,
      batchesMax: reads.databases,
      run: (keys) =>
        lookUp(reads, keys, async (db, wanted) => {
          const rows = await find(db, [...new Set(wanted)], clock())
          const found = new Map(rows.map((row) => [keyOf(row), row]))
          return wanted.map((key) => found.get(key))
        }),
    })
  const byUsername = batchedReads('candidates', findByUsername, (row) => row.username)
  const bySnapshot = batchedReads('scores', findBySnapshot, (row) => row.snapshot.id)
  const issuedBySnapshot = batchedReads('credentials', findIssuedBySnapshot, ({ key }) => key)
  const issuedByUsername = batchedReads(
    'credentials of candidates',
    findIssuedByUsername,
    ({ key }) => key,
  )
  return {
    search: candidateSearch(reads, names),
    async candidate(username) {
      const row = await byUsername(username)
      return row === undefined ? null : foundCandidate(row, origin)
    },
    async score(id) {
      const row = await bySnapshot(id)
      return row === undefined ? null : publicScore(row, origin)
    },
    async credential(of, form) {
      const issued = await ('scoreId' in of
        ? issuedBySnapshot(of.scoreId)
        : issuedByUsername(of.username))
      if (issued === undefined) return { missing: 'score' }
      if (issued.credential === null) return { missing: 'credential' }
      const made = await convertProof({ ...issued.credential }, form, {
        origins: [origin, ...formerOrigins],
        signers,
      })
      return 'credential' in made ? made : { missing: 'key' }
    },
  }
}

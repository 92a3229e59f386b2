/** The public reads of real candidates. Concurrent reads are batched into one statement. */
import { type Credential, convertProof } from '../../credentials/convert-proof.ts'
import type { Origin } from '../../credentials/payload.ts'
import type { ProofForm } from '../../credentials/proof.ts'
import type { Signers } from '../../credentials/signers.ts'
import { batched } from '../../platform/batching.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import { candidateDetail, type PublicRow, publicScore, type ScoreRow } from './public-read.ts'
import {
  findBySnapshot,
  findByUsername,
  findIssuedCredentials,
  type IssuedRow,
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
  /** Returns the credential of a public score; `id` is in lowercase. */
  credential(id: string, form: ProofForm): Promise<CredentialRead>
}

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
  db: Db
  names: SkillNames
  origin: Origin
  /** Former addresses of this deployment. Their credentials are shown as they were issued. */
  formerOrigins: readonly Origin[]
  signers: Signers
  clock: Clock
}

export function candidateReads(options: ReadsOptions): CandidateReads {
  const { db, names, origin, formerOrigins, signers, clock } = options
  const byUsername = batched<string, PublicRow | undefined>({
    name: 'candidates',
    run: async (usernames) => {
      const rows = await findByUsername(db, [...new Set(usernames)], clock())
      const found = new Map(rows.map((row) => [row.username, row]))
      return usernames.map((username) => found.get(username))
    },
  })
  const bySnapshot = batched<string, ScoreRow | undefined>({
    name: 'scores',
    run: async (ids) => {
      const rows = await findBySnapshot(db, [...new Set(ids)], clock())
      const found = new Map(rows.map((row) => [row.snapshot.id, row]))
      return ids.map((id) => found.get(id))
    },
  })
  const issuedBySnapshot = batched<string, IssuedRow | undefined>({
    name: 'issued credentials',
    run: async (ids) => {
      const rows = await findIssuedCredentials(db, [...new Set(ids)], clock())
      const found = new Map(rows.map((row) => [row.snapshotId, row]))
      return ids.map((id) => found.get(id))
    },
  })
  return {
    search: candidateSearch(db, names),
    async candidate(username) {
      const row = await byUsername(username)
      return row === undefined ? null : foundCandidate(row, origin)
    },
    async score(id) {
      const row = await bySnapshot(id)
      return row === undefined ? null : publicScore(row, origin)
    },
    async credential(id, form) {
      const issued = await issuedBySnapshot(id)
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

/**
 * The public reads of real candidates. Concurrent reads are batched into one statement.
 *
 * The views public_profiles and public_scores hold only the rows that the public gate lets through
 * (decision D33). A hidden row is not in them, so reading it takes as long as reading an absent
 * one. `lateral … offset 0` looks up each row by its key: a plan for a list may be made while the
 * tables are small, and would then read all rows.
 */
import type { Origin } from '../../credentials/payload.ts'
import type { ProofForm } from '../../credentials/proof.ts'
import { type Credential, convertProof, type Signers } from '../../credentials/signers.ts'
import { batched } from '../../platform/batching.ts'
import type { Clock } from '../../platform/clock.ts'
import { fragment, type Queryable, sql } from '../../platform/db/db.ts'
import { lookUp, type PublicReads } from '../../platform/db/replicas.ts'
import {
  type FoundCandidate,
  foundCandidate,
  type PublicRow,
  publicScore,
  type ScoreRow,
  type SnapshotColumns,
} from './public-read.ts'
import type { PublicScore } from './schema.ts'
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
type NamedScore = { scoreId: string } | { username: string }

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

interface SnapshotRow extends Omit<SnapshotColumns, 'credential' | 'id'> {
  snapshotId: string
  sha256: string | null
  statusToken: string
  listId: string
}

const publicScoreColumns = fragment`
  encode(snapshot_id, 'hex') as "snapshotId", score, confidence_low as low, confidence_high as high, band,
  evidence_count as "evidenceCount", engine_version as "engineVersion", issued_at as "issuedAt",
  encode(vc_sha256, 'hex') as sha256, encode(status_token, 'hex') as "statusToken", list_id as "listId"`

export async function findByUsername(
  db: Queryable,
  usernames: readonly string[],
  now: Date,
): Promise<PublicRow[]> {
  type Row = Omit<PublicRow, 'snapshot'> & (SnapshotRow | { snapshotId: null })
  const rows = await db.rows<Row>(sql`
    select profile.*, consents.* from unnest(${usernames}::text[]) as asked(username)
    cross join lateral (
      select worker_id as "workerId", username, display_name as "displayName", avatar_url as "avatarUrl", title, bio,
        member_since as "memberSince", skills
      from public_profiles where username = asked.username offset 0) as profile
    left join lateral (
      select ${publicScoreColumns} from public_scores
      where worker_id = profile."workerId" and verified_until > ${now} offset 0) as consents on true`)
  return rows.map((row) =>
    Object.assign(row, { snapshot: row.snapshotId === null ? null : snapshotOf(row) }),
  )
}

/** Ids are 32 bytes in hex. */
export async function findBySnapshot(
  db: Queryable,
  snapshotIds: readonly string[],
  now: Date,
): Promise<ScoreRow[]> {
  const rows = await db.rows<Omit<ScoreRow, 'snapshot'> & SnapshotRow>(sql`
    select found.* from unnest(${snapshotIds}::text[]) as asked(key)
    cross join lateral (
      select username, display_name as "displayName", avatar_url as "avatarUrl", ${publicScoreColumns}
      from public_scores
      where snapshot_id = decode(asked.key, 'hex') and verified_until > ${now} offset 0) as found`)
  return rows.map((row) => Object.assign(row, { snapshot: snapshotOf(row) }))
}

interface IssuedRow {
  key: string
  /** The issued document with the native proof; null if the score has none. */
  credential: Credential | null
}

interface StoredRow {
  key: string
  payload: string | null
  proof: string
}

/** Returns the credentials of public scores. Ids are 32 bytes in hex. */
export async function findIssuedBySnapshot(
  db: Queryable,
  snapshotIds: readonly string[],
  now: Date,
): Promise<IssuedRow[]> {
  const rows = await db.rows<StoredRow>(sql`
    select asked.key, found.* from unnest(${snapshotIds}::text[]) as asked(key)
    cross join lateral (
      select payload, proof from public_scores
      where snapshot_id = decode(asked.key, 'hex') and verified_until > ${now} offset 0) as found`)
  return rows.map(issuedRow)
}

/**
 * Returns the credentials of the public scores of candidates. One statement reads candidate and
 * score, so the score cannot be replaced in between.
 */
export async function findIssuedByUsername(
  db: Queryable,
  usernames: readonly string[],
  now: Date,
): Promise<IssuedRow[]> {
  const rows = await db.rows<StoredRow>(sql`
    select asked.key, found.* from unnest(${usernames}::text[]) as asked(key)
    cross join lateral (
      select worker_id from public_profiles where username = asked.key offset 0) as profile
    cross join lateral (
      select payload, proof from public_scores
      where worker_id = profile.worker_id and verified_until > ${now} offset 0) as found`)
  return rows.map(issuedRow)
}

function issuedRow({ key, payload, proof }: StoredRow): IssuedRow {
  const credential = payload === null ? null : { ...JSON.parse(payload), proof: JSON.parse(proof) }
  return { key, credential }
}

function snapshotOf(row: SnapshotRow): SnapshotColumns {
  const { snapshotId, sha256, statusToken, listId } = row
  const { score, low, high, band, evidenceCount, engineVersion, issuedAt } = row
  const said = { score, low, high, band, evidenceCount, engineVersion, issuedAt }
  const credential = sha256 === null ? null : { sha256, statusToken, listId }
  return { id: snapshotId, ...said, credential }
}

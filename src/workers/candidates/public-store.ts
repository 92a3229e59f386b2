/**
 * Reads the views public_profiles and public_scores, which hold only the rows that the public gate
 * lets through (decision D33). A hidden row is not in them, so reading it takes as long as reading
 * an absent one. `lateral … offset 0` looks up each row by its key: a plan for a list may be made
 * while the tables are small, and would then read all rows.
 */
import type { Credential } from '../../credentials/convert-proof.ts'
import { fragment, type Queryable, sql } from '../../platform/db/db.ts'
import { bytesArray } from '../../platform/db/sql-arrays.ts'
import type { PublicRow, ScoreRow, SnapshotColumns } from './public-read.ts'

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
    select found.* from unnest(${bytesArray(snapshotIds)}::bytea[]) as asked(snapshot_id)
    cross join lateral (
      select username, display_name as "displayName", avatar_url as "avatarUrl", ${publicScoreColumns}
      from public_scores
      where snapshot_id = asked.snapshot_id and verified_until > ${now} offset 0) as found`)
  return rows.map((row) => Object.assign(row, { snapshot: snapshotOf(row) }))
}

export interface IssuedRow {
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

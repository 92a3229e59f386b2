/**
 * Reads the view public_candidates: people with what the gate asks and the score that stands. Whether it may be told is not decided here.
 * Each is looked up by itself (`lateral … offset 0`): a plan for a list of them may be made while the tables are small, and read all people.
 */
import { fragment, type Queryable, sql } from '../platform/db/db.ts'
import { bytesArray, tokenArray } from '../platform/db/sql-arrays.ts'
import type { Credential } from '../score-credentials/in-form.ts'
import type { PublicRow, ScoreRow, SnapshotColumns } from './public-read.ts'

interface SnapshotRow extends Omit<SnapshotColumns, 'credential' | 'id'> {
  snapshotId: string | null
  sha256: string | null
  statusToken: string
  listId: string
}

/** Of the person as far as a score names it, what the gate asks, and the score. */
const scoredColumns = fragment`
  username, display_name as "displayName", avatar_url as "avatarUrl", onboarded, array_to_string(granted, ' ') as granted,
  identity_state as "identityState", verified_until as "verifiedUntil", encode(snapshot_id, 'hex') as "snapshotId", score,
  confidence_low as low, confidence_high as high, band, evidence_count as "evidenceCount", engine_version as "engineVersion",
  issued_at as "issuedAt", encode(vc_sha256, 'hex') as sha256, encode(status_token, 'hex') as "statusToken", list_id as "listId",
  restricted`

export async function findByUsername(
  db: Queryable,
  usernames: readonly string[],
): Promise<PublicRow[]> {
  const rows = await db.rows<Omit<PublicRow, 'snapshot'> & SnapshotRow>(sql`
    select found.* from unnest(${tokenArray(usernames)}::text[]) as asked(username)
    cross join lateral (
      select ${scoredColumns}, title, bio, member_since as "memberSince", skills
      from public_candidates where username = asked.username offset 0) as found`)
  return rows.map(withSnapshot)
}

/** Ids are 32 bytes in hex. Only a score that stands is found. */
export async function findBySnapshot(
  db: Queryable,
  snapshotIds: readonly string[],
): Promise<ScoreRow[]> {
  const rows = await db.rows<Omit<ScoreRow, 'snapshot'> & SnapshotRow>(sql`
    select found.* from unnest(${bytesArray(snapshotIds)}::bytea[]) as asked(snapshot_id)
    cross join lateral (
      select ${scoredColumns} from public_candidates where snapshot_id = asked.snapshot_id offset 0) as found`)
  return rows.map(withSnapshot)
}

/** The credential of a score that stands, as it was issued: with the native proof. */
export async function findIssuedCredential(
  db: Queryable,
  snapshotId: string,
): Promise<Credential | null> {
  const [row] = await db.rows<{ payload: string; proof: string }>(sql`
    select payload, proof from public_candidates
    where snapshot_id = ${Buffer.from(snapshotId, 'hex')} and payload is not null`)
  return row === undefined ? null : { ...JSON.parse(row.payload), proof: JSON.parse(row.proof) }
}

/** The row itself: a copy of so many columns would cost more than reading them did. */
function withSnapshot<Row extends SnapshotRow>(
  row: Row,
): Row & { snapshot: SnapshotColumns | null } {
  return Object.assign(row, { snapshot: snapshotOf(row) })
}

function snapshotOf(row: SnapshotRow): SnapshotColumns | null {
  const { snapshotId, sha256, statusToken, listId } = row
  if (snapshotId === null) return null
  const { score, low, high, band, evidenceCount, engineVersion, issuedAt } = row
  const said = { score, low, high, band, evidenceCount, engineVersion, issuedAt }
  const credential = sha256 === null ? null : { sha256, statusToken, listId }
  return { id: snapshotId, ...said, credential }
}

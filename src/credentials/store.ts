/** All SQL of `score_credentials`. */
import { fragment, type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { bytesArray } from '../platform/db/sql-arrays.ts'
import type { CredentialName } from './credential-name.ts'
import type { RegisteredStatus, StatusQuestion } from './verify.ts'

/**
 * Time at which credential `c` of key `k` was revoked, or null. A credential is revoked by itself
 * or with all credentials of its key; the earlier time counts. Every query that returns this time
 * uses this expression.
 */
export const credentialRevokedAt = fragment`least(c.revoked_at, k.credentials_revoked_at)`

interface StatusRow {
  vcSha256: Buffer | null
  revokedAt: Date | null
  supersededAt: Date | null
  keyRevokedAt: Date | null
}

/**
 * Returns one status for each question, in order, in one statement. Looks up the token if there is
 * one, otherwise the digest.
 */
export async function findStatuses(
  db: Queryable,
  questions: readonly StatusQuestion[],
): Promise<RegisteredStatus[]> {
  const tokens = bytesArray(questions.map(({ token }) => token?.toString('hex') ?? ''))
  const digests = bytesArray(questions.map(({ vcSha256 }) => vcSha256.toString('hex')))
  const rows = await db.rows<StatusRow>(sql`
    select c.vc_sha256 as "vcSha256", ${credentialRevokedAt} as "revokedAt",
      c.superseded_at as "supersededAt", k.revoked_at as "keyRevokedAt"
    from unnest(${tokens}::bytea[], ${digests}::bytea[]) with ordinality as q(token, digest, place)
    left join lateral (
      select vc_sha256, revoked_at, superseded_at, kid from score_credentials
      where status_token = q.token
      union all
      select vc_sha256, revoked_at, superseded_at, kid from score_credentials
      where q.token = '' and vc_sha256 = q.digest
    ) c on true
    left join signing_keys k on k.kid = c.kid
    order by q.place`)
  return rows.map(({ vcSha256, revokedAt, supersededAt, keyRevokedAt }) =>
    vcSha256 === null
      ? { kind: 'unknown' }
      : { kind: 'registered', vcSha256, revokedAt, supersededAt, keyRevokedAt },
  )
}

export interface CredentialRow {
  vcSha256: Buffer
  statusToken: Buffer
  credentialId: string
  subject: string
  listId: string
  listIndex: number
  kid: string
  /** Canonical JSON: exactly the bytes that were signed. */
  payload: string
  /** The native proof as JSON. */
  proof: string
  issuedAt: Date
  validUntil: Date
  supersededAt: Date | null
}

/**
 * Inserts the rows that conflict with no existing row and returns their digests in hex. A conflict
 * is the same list index, the same id, or a second current credential of a subject. Inserts in the
 * order of list indexes, so two bulk issues wait for each other and do not deadlock.
 */
export async function insertCredentials(tx: Tx, rows: readonly CredentialRow[]): Promise<string[]> {
  const column = <Name extends keyof CredentialRow>(name: Name) => rows.map((row) => row[name])
  const inserted = await tx.rows<{ vcSha256: Buffer }>(sql`
    insert into score_credentials (vc_sha256, status_token, credential_id, subject, list_id, list_index,
      kid, payload, proof, issued_at, valid_until, superseded_at)
    select * from unnest(${column('vcSha256')}::bytea[], ${column('statusToken')}::bytea[],
      ${column('credentialId')}::uuid[], ${column('subject')}::text[], ${column('listId')}::text[],
      ${column('listIndex')}::int[], ${column('kid')}::text[], ${column('payload')}::text[],
      ${column('proof')}::text[], ${column('issuedAt')}::timestamptz[],
      ${column('validUntil')}::timestamptz[], ${column('supersededAt')}::timestamptz[])
      as new(vc_sha256, status_token, credential_id, subject, list_id, list_index)
    order by list_id, list_index
    on conflict do nothing
    returning vc_sha256 as "vcSha256"`)
  return inserted.map((row) => row.vcSha256.toString('hex'))
}

export type StoredCredential = Pick<CredentialRow, 'credentialId' | 'payload' | 'proof'>

export function findCredentials(
  db: Queryable,
  credentialIds: readonly string[],
): Promise<StoredCredential[]> {
  return db.rows<StoredCredential>(sql`
    select credential_id as "credentialId", payload, proof from score_credentials
    where credential_id = any(${credentialIds}::uuid[])`)
}

/** A stored credential with its present state. */
export interface RegisteredCredential
  extends StoredCredential,
    Pick<CredentialRow, 'subject' | 'issuedAt' | 'validUntil' | 'supersededAt'> {
  revokedAt: Date | null
}

export function findIssued(
  db: Queryable,
  vcSha256s: readonly Buffer[],
): Promise<RegisteredCredential[]> {
  return db.rows<RegisteredCredential>(sql`
    select c.credential_id as "credentialId", c.payload, c.proof, c.subject,
      c.issued_at as "issuedAt", c.valid_until as "validUntil", c.superseded_at as "supersededAt",
      ${credentialRevokedAt} as "revokedAt"
    from score_credentials c join signing_keys k using (kid) where c.vc_sha256 = any(${vcSha256s}::bytea[])`)
}

export interface ListedCredential extends Omit<RegisteredCredential, 'payload' | 'proof'> {
  vcSha256: Buffer
  kid: string
  keyRevokedAt: Date | null
}

export interface CredentialPage {
  /** Only those that name this username, under any origin; null: all. */
  usernameSha256: Buffer | null
  /** The id of the last row of the page before, or null for the first page. */
  after: string | null
  limit: number
}

/** Returns credentials, the latest id first. */
export function findCredentialPage(
  db: Queryable,
  { usernameSha256, after, limit }: CredentialPage,
): Promise<ListedCredential[]> {
  return db.rows<ListedCredential>(sql`
    select c.credential_id as "credentialId", c.vc_sha256 as "vcSha256", c.subject, c.kid,
      c.issued_at as "issuedAt", c.valid_until as "validUntil",
      c.superseded_at as "supersededAt", ${credentialRevokedAt} as "revokedAt",
      k.revoked_at as "keyRevokedAt"
    from score_credentials c join signing_keys k using (kid)
    where (${usernameSha256}::bytea is null or subject_name_sha256(c.subject) = ${usernameSha256})
      and (${after}::uuid is null or c.credential_id < ${after})
    order by c.credential_id desc limit ${limit}`)
}

/** Returns credentials as they were issued, the latest id first, without the erased ones. */
export function findIssuedPage(
  db: Queryable,
  { usernameSha256, after, limit }: CredentialPage,
): Promise<StoredCredential[]> {
  return db.rows<StoredCredential>(sql`
    select credential_id as "credentialId", payload, proof from score_credentials
    where payload <> '{}'
      and (${usernameSha256}::bytea is null or subject_name_sha256(subject) = ${usernameSha256})
      and (${after}::uuid is null or credential_id < ${after})
    order by credential_id desc limit ${limit}`)
}

export type CurrentCredential = Pick<
  CredentialRow,
  'vcSha256' | 'credentialId' | 'subject' | 'payload'
>

/**
 * Returns the credentials that a newer credential of these subjects would supersede: their current
 * credentials that are not revoked.
 */
export function findUnrevokedCurrent(
  db: Queryable,
  subjects: readonly string[],
): Promise<CurrentCredential[]> {
  return db.rows<CurrentCredential>(sql`
    select c.vc_sha256 as "vcSha256", c.credential_id as "credentialId", c.subject, c.payload
    from score_credentials c join signing_keys k using (kid)
    where c.subject = any(${subjects}::text[]) and c.superseded_at is null
      and ${credentialRevokedAt} is null
    order by c.subject`)
}

/** Returns the credential of the subject that no later one supersedes, revoked or not. */
export async function findCurrentCredential(
  db: Queryable,
  subject: string,
): Promise<StoredCredential | undefined> {
  const [current] = await db.rows<StoredCredential>(sql`
    select credential_id as "credentialId", payload, proof from score_credentials
    where subject = ${subject} and superseded_at is null`)
  return current
}

/**
 * Marks the current credentials of these subjects as superseded. Does not revoke them; that depends
 * on the operator's policy (decision D28).
 */
export async function supersedeCredentials(
  tx: Tx,
  subjects: readonly string[],
  at: Date,
): Promise<Buffer[]> {
  const rows = await tx.rows<{ vcSha256: Buffer }>(sql`
    update score_credentials set superseded_at = ${at}
    where subject = any(${subjects}::text[]) and superseded_at is null
    returning vc_sha256 as "vcSha256"`)
  return rows.map((row) => row.vcSha256)
}

/** Marks these credentials as superseded: their subject has another name now, or no score. */
export async function supersedeReplaced(
  tx: Tx,
  replaced: readonly Buffer[],
  at: Date,
): Promise<Buffer[]> {
  const rows = await tx.rows<{ vcSha256: Buffer }>(sql`
    update score_credentials set superseded_at = ${at}
    where vc_sha256 = any(${replaced}::bytea[]) and superseded_at is null
    returning vc_sha256 as "vcSha256"`)
  return rows.map((row) => row.vcSha256)
}

export interface RevokedRow {
  vcSha256: Buffer
  credentialId: string
  listId: string
  revokedAt: Date
  /** False if the credential was revoked before this call; the first time is kept. */
  now: boolean
}

/**
 * Revokes the credentials that are not revoked yet. Locks rows in digest order, so two bulk
 * revocations cannot deadlock.
 */
export function markRevoked(tx: Tx, vcSha256s: readonly Buffer[], at: Date): Promise<RevokedRow[]> {
  return tx.rows<RevokedRow>(sql`
    with found as (
      select c.vc_sha256, ${credentialRevokedAt} as revoked_at
      from score_credentials c join signing_keys k using (kid)
      where c.vc_sha256 = any(${vcSha256s}::bytea[]) order by c.vc_sha256 for update of c
    )
    update score_credentials c set revoked_at = coalesce(c.revoked_at, found.revoked_at, ${at})
    from found where c.vc_sha256 = found.vc_sha256
    returning c.vc_sha256 as "vcSha256", c.credential_id as "credentialId", c.list_id as "listId",
      least(c.revoked_at, found.revoked_at) as "revokedAt", found.revoked_at is null as "now"`)
}

/** Returns those of the digests whose credentials are not revoked, as hex. */
export async function findUnrevoked(
  db: Queryable,
  vcSha256s: readonly Buffer[],
): Promise<Set<string>> {
  const rows = await db.rows<{ digest: string }>(sql`
    select encode(c.vc_sha256, 'hex') as digest
    from score_credentials c join signing_keys k using (kid)
    where c.vc_sha256 = any(${vcSha256s}::bytea[]) and ${credentialRevokedAt} is null`)
  return new Set(rows.map(({ digest }) => digest))
}

/** Returns the digest of each named credential in order, or null if no credential has the name. */
export async function findDigests(
  db: Queryable,
  names: readonly CredentialName[],
): Promise<(Buffer | null)[]> {
  const ids = names.map((name) => (name.by === 'id' ? name.id : null))
  const hexOf = (kind: 'token' | 'digest') =>
    bytesArray(names.map((name) => (name.by.includes(kind) ? hexBytes(name) : '')))
  const rows = await db.rows<{ vcSha256: Buffer | null }>(sql`
    select c.vc_sha256 as "vcSha256"
    from unnest(${ids}::uuid[], ${hexOf('token')}::bytea[], ${hexOf('digest')}::bytea[])
      with ordinality as n(id, token, digest, place)
    left join lateral (
      select vc_sha256 from score_credentials where credential_id = n.id
      union all
      select vc_sha256 from score_credentials where status_token = n.token
      union all
      select vc_sha256 from score_credentials where vc_sha256 = n.digest
      limit 1
    ) c on true
    order by n.place`)
  return rows.map(({ vcSha256 }) => vcSha256)
}

function hexBytes(name: CredentialName): string {
  return 'bytes' in name ? name.bytes.toString('hex') : ''
}

/** Returns those of these list indexes that are in use. */
export function findTakenSlots(
  db: Queryable,
  slots: readonly { listId: string; index: number }[],
): Promise<{ listId: string; index: number }[]> {
  return db.rows(sql`
    select c.list_id as "listId", c.list_index as "index"
    from unnest(${slots.map((slot) => slot.listId)}::text[], ${slots.map((slot) => slot.index)}::int[])
      as s(list_id, list_index)
    join score_credentials c using (list_id, list_index)`)
}

export async function findRevokedIndexes(db: Queryable, listId: string): Promise<number[]> {
  const rows = await db.rows<{ indexes: number[] }>(sql`
    select coalesce(array_agg(list_index), '{}') as indexes from (
      select list_index from score_credentials
      where list_id = ${listId} and revoked_at is not null
      union all
      select c.list_index from score_credentials c join signing_keys k using (kid)
      where c.list_id = ${listId} and k.credentials_revoked_at is not null
    ) revoked`)
  return rows[0]?.indexes ?? []
}

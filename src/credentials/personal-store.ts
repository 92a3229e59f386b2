/** The SQL of one worker's credentials for export, withdrawal and erasure. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { type CredentialRow, credentialRevokedAt } from './store.ts'

/** Selects a worker's credentials by digest, or by a username that the worker has or had. */
export interface CredentialsOf {
  vcSha256s: readonly Buffer[]
  /** SHA-256 of every username that the worker had. */
  usernameSha256s: readonly Buffer[]
}

export interface CredentialRecord
  extends Pick<CredentialRow, 'vcSha256' | 'payload' | 'proof' | 'issuedAt'> {
  revokedAt: Date | null
}

/**
 * Returns the credentials of a worker. Former usernames are stored only as digests, so the subject
 * is compared by digest.
 */
export function findCredentialRecords(
  db: Queryable,
  { vcSha256s, usernameSha256s }: CredentialsOf,
): Promise<CredentialRecord[]> {
  return db.rows<CredentialRecord>(sql`
    select c.vc_sha256 as "vcSha256", c.payload, c.proof, c.issued_at as "issuedAt",
      ${credentialRevokedAt} as "revokedAt"
    from score_credentials c join signing_keys k using (kid)
    where c.vc_sha256 = any(${vcSha256s}::bytea[])
      or subject_name_sha256(c.subject) = any(${usernameSha256s}::bytea[])
    order by c.issued_at, c.vc_sha256`)
}

/**
 * Returns the digests of the credentials under these usernames that are not revoked one by one,
 * whether a scoring run or an import issued them.
 */
export async function findUnrevokedDigests(
  db: Queryable,
  usernameSha256s: readonly Buffer[],
): Promise<Buffer[]> {
  const rows = await db.rows<{ vcSha256: Buffer }>(sql`
    select vc_sha256 as "vcSha256" from score_credentials
    where subject_name_sha256(subject) = any(${usernameSha256s}::bytea[]) and revoked_at is null`)
  return rows.map(({ vcSha256 }) => vcSha256)
}

/**
 * Erases the content of credentials that are already revoked. Digest, status token and list index
 * stay, so the status route and the verifier still answer "revoked" for a copy that a third party
 * holds.
 */
export async function eraseCredentials(tx: Tx, vcSha256s: readonly Buffer[]): Promise<void> {
  await tx.run(sql`
    update score_credentials
    set payload = '{}', proof = '{}', subject = 'urn:erased:' || encode(vc_sha256, 'hex')
    where vc_sha256 = any(${vcSha256s}::bytea[])`)
}

/** All that this room keeps of one person: to give it out, to take it back and to erase it. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { credentialRevokedAt } from './store.ts'

/** A person's credentials: by what a score knows of, and by whose profile they are of. */
export interface CredentialsOf {
  vcSha256s: readonly Buffer[]
  /** SHA-256 of every username that the person had. */
  usernameSha256s: readonly Buffer[]
}

export interface CredentialRecord {
  vcSha256: Buffer
  /** JSON text. */
  payload: string
  proof: string
  issuedAt: Date
  revokedAt: Date | null
}

/** Names that the person had before are known by their digests alone. */
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

/** Digests of what is not revoked, however it was issued. */
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
 * What credentials say is gone; digest, status token and place in the list stay, so that a copy somebody holds is still told to be
 * revoked. They are revoked already.
 */
export async function eraseCredentials(tx: Tx, vcSha256s: readonly Buffer[]): Promise<void> {
  await tx.run(sql`
    update score_credentials
    set payload = '{}', proof = '{}', subject = 'urn:erased:' || encode(vc_sha256, 'hex')
    where vc_sha256 = any(${vcSha256s}::bytea[])`)
}

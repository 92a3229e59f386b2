/**
 * Revokes credentials. One transaction marks the row for ever and makes its list due for
 * publication. The status route and the verifier read the row; the list follows within two seconds.
 */
import type { Db, Tx } from '../platform/db/db.ts'
import { holdKeys } from './key-store.ts'
import { raiseRevision } from './list-store.ts'
import { findDigests, markRevoked, type RevokedRow } from './store.ts'

/** The identifiers by which an operator names credentials. */
export interface CredentialNames {
  credentialIds?: readonly string[]
  statusTokens?: readonly Buffer[]
  vcSha256s?: readonly Buffer[]
}

/**
 * Revokes the named credentials. A name that matches nothing has no row in the result. If a
 * credential is revoked twice, the first time is kept.
 */
export function revokeCredentials(db: Db, names: CredentialNames, at: Date): Promise<RevokedRow[]> {
  return db.transaction(async (tx) => {
    const rows = await findDigests(tx, names)
    return revokeDigests(
      tx,
      rows.map((row) => row.vcSha256),
      at,
    )
  })
}

/** Revokes credentials by digest within the caller's transaction. */
export async function revokeDigests(
  tx: Tx,
  vcSha256s: readonly Buffer[],
  at: Date,
): Promise<RevokedRow[]> {
  const rows = await markRevoked(tx, vcSha256s, at)
  const lists = new Set(rows.filter((row) => row.now).map((row) => row.listId))
  if (lists.size === 0) return rows
  // Locks keys before lists, in the order of a key revocation, because the caller may issue
  // credentials later in this transaction.
  await holdKeys(tx)
  await raiseRevision(tx, [...lists])
  return rows
}

/**
 * Revocation: the row is marked once and for ever, and its list is due for publication, in one transaction. The status route and
 * verification read the row; the list follows within two seconds.
 */
import type { Db, Tx } from '../platform/db/db.ts'
import { holdKeys } from './key-store.ts'
import { raiseRevision } from './list-store.ts'
import { findDigests, markRevoked, type RevokedRow } from './store.ts'

/** How a credential is named by whoever revokes it. */
export interface CredentialNames {
  credentialIds?: readonly string[]
  statusTokens?: readonly Buffer[]
  vcSha256s?: readonly Buffer[]
}

/** Revokes what the names find; a name that finds nothing has no row in the answer. A second revocation keeps the first time. */
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

/** The same within the caller's transaction. */
export async function revokeDigests(
  tx: Tx,
  vcSha256s: readonly Buffer[],
  at: Date,
): Promise<RevokedRow[]> {
  const rows = await markRevoked(tx, vcSha256s, at)
  const lists = new Set(rows.filter((row) => row.now).map((row) => row.listId))
  if (lists.size === 0) return rows
  // Keys before lists, as everywhere: the caller may issue next, and a revocation of the key locks in this order.
  await holdKeys(tx)
  await raiseRevision(tx, [...lists])
  return rows
}

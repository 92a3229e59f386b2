/**
 * Revokes credentials. One transaction marks the row for ever and makes its list due for
 * publication. The status route and the verifier read the row; the list follows within two seconds.
 */
import type { Tx } from '../platform/db/db.ts'
import type { CredentialName } from './credential-name.ts'
import { holdKeys } from './key-store.ts'
import { raiseRevision } from './list-store.ts'
import { findDigests, markRevoked, type RevokedRow } from './store.ts'

export interface Revocation {
  /** A row for each credential that was found. */
  rows: RevokedRow[]
  /** The positions of the names that no credential has. */
  notFound: number[]
}

/** Revokes the named credentials. If a credential is revoked twice, the first time is kept. */
export async function revokeCredentials(
  tx: Tx,
  names: readonly CredentialName[],
  now: Date,
): Promise<Revocation> {
  const digests = await findDigests(tx, names)
  const found = new Map(digests.flatMap((one) => (one ? [[one.toString('hex'), one]] : [])))
  const rows = await revokeDigests(tx, [...found.values()], now)
  return { rows, notFound: digests.flatMap((one, i) => (one === null ? i : [])) }
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

/**
 * Publishes status lists: builds, signs and stores each list that has new revocations or approaches
 * its refresh time. Several publishers may run at once; each list is locked by one of them. After a
 * crash before the commit the list is still due.
 */
import { randomInt } from 'node:crypto'
import type { Db } from '../platform/db/db.ts'
import { type Publication, takeDueList, updatePublication } from './list-store.ts'
import type { Origin } from './payload.ts'
import { requireActiveKey } from './rotate-keys.ts'
import type { Signer } from './signing-key.ts'
import {
  bitsOf,
  listRefreshSeconds,
  listValiditySeconds,
  statusListPayload,
  statusListProofs,
} from './status-list.ts'
import { findRevokedIndexes } from './store.ts'

export interface ListSigner {
  origin: Origin
  /**
   * Origins that this deployment had before. A list keeps the origin of its credentials, because
   * they name it.
   */
  formerOrigins?: readonly Origin[]
  signer: Signer
}

/**
 * Publishes every due list of these origins and returns their number. Throws if the signer's key is
 * not active.
 */
export async function publishDueLists(db: Db, by: ListSigner, now: Date): Promise<number> {
  let published = 0
  while (await publishNextList(db, by, now)) published++
  return published
}

function publishNextList(
  db: Db,
  { origin, formerOrigins = [], signer }: ListSigner,
  now: Date,
): Promise<boolean> {
  const origins = new Map([origin, ...formerOrigins].map((each) => [each.issuer, each]))
  return db.transaction(async (tx) => {
    const due = await takeDueList(tx, [...origins.keys()], now)
    const listOrigin = origins.get(due?.issuer ?? '')
    if (due === undefined || listOrigin === undefined) return false
    // Checked after the row is locked. A revocation of the key either waits for this row lock or is
    // visible here.
    await requireActiveKey(tx, signer.kid)
    // Read after the row is locked. A revocation raises `revision` under the same lock, so these
    // indexes contain every revocation up to `due.revision`.
    const indexes = await findRevokedIndexes(tx, due.listId)
    await updatePublication(
      tx,
      signList({ origin: listOrigin, signer }, { ...due, indexes, publishedAt: now }),
    )
    return true
  })
}

/** Builds and signs a list. No I/O. */
export function signList(
  { origin, signer }: ListSigner,
  list: { listId: string; revision: number; indexes: Iterable<number>; publishedAt: Date },
): Publication {
  const { listId, revision, publishedAt } = list
  const payload = statusListPayload(origin, { listId, bits: bitsOf(list.indexes), publishedAt })
  // Random, so that lists opened together do not become due together.
  const refreshSeconds = listRefreshSeconds - randomInt(3_600)
  return {
    listId,
    revision,
    publishedAt,
    refreshAt: new Date(publishedAt.getTime() + refreshSeconds * 1_000),
    validUntil: new Date(publishedAt.getTime() + listValiditySeconds * 1_000),
    payload: JSON.stringify(payload),
    proofs: statusListProofs(payload, origin, signer),
  }
}

/**
 * The publisher: lists with new revocations and lists that grow old are built from the registry, signed and stored. Any number of
 * publishers may run; a list is held by one at a time. A crash before the commit leaves the list due.
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
 * Publishes every list of these origins that is due; gives their number. Throws where the signer's
 * key is not the active one.
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
    // After the row is held: whoever revokes the key marks the row, and so waits for us, or is seen here.
    await requireActiveKey(tx, signer.kid)
    // Read after the row is held: a revocation raises the revision under the same lock, so all of `revision` is in these indexes.
    const indexes = await findRevokedIndexes(tx, due.listId)
    await updatePublication(
      tx,
      signList({ origin: listOrigin, signer }, { ...due, indexes, publishedAt: now }),
    )
    return true
  })
}

/** Builds and signs a list: no I/O. */
export function signList(
  { origin, signer }: ListSigner,
  list: { listId: string; revision: number; indexes: Iterable<number>; publishedAt: Date },
): Publication {
  const { listId, revision, publishedAt } = list
  const payload = statusListPayload(origin, { listId, bits: bitsOf(list.indexes), publishedAt })
  // Lists opened together must not all grow old together.
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

/** Verifies the audit log page by page from its first entry, in constant memory. */
import type { Queryable } from '../platform/db/db.ts'
import { type Break, followChain, genesis, type Head } from './chain.ts'
import { findEntriesAfter } from './store.ts'

export type Verification =
  /** `since` counts the entries after the expected one. */
  { whole: true; head: Head; since: number | null } | { whole: false; broken: Break }

/**
 * Verifies the chain. The chain alone cannot show a cut-off end or a log that was rewritten as a
 * whole: `expected`, the hash of an entry that was kept elsewhere, must occur in it.
 */
export async function verifyLog(
  db: Queryable,
  { expected, pageRows = 500 }: { expected: string | null; pageRows?: number },
): Promise<Verification> {
  let head = genesis
  let expectedSeq = expected === genesis.hash ? genesis.seq : null
  for (let after = Number.MIN_SAFE_INTEGER; ; after = head.seq) {
    const entries = await findEntriesAfter(db, { after, limit: pageRows })
    const followed = followChain(head, entries)
    if ('broken' in followed) return { whole: false, broken: followed.broken }
    head = followed.head
    expectedSeq = entries.find(({ hash }) => hash === expected)?.seq ?? expectedSeq
    if (entries.length < pageRows) break
  }
  if (expected === null) return { whole: true, head, since: null }
  if (expectedSeq === null) return { whole: false, broken: notFound(head) }
  return { whole: true, head, since: head.seq - expectedSeq }
}

/**
 * The position of the missing entry is unknown; most likely it followed the last one that is left.
 */
function notFound({ seq }: Head): Break {
  return {
    seq: seq + 1,
    reason: `the expected entry is not in the log: its end was cut off after entry ${seq}, or all of it was written anew`,
  }
}

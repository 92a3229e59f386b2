/** Verifies the audit log from its first entry, page by page: memory does not grow with it. */
import type { Queryable } from '../platform/db/db.ts'
import { type Break, followChain, genesis, type Head } from './chain.ts'
import { findEntriesAfter } from './store.ts'

export type Verification =
  /** `since` is how many entries came after the expected one. */
  { whole: true; head: Head; since: number | null } | { whole: false; broken: Break }

/**
 * Follows the chain. That alone cannot see an end that was cut off, nor a log that was written anew as a whole: `expected`, the hash of an
 * entry that was noted elsewhere, must be found on the way.
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

/** Where the entry stood is not known: most likely behind what is left. */
function notFound({ seq }: Head): Break {
  return {
    seq: seq + 1,
    reason: `the expected entry is not in the log: its end was cut off after entry ${seq}, or all of it was written anew`,
  }
}

/**
 * Pure: the chain of the audit log. The hash of an entry is SHA-256 over the canonical JSON (RFC 8785) of
 * `{"action","actor","at","details","prevHash","seq","subjects"}`, all as the row holds them: `seq` a number, `details` and `subjects` the
 * texts they are, `prevHash` 64 hex characters. Who recomputes it needs nothing of ours.
 */
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'

export interface Entry {
  /** From 1, without gaps. */
  seq: number
  /** UTC, with milliseconds. */
  at: string
  actor: string
  action: string
  /** Canonical JSON: a list of ids. */
  subjects: string
  /** Canonical JSON: an object. */
  details: string
  /** 64 lowercase hex characters; of the first entry `genesis.hash`. */
  prevHash: string
  hash: string
}

/** The last entry of a chain. */
export type Head = Pick<Entry, 'seq' | 'hash'>

/** What the first entry follows. */
export const genesis: Head = { seq: 0, hash: '0'.repeat(64) }

export function hashOf(entry: Omit<Entry, 'hash'>): string {
  const { seq, at, actor, action, subjects, details, prevHash } = entry
  return sha256Hex(canonicalJson({ seq, at, actor, action, subjects, details, prevHash }))
}

/** The first entry that is not as it was written, or not where it was. */
export interface Break {
  seq: number
  reason: string
}

/** Whether the entries, in order of `seq`, follow `head` without a gap and unchanged; and the head after them. */
export function followChain(
  head: Head,
  entries: readonly Entry[],
): { head: Head } | { broken: Break } {
  let last = head
  for (const entry of entries) {
    const reason = faultOf(last, entry)
    if (reason !== null) return { broken: { seq: Math.min(entry.seq, last.seq + 1), reason } }
    last = { seq: entry.seq, hash: entry.hash }
  }
  return { head: last }
}

function faultOf(last: Head, entry: Entry): string | null {
  if (entry.seq > last.seq + 1) return 'it is missing'
  if (entry.seq <= last.seq) return 'it has a number that no entry was given'
  if (hashOf(entry) !== entry.hash) return 'it is not what its hash was made over'
  if (entry.prevHash !== last.hash) return 'it does not follow the entry before it'
  return null
}

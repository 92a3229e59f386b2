/**
 * Pure: the hash chain of the audit log. The hash of an entry is SHA-256 over the canonical JSON
 * (RFC 8785) of `{"action","actor","at","details","prevHash","seq","subjects"}`, with the values of
 * the row: `seq` as a number, `details` and `subjects` as their texts, `prevHash` as 64 hex
 * characters. Any program can recompute it from the row alone.
 */
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'

export interface Entry {
  /** Counts from 1 without gaps. */
  seq: number
  /** UTC, with milliseconds. */
  at: string
  actor: string
  action: string
  /** Canonical JSON: a list of ids. */
  subjects: string
  /** Canonical JSON: an object. */
  details: string
  /** 64 lowercase hex characters. The first entry has `genesis.hash`. */
  prevHash: string
  hash: string
}

/** The last entry of a chain. */
export type Head = Pick<Entry, 'seq' | 'hash'>

/** The head of an empty chain: the first entry follows it. */
export const genesis: Head = { seq: 0, hash: '0'.repeat(64) }

export function hashOf(entry: Omit<Entry, 'hash'>): string {
  const { seq, at, actor, action, subjects, details, prevHash } = entry
  return sha256Hex(canonicalJson({ seq, at, actor, action, subjects, details, prevHash }))
}

/** The first entry that was altered, moved or removed. */
export interface Break {
  seq: number
  reason: string
}

/**
 * Returns the head after `entries`, or the first break. `entries` must be in order of `seq` and
 * follow `head` without a gap.
 */
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

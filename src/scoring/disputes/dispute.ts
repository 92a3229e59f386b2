/** Pure: a dispute, its moves, and the items that a decision upholds. */

/** Subject of a dispute: the current score, items of evidence, or the worker's identity. */
export const disputeKinds = ['score', 'evidence', 'identity'] as const
export type DisputeKind = (typeof disputeKinds)[number]

export type DisputeState = 'open' | 'under_review' | 'resolved' | 'withdrawn'

export const resolutions = ['upheld', 'partly_upheld', 'rejected'] as const
export type Resolution = (typeof resolutions)[number]

/** End of a dispute: a decision, or the withdrawal by the worker. */
export type Ending = Resolution | 'withdrawn'

export interface Dispute {
  id: string
  workerId: string
  kind: DisputeKind
  state: DisputeState
  /** Set exactly if the dispute is resolved. */
  resolution: Resolution | null
  /** If true, the public score is hidden while the dispute is open. */
  restricted: boolean
  /**
   * Active scores when the dispute was opened and after it ended: 64 lowercase hex characters. Null
   * if there was none.
   */
  snapshotId: string | null
  resultingSnapshotId: string | null
  openedAt: Date
  dueAt: Date
  endedAt: Date | null
  /** Disputed evidence in order of id; empty for the other kinds. */
  items: DisputedItem[]
}

export interface DisputedItem {
  evidenceId: string
  /** True if the item was active and is excluded until the dispute ends. */
  excluded: boolean
  upheld: boolean
}

/** A dispute is decided only after a review. `resolved` and `withdrawn` are final. */
const moves = {
  under_review: ['open'],
  resolved: ['under_review'],
  withdrawn: ['open', 'under_review'],
} as const satisfies Record<string, readonly DisputeState[]>

export function canMove(from: DisputeState, to: keyof typeof moves): boolean {
  const sources: readonly DisputeState[] = moves[to]
  return sources.includes(from)
}

export interface Decision {
  ending: Ending
  /** The upheld items; given exactly if the decision is `partly_upheld`. */
  upheldIds: readonly string[]
}

export type Verdict =
  | { upheld: string[] }
  /** The decision is not possible for this dispute. */
  | { unusable: string }

/** Returns the upheld items; empty if the dispute is not about evidence. */
export function verdictOf(
  { ending, upheldIds }: Decision,
  { kind, items }: { kind: DisputeKind; items: readonly string[] },
): Verdict {
  if (ending !== 'partly_upheld')
    return upheldIds.length > 0
      ? {
          unusable: `items can be named only if the dispute is partly upheld, not if it is ${ending}`,
        }
      : { upheld: ending === 'upheld' ? [...items] : [] }
  if (kind !== 'evidence')
    return { unusable: `a dispute about the ${kind} is upheld or rejected as a whole` }
  const foreign = upheldIds.filter((id) => !items.includes(id))
  if (foreign.length > 0) return { unusable: `the dispute is not about ${foreign.join(', ')}` }
  const isPart = upheldIds.length > 0 && upheldIds.length < items.length
  return isPart
    ? { upheld: [...upheldIds] }
    : { unusable: 'partly upheld means at least one of the disputed items, and not all' }
}

/** Pure: a dispute as it stands, its moves, and what of it is upheld. */

/** What is disputed: the score as it stands, items of evidence, or who the person is said to be. */
export const disputeKinds = ['score', 'evidence', 'identity'] as const
export type DisputeKind = (typeof disputeKinds)[number]

export type DisputeState = 'open' | 'under_review' | 'resolved' | 'withdrawn'

export const resolutions = ['upheld', 'partly_upheld', 'rejected'] as const
export type Resolution = (typeof resolutions)[number]

/** How a dispute ends: as decided, or because the person takes it back. */
export type Ending = Resolution | 'withdrawn'

export interface Dispute {
  id: string
  workerId: string
  kind: DisputeKind
  state: DisputeState
  /** Set exactly where it is resolved. */
  resolution: Resolution | null
  /** The public score is not shown while it is open. */
  restricted: boolean
  /** The scores that stood when it was opened and when it had ended: 64 lowercase hex characters. Null where there was none. */
  snapshotId: string | null
  resultingSnapshotId: string | null
  openedAt: Date
  dueAt: Date
  endedAt: Date | null
  /** The evidence that is disputed, in the order of ids; none of the other kinds. */
  items: DisputedItem[]
}

export interface DisputedItem {
  evidenceId: string
  /** It was active, and is set aside until the dispute ends. */
  excluded: boolean
  upheld: boolean
}

/** Nothing is decided that nobody has looked at; `resolved` and `withdrawn` are final. */
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
  /** Exactly where it is partly upheld: the items that are. */
  upheldIds: readonly string[]
}

export type Verdict =
  | { upheld: string[] }
  /** Of this dispute there can be no such decision. */
  | { unusable: string }

/** Which of the disputed items are upheld: none where the dispute is not about evidence. */
export function verdictOf(
  { ending, upheldIds }: Decision,
  { kind, items }: { kind: DisputeKind; items: readonly string[] },
): Verdict {
  if (ending !== 'partly_upheld')
    return upheldIds.length > 0
      ? { unusable: `items are named only where it is partly upheld, not where it is ${ending}` }
      : { upheld: ending === 'upheld' ? [...items] : [] }
  if (kind !== 'evidence')
    return { unusable: `a dispute about the ${kind} is upheld or rejected as a whole` }
  const foreign = upheldIds.filter((id) => !items.includes(id))
  if (foreign.length > 0) return { unusable: `it is not about ${foreign.join(', ')}` }
  const isPart = upheldIds.length > 0 && upheldIds.length < items.length
  return isPart
    ? { upheld: [...upheldIds] }
    : { unusable: 'partly upheld means at least one of the disputed items, and not all' }
}

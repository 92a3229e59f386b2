/**
 * Pure: whether a computed score becomes the worker's score. Scores move a little every day, for evidence decays: a new one is issued where
 * it says something new, so that credentials do not churn.
 */
import type { Band } from '../scoring-core/parameters.ts'

export interface IssueRule {
  /** Items and independent groups that a score needs. */
  evidenceMin: number
  groupsMin: number
  /** An unchanged score is issued anew at this age, before its credential expires. */
  renewAfterDays: number
}

/** The score that the worker has. */
export interface Held {
  evidenceIds: ReadonlySet<string>
  score: number
  band: Band
  issuedAt: Date
  /** It is replaced even if the evidence comes to the same: a recalled engine made it, or a correction demands it. */
  mustReplace: boolean
}

/** What the evidence comes to now. */
export interface Fresh {
  evidenceIds: ReadonlySet<string>
  /** Null where the engine refuses the evidence. */
  result: { score: number; band: Band; evidenceCount: number; sourceCount: number } | null
  /** Whether the score held was wrong: it rests on what has been revoked, or was found wrong. */
  isCorrection: boolean
  now: Date
}

/** `none`: there is no score, and none is made. */
export type Decision = 'none' | 'keep' | 'issue' | 'withdraw'

export function decide(held: Held | null, fresh: Fresh, rule: IssueRule): Decision {
  const { result } = fresh
  // Who cannot be scored keeps what they have, unless that is known to be wrong.
  if (result === null) return held === null ? 'none' : fresh.isCorrection ? 'withdraw' : 'keep'
  const isEnough = result.evidenceCount >= rule.evidenceMin && result.sourceCount >= rule.groupsMin
  if (held === null) return isEnough ? 'issue' : 'none'
  if (!isEnough) return 'withdraw'
  const saysNew =
    held.mustReplace ||
    !isSameSet(held.evidenceIds, fresh.evidenceIds) ||
    held.band !== result.band ||
    Math.abs(held.score - result.score) >= differenceMin ||
    fresh.now.getTime() - held.issuedAt.getTime() >= rule.renewAfterDays * 86_400_000
  return saysNew ? 'issue' : 'keep'
}

/** Points by which a score must have moved. */
const differenceMin = 5

function isSameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && a.isSubsetOf(b)
}

/** The items by which a score is told from another: a claim that nobody vouches for counts for nothing, so it makes no new score. */
export function scoredIds(items: Iterable<{ id: string; assurance: number }>): Set<string> {
  const ids = new Set<string>()
  for (const { id, assurance } of items) if (assurance > 0) ids.add(id)
  return ids
}

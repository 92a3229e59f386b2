/**
 * Pure: decides if a computed score becomes the worker's score. Scores change a little every day,
 * because evidence decays. A new score is issued only for a notable change, so that credentials are
 * not replaced every day.
 */
import type { Band } from '../core/parameters.ts'
import type { ScoreResult } from '../core/score.ts'
import type { Snapshot } from './snapshot.ts'

export interface IssueRule {
  /** Minimum number of sources for a score. The engine has a minimum of mass besides. */
  groupsMin: number
  /** Age in days at which an unchanged score is issued anew, before its credential expires. */
  renewAfterDays: number
}

/** Current score of the worker. */
export interface Held extends Pick<Snapshot, 'score' | 'low' | 'high' | 'band' | 'issuedAt'> {
  evidenceIds: ReadonlySet<string>
  /**
   * If true, the score is replaced even by an equal one, because a recalled engine made it or a
   * correction demands it.
   */
  mustReplace: boolean
}

/** Score that the current evidence gives. */
export interface Fresh {
  evidenceIds: ReadonlySet<string>
  /** Null if the engine rejects the evidence. */
  result: Pick<ScoreResult, 'score' | 'low' | 'high' | 'band' | 'sourceCount'> | null
  /** True if the current score is wrong: it counts revoked evidence or was found wrong. */
  isCorrection: boolean
  now: Date
}

/** `none`: there is no score, and none is issued. */
export type Decision = 'none' | 'keep' | 'issue' | 'withdraw'

export function decide(held: Held | null, fresh: Fresh, rule: IssueRule): Decision {
  const { result } = fresh
  // A worker that cannot be scored keeps the current score, unless this is known to be wrong.
  if (result === null) return held === null ? 'none' : fresh.isCorrection ? 'withdraw' : 'keep'
  if (!isPublished(result, rule)) return held === null ? 'none' : 'withdraw'
  if (held === null) return 'issue'
  const saysNew =
    held.mustReplace ||
    !isSameSet(held.evidenceIds, fresh.evidenceIds) ||
    held.band !== result.band ||
    Math.abs(held.score - result.score) >= scoreDifferenceMin ||
    Math.abs(held.low - result.low) >= rangeDifferenceMin ||
    Math.abs(held.high - result.high) >= rangeDifferenceMin ||
    fresh.now.getTime() - held.issuedAt.getTime() >= rule.renewAfterDays * 86_400_000
  return saysNew ? 'issue' : 'keep'
}

/** Returns whether a result is published: it has a score, and enough sources. */
export function isPublished<Result extends Pick<ScoreResult, 'score' | 'sourceCount'>>(
  result: Result,
  { groupsMin }: Pick<IssueRule, 'groupsMin'>,
): result is Result & Published {
  return result.score !== null && result.sourceCount >= groupsMin
}

/** The values that are null without a score. */
export type Published = Record<'score' | 'low' | 'high', number> & { band: Band }

/**
 * Minimum changes in points for a new score. Time widens the range and leaves the score, so without
 * the second one a credential would keep a range that is too narrow.
 */
const scoreDifferenceMin = 5
const rangeDifferenceMin = 20

function isSameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && a.isSubsetOf(b)
}

/**
 * Returns the ids that distinguish one score from another. Items with assurance 0 do not count, so
 * they cause no new score.
 */
export function scoredIds(items: Iterable<{ id: string; assurance: number }>): Set<string> {
  const ids = new Set<string>()
  for (const { id, assurance } of items) if (assurance > 0) ids.add(id)
  return ids
}

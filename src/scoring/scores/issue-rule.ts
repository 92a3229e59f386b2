/**
 * Pure: decides if a computed score becomes the worker's score. Scores change a little every day,
 * because evidence decays. A new score is issued only for a notable change, so that credentials are
 * not replaced every day.
 */
import type { ScoreInput } from '../core/evidence.ts'
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

/** The days that follow the day of an input, with the same evidence. */
interface Future {
  score(input: ScoreInput): ScoreResult
  input: ScoreInput
  /** By id of the item: the first day on which it no longer counts. Other items do not expire. */
  expiryDays: ReadonlyMap<string, number>
  daysMax: number
}

/** Evidence that decays is at its end after a hundred years at the latest. */
export const daysMax = 36_525

/**
 * Returns the first day, within `daysMax` days after the day of the input, on which the same
 * evidence gives no published score, or null. Today's score is a published one.
 */
export function endsOnDay(future: Future, issueRule: IssueRule): number | null {
  return firstDayWithout(future, (result) => isPublished(result, issueRule))
}

/**
 * Returns the first day on which the skill has no score, or null. `decayedOn` is that day if no
 * item of the skill expires; today it has a score.
 */
export function skillEndsOnDay(
  future: Future,
  skillId: string,
  decayedOn: number | null,
): number | null {
  if (future.expiryDays.size === 0) return decayedOn
  // The other skills have no effect on this one: copies are found within one skill.
  const evidence = future.input.evidence.filter((item) => item.skillId === skillId)
  if (!evidence.some(({ id }) => future.expiryDays.has(id))) return decayedOn
  const own = { ...future, input: { ...future.input, evidence } }
  return firstDayWithout(own, ({ skills }) => skills.some(({ score }) => score !== null))
}

/**
 * Finds an end by halving. Decay and expiry only take away, except that the copy of an item that
 * expires begins to count: then a later end can be found.
 */
function firstDayWithout(
  { score, input, expiryDays, daysMax }: Future,
  isThere: (result: ScoreResult) => boolean,
): number | null {
  const isThereOn = (asOfDay: number) => {
    const counts = ({ id }: { id: string }) => asOfDay < (expiryDays.get(id) ?? Infinity)
    return isThere(score({ ...input, asOfDay, evidence: input.evidence.filter(counts) }))
  }
  let last = input.asOfDay
  let next = input.asOfDay + daysMax
  if (isThereOn(next)) return null
  while (next - last > 1) {
    const middle = Math.floor((last + next) / 2)
    if (isThereOn(middle)) last = middle
    else next = middle
  }
  return next
}

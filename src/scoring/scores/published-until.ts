/** Pure: the day on which a score is withdrawn, because its evidence has decayed or expired. */
import type { ScoreInput } from '../core/evidence.ts'
import type { ScoreResult } from '../core/score.ts'
import { type IssueRule, isPublished } from './issue-rule.ts'

/** The days that follow the day of an input, with the same evidence. */
export interface Future {
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

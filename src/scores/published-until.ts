/** Pure: the day on which a score is withdrawn, because its evidence has decayed too far. */
import type { ScoreInput } from '../scoring-core/evidence.ts'
import type { ScoreResult } from '../scoring-core/score.ts'
import { type IssueRule, isPublished } from './issue-rule.ts'

/**
 * Returns the first day, within `daysMax` days after the day of the input, on which the same
 * evidence gives no published score, or null. Today's score is a published one.
 */
export function endsOnDay(
  score: (input: ScoreInput) => ScoreResult,
  input: ScoreInput,
  { issueRule, daysMax }: { issueRule: IssueRule; daysMax: number },
): number | null {
  const isPublishedOn = (asOfDay: number) => isPublished(score({ ...input, asOfDay }), issueRule)
  let last = input.asOfDay
  let next = input.asOfDay + daysMax
  if (isPublishedOn(next)) return null
  while (next - last > 1) {
    const middle = Math.floor((last + next) / 2)
    if (isPublishedOn(middle)) last = middle
    else next = middle
  }
  return next
}

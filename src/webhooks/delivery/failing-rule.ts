/** Pure: the consequence of repeated failures of an endpoint. */

export interface Failing {
  failingSince: Date
  lastFailureAt: Date
  consecutiveFailures: number
  /** Number of different events among the failures. */
  eventCount: number
  /** Hours after which the operator got the last notice. */
  warnedHours: number
}

export type FailingAction =
  | { action: 'none' }
  | { action: 'warn'; hours: number }
  | { action: 'disable' }

const hourMs = 3_600_000
const warningHours = [72, 24]
const disableAfterHours = 120

/**
 * Returns the action. An endpoint is disabled after five days without a success, unless the
 * failures come from one event, few attempts or a short time: it needs at least 20 failures of 3
 * events with 12 hours between the first and the last. The operator gets a notice after one day and
 * after three.
 */
export function failingAction(failing: Failing, now: Date): FailingAction {
  const { failingSince, lastFailureAt, consecutiveFailures, eventCount, warnedHours } = failing
  const hours = (now.getTime() - failingSince.getTime()) / hourMs
  const spanHours = (lastFailureAt.getTime() - failingSince.getTime()) / hourMs
  const isOver = hours >= disableAfterHours && spanHours >= 12
  if (isOver && consecutiveFailures >= 20 && eventCount >= 3) return { action: 'disable' }
  const due = warningHours.find((limit) => hours >= limit && limit > warnedHours)
  return due === undefined ? { action: 'none' } : { action: 'warn', hours: due }
}

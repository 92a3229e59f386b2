/** Pure: what is done about an endpoint that fails. */

export interface Failing {
  failingSince: Date
  lastFailureAt: Date
  consecutiveFailures: number
  /** Different events among the failures. */
  eventCount: number
  /** After how many hours the operator was told last. */
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
 * Five days without a success end it, where they are not the doing of one event, of a few attempts or of a short time: at least 20
 * failures, of 3 events, 12 hours between the first and the last. Before that the operator is told, after one day and after three.
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

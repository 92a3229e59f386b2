/** Time is an argument: verbs take `now`, processes pass a clock. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

/** Returns a time as the wire writes it: UTC, whole seconds, e.g. `2026-05-14T09:00:00Z`. */
export function wireTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}

/**
 * How many times as long as usual this process waits for others before it gives a call up: 1 unless the operator says that machine or database
 * are slow. Set once, before anything is opened.
 */
let times = 1

export function setPatience(factor: number): void {
  times = factor
}

/** A usual wait in milliseconds, as long as it is here. */
export function patient(usualMs: number): number {
  return usualMs * times
}

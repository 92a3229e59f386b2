/**
 * Overload (decision D12): when too much is under way, or the event loop falls behind, the classes of work are refused from the
 * bottom, before any of their work is done. What is refused costs a header and a line of text.
 */
import type { Endpoint } from '../platform/http/endpoint.ts'

type Shed = Endpoint['shed']

export interface OverloadLimits {
  /** Answers under way at once. */
  inFlightMax: number
  /** How far behind the event loop may be, in milliseconds. */
  loopDelayMsMax: number
}

/** The share of a limit at which a class is refused: search at half of it, the status of a credential at all of it. */
const refusedFrom: Record<Shed, number> = { 1: 1, 2: 0.9, 3: 0.8, 4: 0.7, 5: 0.6, 6: 0.5 }

/** How much of the limits is used: the worse of the two. */
export function load(inFlight: number, loopDelayMs: number, limits: OverloadLimits): number {
  return Math.max(inFlight / limits.inFlightMax, loopDelayMs / limits.loopDelayMsMax)
}

export function isShed(shed: Shed, loadNow: number): boolean {
  return loadNow >= refusedFrom[shed]
}

/** Seconds until a retry is worth it, 1 to 3: spread, so that those refused together do not return together. */
export function retryAfterSeconds(random: number): number {
  return 1 + Math.floor(random * 3)
}

export interface LoopDelay {
  /** Milliseconds; the smaller of the last two samples, so that one long collection of garbage sheds nobody. */
  current(): number
  stop(): void
}

const sampleMs = 50

/** How late a timer fires is how long a request waits before anyone looks at it. */
export function sampleLoopDelay(): LoopDelay {
  let expected = performance.now() + sampleMs
  let previous = 0
  let latest = 0
  const timer = setInterval(() => {
    const now = performance.now()
    previous = latest
    latest = Math.max(0, now - expected)
    expected = now + sampleMs
  }, sampleMs)
  timer.unref()
  return { current: () => Math.min(previous, latest), stop: () => clearInterval(timer) }
}

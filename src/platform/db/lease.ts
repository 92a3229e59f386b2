/**
 * Pure: for how long a process may read a replica (decision D64).
 *
 * A process numbers its beats and writes each number to a row of its own on the primary. A replica
 * applies commits in the order of the primary. So a replica that shows a beat shows everything that
 * was committed before that beat was sent.
 *
 * - The lease of a connection to a replica runs from the moment at which the process sent the last
 *   beat that this connection showed. A read may begin within `leaseMs` of it.
 * - A process that hid something commits, then looks for rows of readers that are at most
 *   `readerAgeMaxMs` old, and waits `hideWaitMs` if there is one. All leases from before its commit
 *   have run out by then.
 */

/** A point in time on the two clocks of a process. */
export interface Moment {
  /** Counts while the process is stopped, but not while the machine is suspended. */
  monotonicMs: number
  /** Counts while the machine is suspended, but an operator may set it back. */
  wallMs: number
}

export const leaseMs = 1_000
/** Longer than a lease: timers and the clocks of machines differ a little. */
export const hideWaitMs = leaseMs + 50
export const beatEveryMs = 250
/** A process that hid something counts readers whose row is at most this old. */
export const readerAgeMaxMs = 60_000
/**
 * A beat gives a lease only if the one before was committed so recently that every process that
 * hid something since counted this reader. Shorter than `readerAgeMaxMs`, because that is measured
 * by the clock of the database.
 */
const beatGapMsMax = 30_000
/** Older beats give no lease any more. */
const beatsKept = 16

export function now(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() }
}

/** Returns the time between two moments, by the clock that counted more. */
export function elapsedMs(from: Moment, to: Moment): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.wallMs - from.wallMs)
}

/** `completeAt` is the moment whose commits a connection shows, or null if that is unknown. */
export function mayRead(completeAt: Moment | null, at: Moment, withinMs = leaseMs): boolean {
  return completeAt !== null && elapsedMs(completeAt, at) < withinMs
}

/** The beats of one process. */
export interface Beats {
  /** Call it before the beat is sent. Returns its number. */
  send(at: Moment): number
  /**
   * Call it once the primary has committed the beat. `isNew`: the row was not there before, so no
   * process that hid something has seen it.
   */
  committed(beat: number, isNew: boolean, at: Moment): void
  /** Returns the moment before which every commit is visible where `beat` is, or null. */
  completeAt(beat: number): Moment | null
}

export function openBeats(): Beats {
  let last = 0
  const sent = new Map<number, Moment>()
  /** Those that give a lease, in their order. */
  let leasing: { beat: number; sentAt: Moment }[] = []
  let committedAt: Moment | null = null
  return {
    send(at) {
      sent.set(++last, at)
      return last
    },
    committed(beat, isNew, at) {
      const sentAt = sent.get(beat)
      // A beat without an answer may be committed on a primary that was replaced.
      for (const earlier of sent.keys()) if (earlier <= beat) sent.delete(earlier)
      const isCounted =
        !isNew && committedAt !== null && sentAt && elapsedMs(committedAt, sentAt) < beatGapMsMax
      committedAt = at
      if (isCounted) leasing = [...leasing.slice(1 - beatsKept), { beat, sentAt }]
      else leasing = []
    },
    completeAt: (beat) => leasing.findLast((one) => one.beat <= beat)?.sentAt ?? null,
  }
}

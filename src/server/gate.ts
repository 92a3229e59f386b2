/**
 * Overload (decision D12): a request that cannot start at once waits in the lane of its client, and is refused only at a deadline.
 * While a request waits, its caller sends nothing more on that connection, so the refusals of a second are at most the connections
 * divided by the wait. A refusal at once frees the caller for its next request, and the loop then does nothing but refuse.
 *
 * The lanes are served in turn, so a client with one request waits for one round and not behind the thousand requests of another.
 */
import { append, createLink, first, type Link, unlink } from './ring.ts'

export interface GateLimits {
  /** Requests that may be under way at once. */
  slots: number
  /** Milliseconds of one turn of the event loop in which requests are started; the rest of the turn belongs to others. */
  turnMs: number
  /**
   * The same while the other gates are idle. A public document that has waited costs twice what one costs that starts at once, because
   * the garbage collector moves what it finds alive: measured at 2,000 connections, 60 µs beside 32.
   */
  turnAloneMs: number
  /** Milliseconds that a request waits before it is refused. */
  waitMs: number
}

export interface Gate {
  /** Starts the request in this call if nothing waits and there is room; otherwise the request waits in `lane`. */
  enter(lane: string, entrant: Entrant): Place
  /** Requests that were started and have not left. */
  active(): number
  waiting(): number
}

/** One of the two is called once, unless the place is left before. Neither may throw. */
export interface Entrant {
  start(place: Place): void
  refuse(): void
}

export interface Place {
  isWaiting(): boolean
  /** Gives the slot back, or stops waiting. A second call has no effect. */
  leave(): void
}

/** The event loop; tests bring their own. */
export interface Scheduler {
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Runs `work` after the loop has polled for events. */
  nextTurn(work: () => void): void
  after(ms: number, work: () => void): void
}

const eventLoop: Scheduler = {
  now: () => performance.now(),
  nextTurn: (work) => void setImmediate(work),
  // The connection of a request that waits keeps the process alive.
  after: (ms, work) => void setTimeout(work, ms).unref(),
}

/** The requests that become overdue in this time are refused together: a thousand deadlines do not cost a thousand timers. */
const refusalIntervalMs = 25

interface Lane {
  readonly name: string
  readonly entries: Link<Entry>
  readonly inRotation: Link<Lane>
}

interface Entry extends Place {
  readonly entrant: Entrant
  readonly deadline: number
  readonly inLane: Link<Entry>
  readonly byAge: Link<Entry>
  /** While it waits. */
  lane: Lane | null
  isActive: boolean
}

export function createGate(
  { slots, turnMs, turnAloneMs, waitMs }: GateLimits,
  /** Whether nothing else needs the loop just now. */
  isAlone: () => boolean,
  scheduler: Scheduler = eventLoop,
): Gate {
  /** Those in which requests wait, and no others. */
  const lanes = new Map<string, Lane>()
  /** The same: the lane that is served next comes first. */
  const rotation = createLink<Lane>()
  const ages = createLink<Entry>()
  let active = 0
  let waiting = 0
  /** Used by the starts of this turn: of those that waited, and then of those that are read. */
  let spentMs = 0
  let isTurnDue = false
  let isRefusalDue = false

  const hasRoom = (): boolean =>
    active < slots && (spentMs < turnMs || (spentMs < turnAloneMs && isAlone()))

  function start(entry: Entry): void {
    entry.isActive = true
    active++
    const startedAt = scheduler.now()
    entry.entrant.start(entry)
    spentMs += scheduler.now() - startedAt
    requestTurn()
  }

  function newEntry(entrant: Entrant): Entry {
    const entry: Entry = {
      entrant,
      deadline: scheduler.now() + waitMs,
      inLane: createLink(),
      byAge: createLink(),
      lane: null,
      isActive: false,
      isWaiting: () => entry.lane !== null,
      leave() {
        unhold(entry)
        if (!entry.isActive) return
        entry.isActive = false
        active--
        if (waiting > 0) requestTurn()
      },
    }
    entry.inLane.item = entry
    entry.byAge.item = entry
    return entry
  }

  function hold(entry: Entry, laneName: string): void {
    const lane = lanes.get(laneName) ?? addLane(laneName)
    entry.lane = lane
    append(lane.entries, entry.inLane)
    append(ages, entry.byAge)
    waiting++
    requestRefusals()
  }

  function addLane(name: string): Lane {
    const lane: Lane = { name, entries: createLink(), inRotation: createLink() }
    lane.inRotation.item = lane
    lanes.set(name, lane)
    append(rotation, lane.inRotation)
    return lane
  }

  function unhold(entry: Entry): void {
    const { lane } = entry
    if (lane === null) return
    entry.lane = null
    waiting--
    unlink(entry.byAge)
    unlink(entry.inLane)
    if (first(lane.entries) !== null) return
    lanes.delete(lane.name)
    unlink(lane.inRotation)
  }

  /** Asked for by every start, because a new turn has a new budget, and by every leave that makes room. */
  function requestTurn(): void {
    if (isTurnDue) return
    isTurnDue = true
    scheduler.nextTurn(takeTurn)
  }

  function takeTurn(): void {
    isTurnDue = false
    spentMs = 0
    for (let lane = first(rotation); lane !== null && hasRoom(); lane = first(rotation)) {
      // To the end, behind the lanes that came meanwhile.
      append(rotation, lane.inRotation)
      const entry = first(lane.entries) as Entry
      unhold(entry)
      start(entry)
    }
    // What is read next may use as much: after a burst, requests start at once again.
    spentMs = 0
  }

  function requestRefusals(): void {
    const oldest = first(ages)
    if (isRefusalDue || oldest === null) return
    isRefusalDue = true
    const ms = Math.max(refusalIntervalMs, oldest.deadline - scheduler.now())
    scheduler.after(ms, refuseOverdue)
  }

  function refuseOverdue(): void {
    isRefusalDue = false
    const now = scheduler.now()
    for (
      let oldest = first(ages);
      oldest !== null && oldest.deadline <= now;
      oldest = first(ages)
    ) {
      unhold(oldest)
      oldest.entrant.refuse()
    }
    requestRefusals()
  }

  return {
    enter(laneName, entrant) {
      const entry = newEntry(entrant)
      if (waiting === 0 && hasRoom()) start(entry)
      else hold(entry, laneName)
      return entry
    },
    active: () => active,
    waiting: () => waiting,
  }
}

/** Seconds until a retry is worth it, 1 to 3: spread, so that requests that were refused together do not return together. */
export function retryAfterSeconds(random: number): number {
  return 1 + Math.floor(random * 3)
}

/**
 * Holds requests under overload (decision D12). A request that cannot start at once waits in the
 * lane of its client and is rejected only at a deadline.
 *
 * While a request waits, its caller sends nothing more on that connection. The rejections of a
 * second are therefore at most the connections divided by the wait. An immediate rejection would
 * free the caller for its next request, and the event loop would then do nothing but reject.
 *
 * Lanes are served in turn, so a client with one request waits for one round and not behind the
 * thousand requests of another client.
 */

export interface GateLimits {
  /** Requests that may be in progress at once. */
  slots: number
  /**
   * Milliseconds of one turn of the event loop in which requests are started. The rest of the turn
   * is for other work.
   */
  turnMs: number
  /**
   * Milliseconds of a turn while the other gates are idle. A public document that waited costs
   * twice as much as one that starts at once, because the garbage collector moves live objects.
   * Measured at 2,000 connections: 60 µs instead of 32 µs.
   */
  turnAloneMs: number
  /** Milliseconds that a request waits before it is rejected. */
  waitMs: number
}

export interface Gate {
  /**
   * Starts the request in this call if nothing waits and there is room, and returns null. Otherwise
   * the request waits in `lane`, and its place among the waiting requests is returned.
   */
  enter(lane: string, entrant: Entrant): Place | null
  /** Requests that have started and not left. */
  active(): number
  waiting(): number
}

/** One of the two functions is called once, unless the place is left before. Neither may throw. */
export interface Entrant {
  start(slot: Place): void
  refuse(): void
}

/** A slot, or a place among the waiting requests. */
export interface Place {
  /** Frees the slot, or stops waiting. A second call has no effect. */
  leave(): void
}

/** The event loop. Tests pass their own. */
export interface Scheduler {
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Runs `work` after the event loop has polled for events. */
  nextTurn(work: () => void): void
  after(ms: number, work: () => void): void
}

const eventLoop: Scheduler = {
  now: () => performance.now(),
  nextTurn: (work) => void setImmediate(work),
  // The timer need not keep the process alive: the connection of a waiting request does.
  after: (ms, work) => void setTimeout(work, ms).unref(),
}

/**
 * Milliseconds between two checks for overdue requests. One timer serves all deadlines of an
 * interval.
 */
const refusalIntervalMs = 25

interface Lane {
  readonly name: string
  readonly entries: Link<Entry>
  readonly inRotation: Link<Lane>
}

/** A request that waits or waited. */
interface Entry {
  readonly entrant: Entrant
  readonly deadline: number
  readonly inLane: Link<Entry>
  readonly byAge: Link<Entry>
  /** Null once the request no longer waits. */
  lane: Lane | null
}

export function createGate(
  { slots, turnMs, turnAloneMs, waitMs }: GateLimits,
  /** Returns whether all other gates are idle. */
  isAlone: () => boolean,
  scheduler: Scheduler = eventLoop,
): Gate {
  const waiting = createWaitingRequests(scheduler)
  let active = 0
  /**
   * Milliseconds that the starts of this turn took. The budget applies twice: to the requests that
   * waited, then to those that are read after them.
   */
  let spentMs = 0
  let isTurnDue = false

  const hasRoom = (): boolean =>
    active < slots && (spentMs < turnMs || (spentMs < turnAloneMs && isAlone()))

  function start(entrant: Entrant): void {
    active++
    const startedAt = scheduler.now()
    entrant.start(newSlot())
    spentMs += scheduler.now() - startedAt
    requestTurn()
  }

  function newSlot(): Place {
    let isTaken = true
    return {
      leave() {
        if (!isTaken) return
        isTaken = false
        active--
        if (waiting.count() > 0) requestTurn()
      },
    }
  }

  /**
   * Called by every start, because a new turn has a new budget, and by every leave that makes room.
   */
  function requestTurn(): void {
    if (isTurnDue) return
    isTurnDue = true
    scheduler.nextTurn(takeTurn)
  }

  function takeTurn(): void {
    isTurnDue = false
    spentMs = 0
    while (waiting.count() > 0 && hasRoom()) start(waiting.takeNext())
    // The requests that are read next have their own budget: after a burst, requests start at once
    // again.
    spentMs = 0
  }

  return {
    enter(laneName, entrant) {
      if (waiting.count() > 0 || !hasRoom())
        return waiting.add(entrant, { laneName, deadline: scheduler.now() + waitMs })
      start(entrant)
      return null
    },
    active: () => active,
    waiting: waiting.count,
  }
}

/** Requests that wait, by lane and by age. Rejects each at its deadline. */
interface WaitingRequests {
  add(entrant: Entrant, place: { laneName: string; deadline: number }): Place
  /** Removes the first request of the lane whose turn it is. At least one request must wait. */
  takeNext(): Entrant
  count(): number
}

function createWaitingRequests(scheduler: Scheduler): WaitingRequests {
  /** The lanes in which requests wait, and no others. */
  const lanes = new Map<string, Lane>()
  /** The same lanes in the order in which they are served. */
  const rotation = createLink<Lane>()
  const ages = createLink<Entry>()
  let count = 0
  let isRefusalDue = false

  function addLane(name: string): Lane {
    const lane: Lane = { name, entries: createLink(), inRotation: createLink() }
    lane.inRotation.item = lane
    lanes.set(name, lane)
    append(rotation, lane.inRotation)
    return lane
  }

  /** Has no effect on a request that no longer waits. */
  function remove(entry: Entry): void {
    const { lane } = entry
    if (lane === null) return
    entry.lane = null
    count--
    unlink(entry.byAge)
    unlink(entry.inLane)
    if (first(lane.entries) !== null) return
    lanes.delete(lane.name)
    unlink(lane.inRotation)
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
      remove(oldest)
      oldest.entrant.refuse()
    }
    requestRefusals()
  }

  return {
    add(entrant, { laneName, deadline }) {
      const lane = lanes.get(laneName) ?? addLane(laneName)
      const entry: Entry = { entrant, deadline, inLane: createLink(), byAge: createLink(), lane }
      entry.inLane.item = entry
      entry.byAge.item = entry
      append(lane.entries, entry.inLane)
      append(ages, entry.byAge)
      count++
      requestRefusals()
      return { leave: () => remove(entry) }
    },
    takeNext() {
      const lane = first(rotation) as Lane
      // Moves the lane behind the others, also behind those that were added meanwhile.
      append(rotation, lane.inRotation)
      const entry = first(lane.entries) as Entry
      remove(entry)
      return entry.entrant
    },
    count: () => count,
  }
}

/**
 * Returns 1 to 3 seconds. The spread keeps requests that were rejected together from returning
 * together.
 */
export function retryAfterSeconds(random: number): number {
  return 1 + Math.floor(random * 3)
}

/**
 * A link of a queue that gives up any item in constant time, without an allocation for each
 * operation.
 */
export interface Link<Item> {
  /** Null in the ring itself, where its queue begins and ends. */
  item: Item | null
  before: Link<Item>
  after: Link<Item>
}

/** Returns an empty queue. Once it has an item, it is a link outside every queue. */
export function createLink<Item>(): Link<Item> {
  const link = { item: null } as Link<Item>
  link.before = link
  link.after = link
  return link
}

/** Moves a link to the end of a queue, from any queue it is in. */
export function append<Item>(ring: Link<Item>, link: Link<Item>): void {
  unlink(link)
  link.before = ring.before
  link.after = ring
  ring.before.after = link
  ring.before = link
}

export function unlink<Item>(link: Link<Item>): void {
  link.before.after = link.after
  link.after.before = link.before
  link.before = link
  link.after = link
}

export function first<Item>(ring: Link<Item>): Item | null {
  return ring.after.item
}

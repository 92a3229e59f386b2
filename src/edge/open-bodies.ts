/**
 * Limits the memory that request bodies take, for each client network and in total. A body that is
 * being read takes no slot of a gate, so gates cannot limit it.
 *
 * Unfinished bodies are limited by number and by rate. Unfinished bodies and complete ones that
 * wait for their work are limited by bytes.
 */
import { type Refusal, refuse } from '../platform/errors.ts'

export interface BodyLimits {
  /** Unfinished bodies. */
  openBodiesMax: number
  openBodiesPerNetworkMax: number
  bodyBytesMax: number
  bodyBytesPerNetworkMax: number
  /** Milliseconds in which a body may arrive at any rate. */
  bodyGraceMs: number
  /** Bytes a second that a body needs on average after its grace period. */
  bodyRateMin: number
}

export interface HeldBody {
  /** Counts bytes that arrived. Beyond a limit, the slowest body is cut; that may be this one. */
  grow(bytes: number): void
  /** Marks the body as complete. Its bytes are still held. */
  finish(): void
  /** Stops holding the body. A second call has no effect. */
  release(): void
}

export interface OpenBodies {
  /**
   * Registers a body of a client network. `cut` is called at most once, after the body was
   * released.
   */
  open(network: string, cut: (refusal: Refusal) => void): HeldBody
  cutSlow(): void
  /** Unfinished bodies. */
  count(): number
  bytes(): number
}

interface Body extends HeldBody {
  bytes: number
  readonly openedAt: number
  cut(refusal: Refusal): void
}

/** The bodies of one network, or of all networks. */
interface Share {
  /** Bodies, complete ones included. */
  held: number
  readonly unfinished: Set<Body>
  bytes: number
  readonly countMax: number
  readonly bytesMax: number
}

/**
 * Bytes added to each body before rates are compared, so that a body that has just started is not
 * slower than one that has dripped for seconds.
 */
const advanceBytes = 65_536

export function trackBodies(limits: BodyLimits, now = () => performance.now()): OpenBodies {
  const networks = new Map<string, Share>()
  const all = newShare(limits.openBodiesMax, limits.bodyBytesMax)

  function open(network: string, cut: (refusal: Refusal) => void): HeldBody {
    const ours =
      networks.get(network) ??
      newShare(limits.openBodiesPerNetworkMax, limits.bodyBytesPerNetworkMax)
    networks.set(network, ours)
    const shares = [ours, all]
    let isHeld = true
    const body: Body = {
      bytes: 0,
      openedAt: now(),
      grow(bytes) {
        if (!isHeld) return
        body.bytes += bytes
        for (const share of shares) share.bytes += bytes
        shares.forEach(bound)
      },
      finish() {
        for (const share of shares) share.unfinished.delete(body)
      },
      release() {
        if (!isHeld) return
        isHeld = false
        body.finish()
        for (const share of shares) share.bytes -= body.bytes
        ours.held--
        if (ours.held === 0) networks.delete(network)
      },
      cut(refusal) {
        body.release()
        cut(refusal)
      },
    }
    ours.held++
    for (const share of shares) share.unfinished.add(body)
    shares.forEach(bound)
    return body
  }

  /**
   * Cuts the slowest bodies until the share is within its limits or has no unfinished body left.
   */
  function bound(share: Share): void {
    while (share.unfinished.size > share.countMax || share.bytes > share.bytesMax) {
      // Cutting a body without bytes frees a place, but no memory.
      const bytesMin = share.unfinished.size > share.countMax ? 0 : 1
      const slowest = slowestOf(share.unfinished, { bytesMin, now: now() })
      if (slowest === undefined) return
      slowest.cut(refuse('overloaded', { headers: { 'Retry-After': '1' } }))
    }
  }

  return {
    open,
    cutSlow() {
      const at = now()
      for (const body of all.unfinished) {
        const seconds = (at - body.openedAt - limits.bodyGraceMs) / 1_000
        if (body.bytes < seconds * limits.bodyRateMin) body.cut(refuse('request_timeout'))
      }
    },
    count: () => all.unfinished.size,
    bytes: () => all.bytes,
  }
}

function newShare(countMax: number, bytesMax: number): Share {
  return { held: 0, unfinished: new Set(), bytes: 0, countMax, bytesMax }
}

function slowestOf(
  bodies: Iterable<Body>,
  { bytesMin, now }: { bytesMin: number; now: number },
): Body | undefined {
  let slowest: Body | undefined
  let lowest = Number.POSITIVE_INFINITY
  for (const body of bodies) {
    const rate = (body.bytes + advanceBytes) / Math.max(1, now - body.openedAt)
    if (rate < lowest && body.bytes >= bytesMin) {
      lowest = rate
      slowest = body
    }
  }
  return slowest
}

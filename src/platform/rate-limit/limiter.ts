/** The interface of a rate limiter for the HTTP edge (decision D11). */
import type { RateLimits } from '../http/endpoint.ts'

/**
 * The origin of a call. IPv4: one bucket. IPv6: the /64 with factor 1 and the /48 with factor 10
 * times the limits.
 */
export interface ClientNetwork {
  /** The address itself; absent if it is unknown or the call is counted in another way. */
  address?: string
  buckets: readonly { key: string; factor: number }[]
}

export interface RateWindow {
  limit: number
  remaining: number
  resetSeconds: number
}

export interface RateVerdict {
  allowed: boolean
  /** Whole seconds after which a retry succeeds; 0 if allowed. */
  retryAfterSeconds: number
  minute: RateWindow
  day: RateWindow
  /** The caller's full buckets by `bucketName`, with the milliseconds until one is free. */
  full: readonly { name: string; freeMs: number }[]
}

export interface RateLimiter {
  /**
   * Counts a call if it is allowed. A denied call is not counted. Throws `UnavailableError` if it
   * cannot tell.
   */
  take(caller: ClientNetwork, policy: { name: string } & RateLimits): Promise<RateVerdict>
}

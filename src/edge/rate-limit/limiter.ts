/** The interface of a rate limiter for the HTTP edge (decision D11). */
import type { RateLimits } from '../http/contract.ts'
import type { ClientNetwork } from './client-network.ts'

export type { ClientNetwork } from './client-network.ts'

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
}

export interface RateLimiter {
  /**
   * Counts a call if it is allowed. A denied call is not counted. Throws `UnavailableError` if it
   * cannot tell.
   */
  take(caller: ClientNetwork, policy: { name: string } & RateLimits): Promise<RateVerdict>
  /**
   * Returns whether an earlier `take` found a bucket of the caller full until now or later. Asks no
   * database, so another process may know more.
   */
  isFull(caller: ClientNetwork, policy: { name: string }): boolean
}

/** What the HTTP edge asks of a rate limiter (decision D11); `rate-limit.ts` counts. */
import type { RateLimits } from '../http/endpoint.ts'

/** Where a call comes from. IPv4: one bucket. IPv6: the /64 with factor 1 and the /48 with factor 10 times the limits. */
export interface ClientNetwork {
  /** The address itself; absent where it is not known, or where the call is counted by something else. */
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
  /** After so many whole seconds a retry succeeds; 0 when allowed. */
  retryAfterSeconds: number
  minute: RateWindow
  day: RateWindow
  /** Those of the caller's buckets, by `bucketName`, that have nothing left, and for how many milliseconds. */
  full: readonly { name: string; freeMs: number }[]
}

export interface RateLimiter {
  /** Counts a call where it is allowed; a denied one is not counted. Throws `UnavailableError` where it cannot tell. */
  take(caller: ClientNetwork, policy: { name: string } & RateLimits): Promise<RateVerdict>
}

import type { PaymentChallenge } from './wire.ts'

export type Json = Record<string, unknown>

export interface ClientOptions {
  /** The address of the service, for example `https://scores.example.org`. */
  baseUrl: string
  /** Without a key, only public documents can be read, and reads that are paid for one by one. */
  apiKey?: string
  /** Refuses any key but a test key, so that no call can cost anything. */
  sandbox?: boolean
  /** The version of the interface. By default the one that this package was made for. */
  version?: string
  /** Milliseconds for one attempt, body included, and for one wait before a retry. */
  timeoutMs?: number
  /** Attempts after the first. */
  maxRetries?: number
  fetch?: typeof fetch
  pay?: Payer
}

/** Pays for single reads, with x402, if the service asks for it. */
export interface Payer {
  /** The most that one call may cost, in atomic units of the asset. */
  maxAmount: string | bigint
  /** The only networks to pay on, for example `base`. */
  networks: readonly string[]
  /** The only assets to pay with, by the address of their contract. */
  assets: readonly string[]
  /** Signs a payment for a challenge within these limits and returns the header `X-PAYMENT`. */
  header(challenge: PaymentChallenge): Promise<string>
}

export interface CallOptions {
  signal?: AbortSignal
  /**
   * Names the call for the service, so that it is charged or created once. By default each call has
   * a new one, which its retries reuse. Give your own to repeat a call after a crash.
   */
  idempotencyKey?: string
}

export interface Answer<Value> {
  data: Value
  status: number
  requestId: string | null
  /** Credits that the call cost, or null if it is not metered. */
  creditsCharged: number | null
  /** Credits of the account after the call, or null if it is not metered. */
  creditsRemaining: number | null
  rateLimits: RateLimit[]
  headers: Headers
}

export interface RateLimit {
  policy: string
  remaining: number
  /** Seconds until more calls are available. */
  resetSeconds: number
}

/** A call under way. Await it for the data, or `withResponse()` for what came with it. */
export type Call<Value> = Promise<Value> & { withResponse(): Promise<Answer<Value>> }

export function callOf<Value>(answer: Promise<Answer<Value>>): Call<Value> {
  const data = answer.then(({ data }) => data)
  const withResponse = (): Promise<Answer<Value>> => {
    // The caller handles a failure by the promise that it gets here.
    data.catch(() => {})
    return answer
  }
  return Object.assign(data, { withResponse })
}

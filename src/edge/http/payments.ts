/**
 * The interface between the HTTP edge and the module of x402 payments, which sells paid reads to
 * callers without a key.
 */
import type { Refusal } from '../../platform/errors.ts'
import type { MeterName } from './callers.ts'
import type { Answer } from './endpoint.ts'

export interface PaidRequest {
  /** The credit meter of the endpoint. Its x402 price has the same name. */
  meter: MeterName
  /** Path of the endpoint with `{name}` for each parameter. */
  pathTemplate: string
  /** The endpoint's summary, shown to the payer. */
  description: string
  /** Checked path parameters. */
  path: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The well-formed Idempotency-Key, or null. */
  idempotencyKey: string | null
  /**
   * Does the work for a payer whose address is proved. It may be called more than once and must
   * change nothing.
   */
  read(payer: string): Promise<Answer>
  /** Returns whether the caller still waits. */
  isAwaited(): boolean
  /**
   * Called when a payment may have been sent. `failure` is the answer if the request fails or is
   * too late.
   */
  onSent(failure: Refusal): void
  /**
   * Returns whether this proved payer may try again, as far as this process knows. Counts nothing.
   */
  mayTry(payer: string): boolean
  /**
   * Counts an attempt, for the payer if it is proved, and for the caller's network. Returns null,
   * or the refusal.
   */
  limit(payer: string | null): Promise<Refusal | null>
}

export interface PaymentPort {
  /**
   * Returns a challenge, the paid answer with its receipt, or the refusal. Rejects if the work
   * does.
   */
  answer(request: PaidRequest): Promise<Answer>
}

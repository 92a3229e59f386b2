/**
 * The interface between the HTTP edge and the modules of keys and credits. The edge orders the
 * checks itself (decision D18).
 */
import type { ErrorCauses, Refusal } from '../../platform/errors.ts'
import type {
  KeyCaller,
  MeterName,
  OperatorCaller,
  PresentedKey,
  SessionCaller,
} from './callers.ts'

/**
 * Returns the key of an Authorization header, or null if it is not valid: an absent, revoked,
 * expired or malformed key and one that is not allowed from this address are one answer. `address`
 * is the address of the caller, if it is known. Throws `UnavailableError` if it cannot tell.
 */
export type Authenticate = (
  authorization: string,
  address: string | undefined,
) => Promise<PresentedKey | null>

/**
 * Returns the key of this header as its last look-up found it, or null if there was none or it does
 * not allow this address. It decides nothing: the key may be revoked since.
 */
export type ExpectKey = (authorization: string, address: string | undefined) => PresentedKey | null

/**
 * Returns the account of a key that was revoked or has expired, and what replaced it. Null: the
 * header holds no such key.
 */
export type FindEndedKey = (authorization: string) => Promise<{
  accountId: string
  keyId: string
  cause: ErrorCauses['invalid_api_key']
} | null>

/**
 * Returns the valid session of a Cookie header, or null. An absent, unknown, ended and malformed
 * session are one answer, as is the session of a disabled user or a removed member. Throws
 * `UnavailableError` if the database does not answer.
 */
export type AuthenticateSession = (cookies: string | undefined) => Promise<SessionCaller | null>

/** Returns the operator of a token, under the same rules as `Authenticate`. */
export type AuthenticateOperator = (
  authorization: string,
  address: string | undefined,
) => Promise<OperatorCaller | null>

/** A call that was answered with 200 and is now charged. */
export interface MeteredCall {
  caller: KeyCaller
  meter: MeterName
  operationId: string
  /** A request id is charged at most once. */
  requestId: string
  /** Decides the month of the entry, whenever it is written. */
  begunAt: Date
  /**
   * Set if the caller sent an Idempotency-Key: within 24 hours the same request under the same key
   * is charged once.
   */
  purchase: { idempotencyKey: string; fingerprint: string } | null
}

export interface Charge {
  /** Whole credits; 0 for a repeated purchase. */
  charged: number
  /** Balance after this charge; absent if the meter is free. */
  remaining?: number
}

export interface Metering {
  /**
   * Returns the refusal if the account cannot pay for a call, as far as that is known before the
   * work, or null.
   */
  shortfall(key: PresentedKey, meter: MeterName): Refusal | null
  /**
   * Charges the call. The entry is durable when it resolves. After a refusal or an error nothing is
   * charged, or it is refunded, or it belongs to a named purchase.
   */
  charge(call: MeteredCall): Promise<Charge | Refusal>
  /** Refunds a call that was charged and then got no 200, unless it belongs to a named purchase. */
  refund(call: MeteredCall): void
}

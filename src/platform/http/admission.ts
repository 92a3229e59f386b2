/**
 * The interface between the HTTP edge and the modules of keys and credits. The edge orders the
 * checks itself (decision D18).
 */
import type { KeyCaller, MeterName, PresentedKey, Scope, SessionCaller } from './callers.ts'
import type { Refusal } from './errors.ts'

/**
 * Returns the key of an Authorization header, or null if it is not valid here: absent, revoked,
 * expired, malformed and not allowed from this address give one answer. Throws `UnavailableError`
 * if it cannot tell.
 */
export type Authenticate = (
  authorization: string,
  presenting: Presenting,
) => Promise<PresentedKey | null>

/**
 * Returns the valid session of a Cookie header, or null. An absent, unknown, ended and malformed
 * session are one answer, as is the session of a disabled user or a removed member. Throws
 * `UnavailableError` if the database does not answer.
 */
export type AuthenticateSession = (cookies: string | undefined) => Promise<SessionCaller | null>

export interface Presenting {
  /** Address of the caller, if known. */
  address: string | undefined
  /**
   * Called at once with a key that was valid at its last use, before its look-up: for work that may
   * begin early and admits no caller. If it returns a promise, the look-up waits for it, and is
   * left out if it resolves to true: then the charge has found the key valid.
   */
  onSeen(key: SeenKey): Promise<boolean> | null
}

/** The account and the rights of a key. */
export type KeyRights = Pick<PresentedKey, 'caller' | 'scopes'>

export interface SeenKey extends KeyRights {
  /**
   * Whether a charge alone can prove the key: it has no network restriction, uses the present
   * pepper, and its account had credits and was not suspended.
   */
  isProvable: boolean
}

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
   * If set, the call is charged only if the key is valid at that moment, has this scope and has no
   * network restriction. Null if the key was looked up for this call.
   */
  provenFor: Scope | null
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
  /** Returns whether calls of a meter are free. */
  isFree(meter: MeterName): boolean
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
  undo(call: MeteredCall): void
}

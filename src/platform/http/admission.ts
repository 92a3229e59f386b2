/** What the HTTP edge asks of the rooms that know keys and money; it orders the questions itself (decision D18). */
import type { KeyCaller, MeterName, PresentedKey, Scope, SessionCaller } from './callers.ts'
import type { Refusal } from './errors.ts'

/**
 * The key in an Authorization header as sent, or null for whatever is not a valid key here: absent, revoked, expired, malformed and not
 * allowed from this address are one answer. Throws `UnavailableError` where it cannot tell.
 */
export type Authenticate = (
  authorization: string,
  presenting: Presenting,
) => Promise<PresentedKey | null>

/**
 * Returns the valid session of a Cookie header, or null. An absent, unknown, ended and malformed session are one answer, as is the session
 * of a disabled user or a removed member. Throws `UnavailableError` if the database does not answer.
 */
export type AuthenticateSession = (cookies: string | undefined) => Promise<SessionCaller | null>

export interface Presenting {
  /** Where it comes from, as far as that is known. */
  address: string | undefined
  /**
   * Called at once with a key that was valid the last time, before it is known whether it still is: for what may be begun meanwhile, and
   * lets nobody in. Where it returns a promise, the key is not looked up before that resolves, nor afterwards, where it is true: then the
   * charge has found it valid.
   */
  onSeen(key: SeenKey): Promise<boolean> | null
}

/** Whose it is and what it may do. */
export type KeyRights = Pick<PresentedKey, 'caller' | 'scopes'>

export interface SeenKey extends KeyRights {
  /** Whether a charge can tell that it is valid: it may come from anywhere, rests on the present pepper, and its account had credits and was not suspended. */
  isProvable: boolean
}

/** A call that has been answered with 200 and is now to be paid for. */
export interface MeteredCall {
  caller: KeyCaller
  meter: MeterName
  operationId: string
  /** Never charged twice. */
  requestId: string
  /** Decides the month in which the call is entered, whenever that is. */
  begunAt: Date
  /** Charged only where the key is valid at that moment, has this scope and may come from anywhere. Null: it has been looked up for this call. */
  provenFor: Scope | null
  /** Of a caller that sent an Idempotency-Key: within 24 hours the same request under the same key is charged once. */
  purchase: { idempotencyKey: string; fingerprint: string } | null
}

export interface Charge {
  /** Whole credits; 0 for what was paid for before. */
  charged: number
  /** Of the account, after this charge; absent where the meter is free and nobody looked. */
  remaining?: number
}

export interface Metering {
  /** Whether calls of a meter cost nothing. */
  isFree(meter: MeterName): boolean
  /** Why the account cannot pay for a call, as far as that can be told before the work; or null. */
  shortfall(key: PresentedKey, meter: MeterName): Refusal | null
  /** Durable when it resolves; a refusal or an error has charged nothing, or what it has is given back, or is a named purchase's. */
  charge(call: MeteredCall): Promise<Charge | Refusal>
  /** A call that was charged and then got no 200 after all: it is given back, but for a named purchase. */
  undo(call: MeteredCall): void
}

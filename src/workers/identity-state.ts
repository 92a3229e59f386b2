/** Pure: the states of an identity verification and the moves between them. */
import type { Fault } from '../platform/json/shape-fault.ts'

export const identityStates = ['none', 'pending', 'verified', 'expired', 'revoked'] as const
export type IdentityState = (typeof identityStates)[number]

/** The recorded state. `expired` is never recorded, because it follows from the time. */
export interface StoredIdentity {
  state: 'pending' | 'verified' | 'revoked'
  /** Set exactly if the state is `verified`. */
  verifiedUntil: Date | null
}

export function identityAt(stored: StoredIdentity | null, now: Date): IdentityState {
  if (stored === null) return 'none'
  const { state, verifiedUntil } = stored
  return verifiedUntil !== null && now >= verifiedUntil ? 'expired' : state
}

/** Returns whether the public gate accepts the identity (decision D33). */
export function isIdentityActive(stored: StoredIdentity | null, now: Date): boolean {
  return identityAt(stored, now) === 'verified'
}

export type IdentityMove = 'begin' | 'verify' | 'revoke'

/**
 * States that each move passes through; each of them is recorded. An empty list means that there is
 * nothing to do, null that the move is rejected. To verify a verified identity renews it; from any
 * other state it passes through `pending` first.
 */
const moves: Record<
  IdentityMove,
  Record<IdentityState, readonly StoredIdentity['state'][] | null>
> = {
  begin: {
    none: ['pending'],
    pending: [],
    verified: null,
    expired: ['pending'],
    revoked: ['pending'],
  },
  verify: {
    none: ['pending', 'verified'],
    pending: ['verified'],
    verified: ['verified'],
    expired: ['pending', 'verified'],
    revoked: ['pending', 'verified'],
  },
  revoke: {
    none: null,
    pending: ['revoked'],
    verified: ['revoked'],
    expired: ['revoked'],
    revoked: [],
  },
}

export function statesOf(move: IdentityMove, from: IdentityState) {
  return moves[move][from]
}

/** Identity documents are valid for ten years at most. */
const verifiedYearsMax = 10

export function faultOfUntil(field: string, until: Date | null, now: Date): Fault | null {
  if (until === null) return { field, reason: 'must be a date-time with a zone' }
  if (until <= now) return { field, reason: 'must be in the future' }
  if (until > yearsAfter(now, verifiedYearsMax))
    return { field, reason: `must be at most ${verifiedYearsMax} years ahead` }
  return null
}

export function yearsAfter(time: Date, years: number): Date {
  const then = new Date(time)
  then.setUTCFullYear(time.getUTCFullYear() + years)
  return then
}

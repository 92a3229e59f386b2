/** Pure: the states of an identity verification, and its moves. */
import type { Fault } from '../platform/json/shape-fault.ts'

export type IdentityState = 'none' | 'pending' | 'verified' | 'expired' | 'revoked'

/** What is recorded; time alone makes `verified` expire. */
export interface StoredIdentity {
  state: 'pending' | 'verified' | 'revoked'
  /** Set exactly where the state is `verified`. */
  verifiedUntil: Date | null
}

export function identityAt(stored: StoredIdentity | null, now: Date): IdentityState {
  if (stored === null) return 'none'
  const { state, verifiedUntil } = stored
  return verifiedUntil !== null && now >= verifiedUntil ? 'expired' : state
}

/** The public gate asks for this (decision D33). */
export function isIdentityActive(stored: StoredIdentity | null, now: Date): boolean {
  return identityAt(stored, now) === 'verified'
}

export type IdentityMove = 'begin' | 'verify' | 'revoke'

/**
 * The states that a move goes through, each of them recorded; none where nothing is to be done, null where the move is refused. To
 * verify renews what is verified; anything else goes through `pending` first.
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

/** An identity document is valid for ten years at most. */
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

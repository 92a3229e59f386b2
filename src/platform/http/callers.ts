/** Who calls the interface, what a key may do, and what a call is counted as (spec §5). */

export const scopes = [
  'candidates:read',
  'scores:read',
  'webhooks:write',
  'agent-decisions:write',
] as const
export type Scope = (typeof scopes)[number]

/** What is charged for; the names are also those of what an x402 payment buys (spec §2.8). */
export const meterNames = ['score_lookup', 'candidate_lookup', 'candidate_search'] as const
export type MeterName = (typeof meterNames)[number]

/** `test` keys reach sandbox data alone, and cost nothing (decision D14). */
export const environments = ['live', 'test'] as const
export type Environment = (typeof environments)[number]

export interface KeyCaller {
  kind: 'key'
  /** UUID. */
  keyId: string
  /** UUID; `userId` on the wire. */
  accountId: string
  environment: Environment
}

/** What a user may do in an account: an owner manages members, keys and billing data, a member everything else. */
export const roles = ['owner', 'member'] as const
export type Role = (typeof roles)[number]

/** A signed-in user, acting for one of their accounts. All ids are UUIDs. */
export interface SessionCaller {
  kind: 'session'
  sessionId: string
  /** The human being who signed in; the wire's `userId` is `accountId`. */
  userId: string
  accountId: string
  role: Role
}

export type Caller =
  | KeyCaller
  | SessionCaller
  /** Paid for this one call by x402; `address` is 0x and 40 hex characters in lower case. */
  | { kind: 'payer'; address: string }
  | { kind: 'anonymous' }

/** The session of a route with the policy `session`: the server lets no other caller in. */
export function sessionOf(caller: Caller): SessionCaller {
  if (caller.kind !== 'session') throw new Error('a session route was called without a session')
  return caller
}

/** An API key that is valid now, with what decides whether it may make a call. */
export interface PresentedKey {
  caller: KeyCaller
  scopes: readonly Scope[]
  /** Of its account, as of the look-up: the charge itself decides. */
  credits: { balance: number; suspended: boolean }
}

/** Callers of the interface, the scopes of keys, and the meters of calls. */

export const scopes = [
  'candidates:read',
  'scores:read',
  'webhooks:write',
  'agent-decisions:write',
] as const
export type Scope = (typeof scopes)[number]

/** Meters of charged calls. An x402 payment buys under the same names. */
export const meterNames = ['score_lookup', 'candidate_lookup', 'candidate_search'] as const
export type MeterName = (typeof meterNames)[number]

/** Keys of `test` reach sandbox data only and cost nothing (decision D14). */
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

/**
 * Roles of a user in an account: an owner manages members, keys and billing data, a member
 * everything else.
 */
export const roles = ['owner', 'member'] as const
export type Role = (typeof roles)[number]

/** Roles of users in the console. Each may do everything that an earlier one may. */
export const consoleRoles = ['viewer', 'support', 'admin'] as const
export type ConsoleRole = (typeof consoleRoles)[number]

/** A signed-in user, acting for one of their accounts. All ids are UUIDs. */
export interface SessionCaller {
  kind: 'session'
  sessionId: string
  /** The human being who signed in; the wire's `userId` is `accountId`. */
  userId: string
  accountId: string
  role: Role
  /** Null: the user does not work in the console. */
  operatorRole: ConsoleRole | null
  /** Start of the session: each sign-in begins a new one. */
  signedInAt: Date
}

/** Roles of operators: those of users, and one of systems that only send data. */
export const operatorRoles = [...consoleRoles, 'ingest'] as const
export type OperatorRole = (typeof operatorRoles)[number]

/** A system of the operator, by its token. */
export interface OperatorCaller {
  kind: 'operator'
  /** UUID. */
  tokenId: string
  /** The name that the operator gave the token. */
  name: string
  role: OperatorRole
}

export type Caller =
  | KeyCaller
  | SessionCaller
  | OperatorCaller
  /** Paid for this one call by x402. `address` is 0x and 40 lower-case hex characters. */
  | { kind: 'payer'; address: string }
  | { kind: 'anonymous' }

/** Returns the session of an endpoint that admits no other caller. */
export function sessionOf(caller: Caller): SessionCaller {
  if (caller.kind !== 'session') throw new Error('a session route was called without a session')
  return caller
}

/** A valid API key with the facts that decide its calls. */
export interface PresentedKey {
  caller: KeyCaller
  scopes: readonly Scope[]
  /** Credits of its account at the time of the look-up. The charge itself decides. */
  credits: { balance: number; suspended: boolean }
}

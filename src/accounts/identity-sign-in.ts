/**
 * Sign-in by an identity that the OpenID Connect provider has proven (decisions D44, D47, D48). The
 * first sign-in finds the user by the verified mail address and stores the identity. Every later
 * one finds the user by issuer and subject alone, even if the address has changed. An invited
 * person without an account gets the link of the newest invitation.
 *
 * Tables: reads `users` and `memberships`; inserts `user_identities`; inserts and deletes
 * `sessions`. With open sign-up it also inserts the user and the account.
 * Concurrency: of two first sign-ins at once, one stores the identity and both sign in.
 */
import type { Visitor } from '../edge/http/endpoint.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { parseEmail } from './email.ts'
import { findNewestInvitation } from './invitation-store.ts'
import { makeInvitationLink } from './invitations.ts'
import type { ProvenIdentity } from './oidc-provider.ts'
import { type BegunSession, beginBrowserSession, type SessionRules } from './sessions.ts'
import { accountsPath } from './sign-in.ts'
import {
  findSignInAccount,
  findUserByEmail,
  findUserById,
  findUserByIdentity,
  insertIdentity,
  proveAddress,
  type User,
} from './store.ts'

/** Makes a user for an unknown address. Returns null if sign-up is by invitation. */
export type SignUp = (tx: Tx, email: string, now: Date) => Promise<string | null>

export type IdentityRefusal =
  /** The provider does not say that the address is the user's. */
  | 'unverified'
  | 'unknown'
  | 'disabled'
  /** The user of the address has signed in with another identity of this provider. */
  | 'other identity'

export type IdentitySignIn =
  /** `next` is the page to open, or null for the page that the user wants. */
  | { kind: 'signed in'; session: BegunSession; next: string | null }
  | { kind: 'invited'; token: string }
  | { kind: IdentityRefusal }

export interface IdentityVisit {
  identity: ProvenIdentity
  visitor: Visitor
  /** The session that the browser had before. It ends. */
  previousValue: string | null
}

export function signInByIdentity(
  db: Db,
  { identity, visitor, previousValue }: IdentityVisit,
  { signUp, rules, now }: { signUp: SignUp; rules: SessionRules; now: Date },
): Promise<IdentitySignIn> {
  return db.transaction(async (tx): Promise<IdentitySignIn> => {
    const user =
      (await findUserByIdentity(tx, identity)) ?? (await firstSignIn(tx, identity, { signUp, now }))
    if (user === 'unknown') return invitedOrUnknown(tx, identity.verifiedEmail, now)
    if (typeof user === 'string') return { kind: user }
    if (user.disabledAt !== null) return { kind: 'disabled' }
    const account = await findSignInAccount(tx, user.id)
    if (account === undefined) return invitedOrUnknown(tx, user.email, now)
    await proveAddress(tx, user.id, now)
    const { authenticatedAt } = identity
    const { accountId } = account
    const of = { userId: user.id, accountId, visitor, previousValue, authenticatedAt }
    const session = await beginBrowserSession(tx, of, { rules, now })
    return { kind: 'signed in', session, next: account.isChosen ? null : accountsPath }
  })
}

/** The provider has proven the address, so the link may make the user. */
async function invitedOrUnknown(tx: Tx, email: string | null, now: Date): Promise<IdentitySignIn> {
  const parsed = email === null ? null : parseEmail(email)
  const invitation = parsed === null ? undefined : await findNewestInvitation(tx, parsed, now)
  if (invitation === undefined) return { kind: 'unknown' }
  const link = { invitationId: invitation.id, provesAddress: true }
  return { kind: 'invited', token: await makeInvitationLink(tx, link) }
}

async function firstSignIn(
  tx: Tx,
  { issuer, subject, verifiedEmail }: ProvenIdentity,
  { signUp, now }: { signUp: SignUp; now: Date },
): Promise<User | IdentityRefusal> {
  const email = verifiedEmail === null ? null : parseEmail(verifiedEmail)
  if (email === null) return 'unverified'
  const user = (await findUserByEmail(tx, email)) ?? (await newUser(tx, email, { signUp, now }))
  if (user === undefined) return 'unknown'
  if (user.disabledAt !== null) return 'disabled'
  const identity = { issuer, subject, userId: user.id, createdAt: now }
  if (await insertIdentity(tx, identity)) return user
  // Another request of the same user may have stored it in the meantime.
  return (await findUserByIdentity(tx, identity)) ?? 'other identity'
}

async function newUser(
  tx: Tx,
  email: string,
  { signUp, now }: { signUp: SignUp; now: Date },
): Promise<User | undefined> {
  const id = await signUp(tx, email, now)
  return id === null ? undefined : findUserById(tx, id)
}

/**
 * The verbs of the invited person: accept or decline (decision D47). Acceptance makes the
 * membership, and the user if the address is new.
 *
 * A link proves the address if it was mailed there or came from the operator. A link that a member
 * hands over proves nothing. It makes a user only for a new address, and only where nothing else
 * can prove an address. It never signs in an existing user: any owner could otherwise get a session
 * of a user of another account. A user who was made by such a link has not proven the address: the
 * first sign-in that proves it ends the sessions of that user (`proveAddress`).
 *
 * Tables: updates `invitations`; inserts `users`, `memberships` and `sessions`.
 * Concurrency: acceptances of one account take turns, so the maximum of members holds.
 */
import { type ActionContext, audited, changed, contextWithin, unchanged } from '../audit/action.ts'
import { theInvited } from '../audit/actions.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import type { Visitor } from '../platform/http/endpoint.ts'
import type { Invitation } from './invitation.ts'
import { findInvitationByLink, findInvitationsTo, updateAnswer } from './invitation-store.ts'
import { membersMax } from './invitations.ts'
import { updateSessionAccount } from './session-store.ts'
import { type BegunSession, beginBrowserSession, type SessionRules } from './sessions.ts'
import {
  findMembers,
  findSignInAccount,
  findUserByEmail,
  findUserById,
  insertMembership,
  insertUser,
  lockMemberships,
  updateLastAccount,
} from './store.ts'

const tokenForm = /^[\w-]{43}$/

type Linked = Invitation & { provesAddress: boolean }

/** Returns the open invitation of a link. Consumes nothing, because mail scanners open links. */
export async function readInvitation(
  db: Db,
  token: string,
  now: Date,
): Promise<Linked | undefined> {
  return tokenForm.test(token) ? findInvitationByLink(db, sha256(token), now) : undefined
}

export type Accepted =
  /** `session` is null if the browser has one. */
  | { outcome: 'joined'; session: BegunSession | null }
  | { outcome: 'no such invitation' | 'sign in first' | 'other address' | 'too many members' }

/** The session that accepts. */
interface SignedIn {
  userId: string
  sessionId: string
}

/** Accepts an invitation to the own address within a session. */
export function acceptOwnInvitation(
  { db, actor, clock }: ActionContext,
  { session, invitationId }: { session: SignedIn; invitationId: string },
): Promise<Accepted> {
  return db.transaction(async (tx): Promise<Accepted> => {
    const now = clock()
    const own = await findInvitationsTo(tx, { userId: session.userId, now })
    const invitation = own.find(({ id }) => id === invitationId)
    if (invitation === undefined) return { outcome: 'no such invitation' }
    return joinWithin(contextWithin(tx, { actor, now }), tx, { invitation, session })
  })
}

export interface LinkVisit {
  token: string
  /** Null: the browser is not signed in. */
  session: SignedIn | null
  visitor: Visitor
  previousValue: string | null
  /** Shown to other members, for a new user. */
  name: string | null
}

export interface AcceptanceRules {
  sessions: SessionRules
  /** Whether users can prove an address: by mail, or at a provider. */
  canProveAddress: boolean
}

/** Accepts an invitation by its link. Signs the browser in if the address is new. */
export function acceptByLink(
  db: Db,
  { token, session, visitor, previousValue, name }: LinkVisit,
  { rules, now }: { rules: AcceptanceRules; now: Date },
): Promise<Accepted> {
  return db
    .transaction(async (tx): Promise<Accepted> => {
      const invitation = await findLinked(tx, token, now)
      if (invitation === undefined) return { outcome: 'no such invitation' }
      const { email, provesAddress } = invitation
      if (session !== null) {
        const user = await findUserById(tx, session.userId)
        if (user?.email !== email) return { outcome: 'other address' }
        const context = contextWithin(tx, { actor: `user ${user.id}`, now })
        return joinWithin(context, tx, { invitation, session })
      }
      if (!provesAddress && rules.canProveAddress) return { outcome: 'sign in first' }
      const userId = await joiningUser(tx, { email, name, provesAddress, now })
      if (userId === null) return { outcome: 'sign in first' }
      const context = contextWithin(tx, { actor: `user ${userId}`, now })
      const { accountId } = invitation
      const joined = await join(context, tx, { invitation, userId })
      if (joined !== 'joined') throw new Refused(joined)
      const of = { userId, accountId, visitor, previousValue }
      const begun = await beginBrowserSession(tx, of, { rules: rules.sessions, now })
      return { outcome: 'joined', session: begun }
    })
    .catch((error: unknown): Accepted => {
      if (error instanceof Refused) return { outcome: error.outcome }
      throw error
    })
}

/** Rolls back the user that was made for a membership that is refused. */
class Refused extends Error {
  readonly outcome: 'no such invitation' | 'too many members'
  constructor(outcome: Refused['outcome']) {
    super(outcome)
    this.outcome = outcome
  }
}

/** Declines an invitation by its link. Returns false if it is not open. */
export function declineByLink(db: Db, token: string, now: Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    const invitation = await findLinked(tx, token, now)
    return invitation !== undefined && decline(tx, { invitation, actor: theInvited, now })
  })
}

/** Declines an invitation to the own address. Returns false if it is not open. */
export function declineOwnInvitation(
  { db, actor, clock }: ActionContext,
  { userId, invitationId }: { userId: string; invitationId: string },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const now = clock()
    const own = await findInvitationsTo(tx, { userId, now })
    const invitation = own.find(({ id }) => id === invitationId)
    return invitation !== undefined && decline(tx, { invitation, actor, now })
  })
}

function decline(
  tx: Tx,
  { invitation, actor, now }: { invitation: Invitation; actor: string; now: Date },
): Promise<boolean> {
  const { id, accountId } = invitation
  return audited(contextWithin(tx, { actor, now }), 'users.invitation_declined', async () => {
    if (!(await updateAnswer(tx, { id, answer: 'declined', now }))) return unchanged(false)
    return changed(true, { subjects: [id], details: { account: accountId } })
  })
}

async function findLinked(tx: Tx, token: string, now: Date): Promise<Linked | undefined> {
  return tokenForm.test(token) ? findInvitationByLink(tx, sha256(token), now) : undefined
}

/** Returns the user whom a link may sign in, and makes one for a new address. */
async function joiningUser(
  tx: Tx,
  {
    email,
    name,
    provesAddress,
    now,
  }: { email: string; name: string | null; provesAddress: boolean; now: Date },
): Promise<string | null> {
  const id = uuidV7(now)
  const addressProvenAt = provesAddress ? now : null
  if (await insertUser(tx, { id, email, name, createdAt: now, addressProvenAt })) return id
  const user = await findUserByEmail(tx, email)
  if (user === undefined || user.disabledAt !== null || !provesAddress) return null
  // A user without an account cannot sign in first.
  return (await findSignInAccount(tx, user.id)) === undefined ? user.id : null
}

async function joinWithin(
  context: ActionContext,
  tx: Tx,
  { invitation, session }: { invitation: Invitation; session: SignedIn },
): Promise<Accepted> {
  const { userId, sessionId } = session
  const { accountId } = invitation
  const outcome = await join(context, tx, { invitation, userId })
  if (outcome !== 'joined') return { outcome }
  await updateSessionAccount(tx, { sessionId, userId, accountId })
  return { outcome, session: null }
}

function join(
  context: ActionContext,
  tx: Tx,
  { invitation: { id, accountId, role }, userId }: { invitation: Invitation; userId: string },
): Promise<'joined' | 'no such invitation' | 'too many members'> {
  return audited(context, 'users.joined', async (_, now) => {
    await lockMemberships(tx, accountId)
    const members = await findMembers(tx, accountId)
    const isMember = members.some((one) => one.userId === userId)
    if (!isMember && members.length >= membersMax) return unchanged('too many members')
    if (!(await updateAnswer(tx, { id, answer: 'accepted', now })))
      return unchanged('no such invitation')
    await updateLastAccount(tx, { userId, accountId })
    if (isMember) return unchanged('joined')
    await insertMembership(tx, { userId, accountId, role, createdAt: now })
    return changed('joined', { subjects: [userId], details: { account: accountId, role } })
  })
}

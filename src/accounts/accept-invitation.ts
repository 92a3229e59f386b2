/**
 * How the invited person accepts or declines (decision D47). Acceptance makes the
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
import { theInvited } from '../audit/actions.ts'
import { recordAction } from '../audit/record.ts'
import type { Visitor } from '../edge/http/endpoint.ts'
import { rollingBack } from '../operations/rolling-back.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import {
  findInvitationByLink,
  findInvitationsTo,
  type Invitation,
  updateAnswer,
} from './invitation-store.ts'
import { membersMax } from './invitations.ts'
import { updateSessionAccount } from './session-store.ts'
import { type BegunSession, beginBrowserSession, type SessionRules } from './sessions.ts'
import {
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
  db: Queryable,
  token: string,
  now: Date,
): Promise<Linked | undefined> {
  return tokenForm.test(token) ? findInvitationByLink(db, sha256(token), now) : undefined
}

/** Returns an open invitation to the proven address of a user. */
export async function findOwnInvitation(
  db: Queryable,
  { userId, invitationId, now }: { userId: string; invitationId: string; now: Date },
): Promise<Invitation | Refusal<'invitation_not_found'>> {
  const own = await findInvitationsTo(db, { userId, now })
  return own.find(({ id }) => id === invitationId) ?? refuse('invitation_not_found')
}

/** `session` is null if the browser has one. */
export type Accepted =
  | { session: BegunSession | null }
  | Refusal<'invitation_not_found' | 'members_maximum' | 'session_required'>

export interface LinkVisit {
  token: string
  /** The session that accepts. Null: the browser is not signed in. */
  session: { userId: string; sessionId: string } | null
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
  // A refusal rolls back the user that was made for the membership.
  return rollingBack(db, isRefusal).transaction(async (tx): Promise<Accepted> => {
    const invitation = await readInvitation(tx, token, now)
    if (invitation === undefined) return refuse('invitation_not_found')
    const { email, accountId, provesAddress } = invitation
    if (session !== null) {
      const { userId, sessionId } = session
      if ((await findUserById(tx, userId))?.email !== email) return refuse('invitation_not_found')
      const joined = await joinRecorded(tx, { invitation, userId, now })
      if ('refusal' in joined) return joined
      await updateSessionAccount(tx, { sessionId, userId, accountId })
      return { session: null }
    }
    if (!provesAddress && rules.canProveAddress) return refuse('session_required')
    const userId = await joiningUser(tx, { email, name, provesAddress, now })
    if (userId === null) return refuse('session_required')
    const joined = await joinRecorded(tx, { invitation, userId, now })
    if ('refusal' in joined) return joined
    const of = { userId, accountId, visitor, previousValue }
    return { session: await beginBrowserSession(tx, of, { rules: rules.sessions, now }) }
  })
}

function isRefusal(result: unknown): boolean {
  return 'refusal' in (result as object)
}

/** Declines an invitation by its link. Returns false if it is not open. */
export function declineByLink(db: Db, token: string, now: Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    const invitation = await readInvitation(tx, token, now)
    if (invitation === undefined) return false
    const { id, accountId: account } = invitation
    if (!(await updateAnswer(tx, { id, answer: 'declined', now }))) return false
    const entry = { subjects: [id], details: { account }, actor: theInvited }
    await recordAction(tx, { action: 'users.invitation_declined', ...entry }, now)
    return true
  })
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

interface Joining {
  invitation: Invitation
  userId: string
  now: Date
}

type Joined = { isNew: boolean } | Refusal<'invitation_not_found' | 'members_maximum'>

/** Makes the user of an invitation a member. `isNew` is false if the user is one already. */
export async function join(
  tx: Tx,
  { invitation: { id, accountId, role }, userId, now }: Joining,
): Promise<Joined> {
  const members = await lockMemberships(tx, accountId)
  const isMember = members.some((one) => one.userId === userId)
  if (!isMember && members.length >= membersMax) return refuse('members_maximum')
  if (!(await updateAnswer(tx, { id, answer: 'accepted', now })))
    return refuse('invitation_not_found')
  await updateLastAccount(tx, { userId, accountId })
  if (!isMember) await insertMembership(tx, { userId, accountId, role, createdAt: now })
  return { isNew: !isMember }
}

async function joinRecorded(tx: Tx, joining: Joining): Promise<Joined> {
  const joined = await join(tx, joining)
  if ('refusal' in joined || !joined.isNew) return joined
  const { userId, now, invitation } = joining
  const details = { account: invitation.accountId, role: invitation.role }
  const entry = { subjects: [userId], details, actor: `user ${userId}` }
  await recordAction(tx, { action: 'users.joined', ...entry }, now)
  return joined
}

/** The handlers of the user's own sessions, and of the members of the account. */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { type Clock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Handlers } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { firstFault } from '../platform/json/shape-fault.ts'
import type { accountContract } from './contract.ts'
import { parseEmail } from './email.ts'
import { inviteMember, removeMember } from './members.ts'
import {
  memberInvitation,
  type memberInvited,
  type memberList,
  type memberRemoved,
  type sessionList,
  type sessionsEnded,
} from './schema.ts'
import { deleteOwnSession, deleteSessionsOf, findOwnSessions } from './session-store.ts'
import { type SessionRules, sessionTimes } from './sessions.ts'
import { findMembers } from './store.ts'

export interface AccountsOptions {
  db: Db
  clock: Clock
  rules: SessionRules
  /** Whether this service sends mail. */
  sendsMail: boolean
}

const invitationShape = Compile(memberInvitation)

export function accountHandlers({
  db,
  clock,
  rules,
  sendsMail,
}: AccountsOptions): Handlers<typeof accountContract> {
  return {
    async listMembers({ caller }) {
      const members = await findMembers(db, caller.accountId)
      const body: Static<typeof memberList> = {
        schemaVersion: schemaVersion('members'),
        members: members.map(({ userId, email, name, role, createdAt }) => ({
          userId,
          email,
          name,
          role,
          joinedAt: wireTime(createdAt),
        })),
      }
      return { status: 200, body }
    },

    async inviteMember({ caller, body }) {
      if (caller.role !== 'owner') return refuse('owner_required')
      if (!invitationShape.Check(body)) {
        const { field, reason } = firstFault(invitationShape, body)
        return refuse('invalid_field', { message: `${field ?? 'The body'} ${reason}.` })
      }
      const email = parseEmail(body.email)
      if (email === null)
        return refuse('invalid_field', { message: 'email must be a mail address.' })
      const { accountId, userId } = caller
      const context = { db, clock, actor: `user ${userId}` }
      const invitation = { accountId, email, role: body.role, isMailed: sendsMail }
      if ((await inviteMember(context, invitation)).outcome === 'too many members')
        return refuse('members_maximum')
      const invited: Static<typeof memberInvited> = {
        schemaVersion: schemaVersion('member_invited'),
        email,
        mailed: sendsMail,
      }
      return { status: 202, body: invited }
    },

    async removeMember({ caller, path: { userId } }) {
      if (caller.role !== 'owner') return refuse('owner_required')
      const context = { db, clock, actor: `user ${caller.userId}` }
      const removed = await removeMember(context, { accountId: caller.accountId, userId })
      if (removed === 'no such member') return refuse('member_not_found')
      if (removed === 'last owner') return refuse('last_owner')
      const body: Static<typeof memberRemoved> = {
        schemaVersion: schemaVersion('member_removed'),
        userId,
      }
      return { status: 200, body }
    },

    async listSessions({ caller }) {
      const sessions = await findOwnSessions(db, caller.userId, sessionTimes(rules, clock()))
      const body: Static<typeof sessionList> = {
        schemaVersion: schemaVersion('sessions'),
        sessions: sessions.map(({ id, browser, network, createdAt, lastSeenAt, endsAt }) => ({
          id,
          current: id === caller.sessionId,
          browser,
          network,
          createdAt: wireTime(createdAt),
          lastSeenAt: wireTime(lastSeenAt),
          endsAt: wireTime(endsAt),
        })),
      }
      return { status: 200, body }
    },
    async endAllSessions({ caller }) {
      return { status: 200, body: wireEnded(await deleteSessionsOf(db, caller.userId)) }
    },
    async endSession({ caller, path: { sessionId: id } }) {
      return (await deleteOwnSession(db, { id, userId: caller.userId }))
        ? { status: 200, body: wireEnded(1) }
        : refuse('session_not_found')
    },
  }
}

function wireEnded(ended: number): Static<typeof sessionsEnded> {
  return { schemaVersion: schemaVersion('sessions_ended'), ended }
}

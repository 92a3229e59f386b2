/** The endpoints of the user's own sessions, and of the members of the account. */
import {
  type Contract,
  crossOriginResponse,
  sessionBodyResponses,
  sessionResponses,
  smallJsonBody,
} from '../platform/http/contract.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import {
  memberIdPath,
  memberInvitation,
  memberInvited,
  memberList,
  memberRemoved,
  sessionIdPath,
  sessionList,
  sessionsEnded,
} from './schema.ts'

const path = '/api/account/sessions'
const session = {
  area: 'account',
  extension: true,
  policy: { kind: 'session' },
  priority: 'search',
} as const

const exampleList = {
  schemaVersion: schemaVersion('sessions'),
  sessions: [
    {
      id: '019f8a52-4f00-7000-8000-000000000001',
      current: true,
      browser: 'Firefox on Linux',
      network: '192.0.2.0/24',
      createdAt: '2026-05-14T09:00:00Z',
      lastSeenAt: '2026-05-16T14:12:00Z',
      endsAt: '2026-06-13T09:00:00Z',
    },
  ],
}
const exampleEnded = { schemaVersion: schemaVersion('sessions_ended'), ended: 1 }

const membersPath = '/api/account/members'
const exampleMember = '019f8a52-4f00-7000-8000-000000000021'

/** Also 403 to a member who is no owner. */
const ownersOnly = {
  description: 'The request does not come from a page of this service, or the user is no owner.',
  errors: ['cross_origin', 'owner_required'],
} as const

export const accountContract = {
  listMembers: {
    ...session,
    method: 'GET',
    path: membersPath,
    summary: 'List the members of the account',
    description: 'Every member of the account may do this.',
    responses: {
      200: {
        description: 'The members, owners first.',
        schema: memberList,
        example: {
          schemaVersion: schemaVersion('members'),
          members: [
            {
              userId: exampleMember,
              email: 'ada@example.com',
              name: null,
              role: 'owner',
              joinedAt: '2026-05-14T09:00:00Z',
            },
          ],
        },
      },
      ...sessionResponses,
    },
  },
  inviteMember: {
    ...session,
    method: 'POST',
    path: membersPath,
    summary: 'Invite a user to the account',
    description:
      'Only owners of the account may do this. The answer is the same whether or not the user is a member already.',
    body: {
      ...smallJsonBody,
      schema: memberInvitation,
      examples: { member: { email: 'ada@example.com', role: 'member' } },
    },
    responses: {
      202: {
        description: 'The user may sign in to the account.',
        schema: memberInvited,
        example: {
          schemaVersion: schemaVersion('member_invited'),
          email: 'ada@example.com',
          mailed: true,
        },
      },
      ...sessionBodyResponses(smallJsonBody.bytesMax),
      403: ownersOnly,
      409: { description: 'The account has its maximum of members.', errors: ['members_maximum'] },
    },
  },
  removeMember: {
    ...session,
    method: 'DELETE',
    path: `${membersPath}/{userId}`,
    summary: 'Remove a member of the account',
    description:
      'Only owners of the account may do this. The sessions of the user in this account end at once.',
    pathParameters: memberIdPath,
    responses: {
      200: {
        description: 'The user is no member any more.',
        schema: memberRemoved,
        example: { schemaVersion: schemaVersion('member_removed'), userId: exampleMember },
      },
      ...sessionResponses,
      403: ownersOnly,
      404: { description: 'The account has no such member.', errors: ['member_not_found'] },
      409: { description: 'The user is the only owner.', errors: ['last_owner'] },
    },
  },
  listSessions: {
    ...session,
    method: 'GET',
    path,
    summary: 'List the sessions of the signed-in user',
    description: 'A session is a browser in which the user is signed in.',
    responses: {
      200: { description: 'The sessions.', schema: sessionList, example: exampleList },
      ...sessionResponses,
    },
  },
  endAllSessions: {
    ...session,
    method: 'DELETE',
    path,
    summary: 'Sign out everywhere',
    description: 'Ends every session of the signed-in user, this one among them.',
    responses: {
      200: {
        description: 'The sessions have ended.',
        schema: sessionsEnded,
        example: { ...exampleEnded, ended: 3 },
      },
      ...sessionResponses,
      403: crossOriginResponse,
    },
  },
  endSession: {
    ...session,
    method: 'DELETE',
    path: `${path}/{sessionId}`,
    summary: 'End one session of the signed-in user',
    description: 'The session is refused from the next request on.',
    pathParameters: sessionIdPath,
    responses: {
      200: { description: 'The session has ended.', schema: sessionsEnded, example: exampleEnded },
      ...sessionResponses,
      403: crossOriginResponse,
      404: { description: 'The user has no such session.', errors: ['session_not_found'] },
    },
  },
} satisfies Contract

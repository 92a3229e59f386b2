/** The endpoints of the user's own sessions. */
import { type Contract, crossOriginResponse, sessionResponses } from '../platform/http/contract.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { sessionIdPath, sessionList, sessionsEnded } from './schema.ts'

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

export const accountContract = {
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

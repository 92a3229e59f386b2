/** Routes that list and end the sessions of the signed-in user. */
import { type Static, Type } from 'typebox'
import { type Clock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { sessionOf } from '../platform/http/callers.ts'
import { crossOriginResponse, sessionResponses } from '../platform/http/contract.ts'
import { type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { sessionList, sessionsEnded } from './schema.ts'
import {
  deleteOwnSession,
  deleteSessionsOf,
  findOwnSessions,
  type OwnSession,
} from './session-store.ts'
import { type SessionRules, sessionTimes } from './sessions.ts'

export interface AccountsOptions {
  db: Db
  clock: Clock
  rules: SessionRules
}

const path = '/api/account/sessions'

const common = {
  area: 'account',
  extension: true,
  policy: { kind: 'session' },
  priority: 'search',
} as const

export function accountEndpoints({ db, clock, rules }: AccountsOptions): Endpoint[] {
  return [
    endpoint({
      ...common,
      operationId: 'listSessions',
      method: 'GET',
      path,
      summary: 'List the sessions of the signed-in user',
      responses: {
        200: { description: 'The sessions.', schema: sessionList, example: exampleList },
        ...sessionResponses,
      },
      async answer({ caller }) {
        const { sessionId, userId } = sessionOf(caller)
        const sessions = await findOwnSessions(db, userId, sessionTimes(rules, clock()))
        return { status: 200, body: wireList(sessions, sessionId) }
      },
    }),
    endpoint({
      ...common,
      operationId: 'endAllSessions',
      method: 'DELETE',
      path,
      summary: 'Sign out everywhere',
      description: 'Ends every session of the signed-in user, this one among them.',
      responses: {
        200: {
          description: 'The sessions have ended.',
          schema: sessionsEnded,
          example: wireEnded(3),
        },
        ...sessionResponses,
        403: crossOriginResponse,
      },
      async answer({ caller }) {
        const { userId } = sessionOf(caller)
        return { status: 200, body: wireEnded(await deleteSessionsOf(db, userId)) }
      },
    }),
    endpoint({
      ...common,
      operationId: 'endSession',
      method: 'DELETE',
      path: `${path}/{sessionId}`,
      summary: 'End one session of the signed-in user',
      pathParameters: Type.Object({
        sessionId: Type.String({
          pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
          description: 'A UUID in lower case.',
        }),
      }),
      responses: {
        200: {
          description: 'The session has ended.',
          schema: sessionsEnded,
          example: wireEnded(1),
        },
        ...sessionResponses,
        403: crossOriginResponse,
        404: {
          description: 'The user has no such session.',
          errors: ['session_not_found'],
        },
      },
      async answer({ caller, path: { sessionId: id } }) {
        const { userId } = sessionOf(caller)
        return (await deleteOwnSession(db, { id, userId }))
          ? { status: 200, body: wireEnded(1) }
          : refuse('session_not_found')
      },
    }),
  ]
}

function wireList(sessions: readonly OwnSession[], currentId: string): Static<typeof sessionList> {
  return {
    schemaVersion: schemaVersion('sessions'),
    sessions: sessions.map(({ id, browser, network, createdAt, lastSeenAt, endsAt }) => ({
      id,
      current: id === currentId,
      browser,
      network,
      createdAt: wireTime(createdAt),
      lastSeenAt: wireTime(lastSeenAt),
      endsAt: wireTime(endsAt),
    })),
  }
}

function wireEnded(ended: number): Static<typeof sessionsEnded> {
  return { schemaVersion: schemaVersion('sessions_ended'), ended }
}

const exampleId = '019f8a52-4f00-7000-8000-000000000001'
const exampleList = wireList(
  [
    {
      id: exampleId,
      browser: 'Firefox on Linux',
      network: '192.0.2.0/24',
      createdAt: new Date('2026-05-14T09:00:00Z'),
      lastSeenAt: new Date('2026-05-16T14:12:00Z'),
      endsAt: new Date('2026-06-13T09:00:00Z'),
    },
  ],
  exampleId,
)

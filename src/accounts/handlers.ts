/** The handlers of the user's own sessions. */
import type { Static } from 'typebox'
import { type Clock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Handlers } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import type { accountContract } from './contract.ts'
import type { sessionList, sessionsEnded } from './schema.ts'
import { deleteOwnSession, deleteSessionsOf, findOwnSessions } from './session-store.ts'
import { type SessionRules, sessionTimes } from './sessions.ts'

export interface AccountsOptions {
  db: Db
  clock: Clock
  rules: SessionRules
}

export function accountHandlers({
  db,
  clock,
  rules,
}: AccountsOptions): Handlers<typeof accountContract> {
  return {
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

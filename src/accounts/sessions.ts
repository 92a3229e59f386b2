/**
 * Sessions (decision D48). Every request is decided by the database, so a session that was ended, a member who was removed and a user
 * who was disabled are rejected by every node on the next request. The sessions of one turn of the event loop are looked up together.
 *
 * Tables: reads `sessions`, `memberships` and `users`; updates `sessions.last_seen_at`, which is kept in memory and written every half
 * minute by `recordLastSeen`. A crash loses at most that half minute.
 */
import { batched } from '../platform/batching.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import type { AuthenticateSession } from '../platform/http/admission.ts'
import type { SessionCaller } from '../platform/http/callers.ts'
import {
  newSessionValue,
  sessionCookieName,
  sessionDigest,
  sessionValueOf,
} from './session-cookie.ts'
import {
  findValidSessions,
  insertSession,
  type SessionTimes,
  updateLastSeen,
  type ValidSession,
} from './session-store.ts'

export interface SessionRules {
  /** A session that is not seen for so long ends. */
  idleDays: number
  /** A session ends after so long, however often it is seen. */
  days: number
}

export interface Sessions {
  authenticate: AuthenticateSession
  /** Writes down when sessions were seen since the last time. */
  recordLastSeen(): Promise<void>
}

export interface SessionsOptions {
  db: Db
  clock: Clock
  publicUrl: string
  rules: SessionRules
}

const dayMs = 86_400_000
const staleAfterMs = 60_000

export function openSessions({ db, clock, publicUrl, rules }: SessionsOptions): Sessions {
  const cookieName = sessionCookieName(publicUrl)
  let lastSeen = new Map<string, Date>()
  const lookUp = batched<string, ValidSession | undefined>({
    name: 'sessions',
    run: async (digests) => {
      const rows = await findValidSessions(db, [...new Set(digests)], sessionTimes(rules, clock()))
      const found = new Map(rows.map((session) => [session.digest, session]))
      return digests.map((digest) => found.get(digest))
    },
    deadline: 'databaseAnswer',
  })

  return {
    async authenticate(cookies) {
      const value = sessionValueOf(cookies, cookieName)
      if (value === null) return null
      const found = await lookUp(sessionDigest(value).toString('hex'))
      if (found === undefined) return null
      if (found.isStale) lastSeen.set(found.id, clock())
      return sessionCaller(found)
    },

    async recordLastSeen() {
      if (lastSeen.size === 0) return
      const recorded = lastSeen
      lastSeen = new Map()
      try {
        await updateLastSeen(db, recorded)
      } catch (error) {
        lastSeen = new Map([...recorded, ...lastSeen])
        throw error
      }
    },
  }
}

export function sessionTimes(
  { idleDays }: Pick<SessionRules, 'idleDays'>,
  now: Date,
): SessionTimes {
  return {
    now,
    idleSince: new Date(now.getTime() - idleDays * dayMs),
    staleBefore: new Date(now.getTime() - staleAfterMs),
  }
}

function sessionCaller({ id, userId, accountId, role }: ValidSession): SessionCaller {
  return { kind: 'session', sessionId: id, userId, accountId, role }
}

export interface BegunSession {
  id: string
  /** For the cookie; it is stored nowhere. */
  value: string
}

/** Begins a session with a value that no one has seen before: a value that the browser sent is never adopted. */
export async function beginSession(
  tx: Tx,
  of: { userId: string; accountId: string; browser: string; network: string },
  { rules, now }: { rules: SessionRules; now: Date },
): Promise<BegunSession> {
  const value = newSessionValue()
  const id = uuidV7(now)
  const endsAt = new Date(now.getTime() + rules.days * dayMs)
  await insertSession(tx, { ...of, id, digest: sessionDigest(value), createdAt: now, endsAt })
  return { id, value }
}

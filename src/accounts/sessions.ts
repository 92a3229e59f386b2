/**
 * Sessions (decision D48). Each request looks its session up in the database. So every node rejects
 * an ended session, a removed member and a disabled user on the next request. Lookups of one turn
 * of the event loop share one statement.
 *
 * Tables: reads `sessions`, `memberships`, `users` and `operators`; inserts `sessions` and
 * `user_networks`; updates `sessions.last_seen_at`. New values of `last_seen_at` are kept in memory,
 * and `recordLastSeen` writes them every half minute.
 * Crash: at most the last half minute of `last_seen_at` is lost.
 */
import type { AuthenticateSession } from '../edge/http/admission.ts'
import type { SessionCaller } from '../edge/http/callers.ts'
import type { Visitor } from '../edge/http/endpoint.ts'
import { batched } from '../platform/batching.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { coarseNetwork } from '../platform/networks.ts'
import { newSessionValue, sessionCookieName, sessionDigest, sessionValueOf } from './cookies.ts'
import { insertUserNetwork } from './mail-budget.ts'
import {
  deleteSessionByDigest,
  findValidSessions,
  insertSession,
  type SessionTimes,
  updateLastSeen,
  type ValidSession,
} from './session-store.ts'

export interface SessionRules {
  /** A session ends if it is not used for this long. */
  idleDays: number
  /** A session ends this long after sign-in, even if it is used. */
  days: number
}

export interface Sessions {
  authenticate: AuthenticateSession
  /** Writes when sessions were seen since the last call. */
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

function sessionCaller(found: ValidSession): SessionCaller {
  const { id: sessionId, userId, accountId, role, operatorRole, signedInAt } = found
  return { kind: 'session', sessionId, userId, accountId, role, operatorRole, signedInAt }
}

export interface BegunSession {
  id: string
  /** Value of the cookie. The database holds only its digest. */
  value: string
}

/**
 * Begins a session in a browser. The session that the browser had before ends, and its value is
 * never adopted.
 */
export async function beginBrowserSession(
  tx: Tx,
  {
    userId,
    accountId,
    visitor,
    previousValue,
    authenticatedAt = null,
  }: {
    userId: string
    accountId: string
    visitor: Visitor
    previousValue: string | null
    /** When the provider asked the user, if that was before. */
    authenticatedAt?: Date | null
  },
  times: { rules: SessionRules; now: Date },
): Promise<BegunSession> {
  if (previousValue !== null) await deleteSessionByDigest(tx, sessionDigest(previousValue))
  const browser = browserName(visitor.userAgent)
  const network = coarseNetwork(visitor.network.address)
  if (visitor.network.address !== undefined)
    await insertUserNetwork(tx, { userId, network, now: times.now })
  return beginSession(tx, { userId, accountId, browser, network, authenticatedAt }, times)
}

/** Begins a session with a new random value. A value that the browser sent is never adopted. */
export async function beginSession(
  tx: Tx,
  {
    authenticatedAt = null,
    ...of
  }: {
    userId: string
    accountId: string
    browser: string
    network: string
    authenticatedAt?: Date | null
  },
  { rules, now }: { rules: SessionRules; now: Date },
): Promise<BegunSession> {
  const value = newSessionValue()
  const id = uuidV7(now)
  const endsAt = new Date(now.getTime() + rules.days * dayMs)
  const digest = sessionDigest(value)
  await insertSession(tx, { ...of, id, digest, createdAt: now, authenticatedAt, endsAt })
  return { id, value }
}

const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chromium/', 'Chromium'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const

const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

/** Returns a text such as `Firefox on Linux`. It contains no part of the header. */
function browserName(userAgent: string | undefined): string {
  const named = (table: readonly (readonly [string, string])[]) =>
    table.find(([mark]) => userAgent?.includes(mark))?.[1]
  const browser = named(browsers) ?? 'Unknown browser'
  const system = named(systems)
  return system === undefined ? browser : `${browser} on ${system}`
}

/** All SQL of sessions. */
import type { SessionCaller } from '../edge/http/callers.ts'
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { bytesArray } from '../platform/db/sql-arrays.ts'

export interface NewSession {
  id: string
  digest: Buffer
  userId: string
  accountId: string
  createdAt: Date
  /** When the user proved who they are, if that was before the session. */
  authenticatedAt: Date | null
  endsAt: Date
  browser: string
  network: string
}

export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await tx.run(sql`
    insert into sessions (id, digest, user_id, account_id, created_at, authenticated_at, last_seen_at, ends_at,
      browser, network)
    values (${session.id}, ${session.digest}, ${session.userId}, ${session.accountId}, ${session.createdAt},
      ${session.authenticatedAt}, ${session.createdAt}, ${session.endsAt}, ${session.browser}, ${session.network})`)
}

export interface ValidSession extends Omit<SessionCaller, 'kind' | 'sessionId'> {
  /** Lowercase hex. */
  digest: string
  id: string
  /** Whether `last_seen_at` must be updated. */
  isStale: boolean
}

/** A valid session was seen after `idleSince`. `last_seen_at` is stale if before `staleBefore`. */
export interface SessionTimes {
  now: Date
  idleSince: Date
  staleBefore: Date
}

/**
 * Returns the valid sessions of these digests (lowercase hex), with one probe of four indexes
 * each.
 */
export function findValidSessions(
  db: Queryable,
  digests: readonly string[],
  { now, idleSince, staleBefore }: SessionTimes,
): Promise<ValidSession[]> {
  return db.rows<ValidSession>(sql`
    select encode(s.digest, 'hex') as digest, s.id, s.user_id as "userId", s.account_id as "accountId", m.role,
      o.role as "operatorRole", least(s.authenticated_at, s.created_at) as "signedInAt", s.last_seen_at < ${staleBefore} as "isStale"
    from unnest(${bytesArray(digests)}::bytea[]) as presented(digest)
    join sessions s on s.digest = presented.digest
    join memberships m on m.user_id = s.user_id and m.account_id = s.account_id
    join users u on u.id = s.user_id
    left join operators o on o.user_id = s.user_id
    where s.ends_at > ${now} and s.last_seen_at > ${idleSince} and u.disabled_at is null`)
}

/**
 * Updates `last_seen_at`. Never moves it back, and writes it at most once a minute for each
 * session, also if several nodes have seen the session.
 */
export async function updateLastSeen(
  db: Queryable,
  lastSeen: ReadonlyMap<string, Date>,
): Promise<void> {
  const ids = [...lastSeen.keys()].sort()
  const times = ids.map((id) => lastSeen.get(id))
  await db.run(sql`
    update sessions s set last_seen_at = seen.at
    from unnest(${ids}::uuid[], ${times}::timestamptz[]) as seen(id, at)
    where s.id = seen.id and s.last_seen_at <= seen.at - interval '1 minute'`)
}

/**
 * Moves a session to another account of its user, from the next request on. The next sign-in opens
 * that account. Returns false if the user is no member of it. The statement checks the membership
 * that it uses, and the foreign key keeps a membership from ending before the session is moved.
 */
export async function updateSessionAccount(
  db: Queryable,
  { sessionId, userId, accountId }: { sessionId: string; userId: string; accountId: string },
): Promise<boolean> {
  const count = await db.run(sql`
    with moved as (
      update sessions s set account_id = m.account_id from memberships m
      where s.id = ${sessionId} and s.user_id = ${userId}
        and m.user_id = s.user_id and m.account_id = ${accountId}
      returning s.user_id, s.account_id)
    update users u set last_account_id = moved.account_id from moved where u.id = moved.user_id`)
  return count === 1
}

/** Returns the ids of those sessions that may still be used, each in the account given. */
export async function findValidSessionIds(
  db: Queryable,
  sessions: readonly { sessionId: string; accountId: string }[],
  { now, idleSince }: Pick<SessionTimes, 'now' | 'idleSince'>,
): Promise<Set<string>> {
  const rows = await db.rows<{ id: string }>(sql`
    select s.id from unnest(${sessions.map(({ sessionId }) => sessionId)}::uuid[],
      ${sessions.map(({ accountId }) => accountId)}::uuid[]) as asked(id, account_id)
    join sessions s on s.id = asked.id and s.account_id = asked.account_id
    join memberships m on m.user_id = s.user_id and m.account_id = s.account_id
    join users u on u.id = s.user_id
    where s.ends_at > ${now} and s.last_seen_at > ${idleSince} and u.disabled_at is null`)
  return new Set(rows.map(({ id }) => id))
}

export interface OwnSession
  extends Pick<NewSession, 'id' | 'createdAt' | 'endsAt' | 'browser' | 'network'> {
  lastSeenAt: Date
}

/** Returns the valid sessions of a user, the last seen first. */
export function findOwnSessions(
  db: Queryable,
  userId: string,
  { now, idleSince }: Pick<SessionTimes, 'now' | 'idleSince'>,
): Promise<OwnSession[]> {
  return db.rows<OwnSession>(sql`
    select s.id, s.created_at as "createdAt", s.last_seen_at as "lastSeenAt",
      s.ends_at as "endsAt", s.browser, s.network
    from sessions s
    where s.user_id = ${userId} and s.ends_at > ${now} and s.last_seen_at > ${idleSince}
    order by s.last_seen_at desc, s.id`)
}

/** Returns how many valid sessions a user has in an account. */
export async function countSessionsIn(
  db: Queryable,
  { userId, accountId }: { userId: string; accountId: string },
  { now, idleSince }: Pick<SessionTimes, 'now' | 'idleSince'>,
): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*)::int as count from sessions
    where user_id = ${userId} and account_id = ${accountId}
      and ends_at > ${now} and last_seen_at > ${idleSince}`)
  return row?.count ?? 0
}

/** Ends a session by its cookie, on sign-out or on a new sign-in. */
export async function deleteSessionByDigest(db: Queryable, digest: Buffer): Promise<void> {
  await db.run(sql`delete from sessions where digest = ${digest}`)
}

/**
 * Ends all sessions of the user whose valid session has this digest. Looks the session up in the
 * same statement, so it also decides for a session that the request could not read before.
 */
export async function deleteSessionsBeside(
  db: Queryable,
  digest: Buffer,
  { now, idleSince }: Pick<SessionTimes, 'now' | 'idleSince'>,
): Promise<void> {
  await db.run(sql`
    delete from sessions where user_id = (
      select user_id from sessions
      where digest = ${digest} and ends_at > ${now} and last_seen_at > ${idleSince})`)
}

/** Deletes a session of this user. Returns false if the user has no such session. */
export async function deleteOwnSession(
  db: Queryable,
  { id, userId }: { id: string; userId: string },
): Promise<boolean> {
  return (await db.run(sql`delete from sessions where id = ${id} and user_id = ${userId}`)) === 1
}

/** Ends all sessions of a user. Returns how many there were. */
export function deleteSessionsOf(db: Queryable, userId: string): Promise<number> {
  return db.run(sql`delete from sessions where user_id = ${userId}`)
}

/** Deletes sessions that can never be valid again. */
export function deleteEndedSessions(
  db: Queryable,
  { now, idleSince }: Pick<SessionTimes, 'now' | 'idleSince'>,
): Promise<number> {
  return db.run(sql`delete from sessions where ends_at <= ${now} or last_seen_at <= ${idleSince}`)
}

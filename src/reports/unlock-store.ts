/** All SQL of agent_reporting and agent_unlock_reviews. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { ReportingState } from './store.ts'

/** Makes the changes of one account take turns until the transaction ends. */
export async function lockAccount(tx: Tx, userId: string): Promise<void> {
  await tx.run(
    sql`select pg_advisory_xact_lock(hashtextextended('agent reporting of ' || ${userId}::text, 0))`,
  )
}

/** Returns null if the operator has neither locked nor unlocked the account. */
export async function findState(db: Queryable, userId: string): Promise<ReportingState | null> {
  const [row] = await db.rows<{ state: ReportingState }>(
    sql`select state from agent_reporting where user_id = ${userId}`,
  )
  return row?.state ?? null
}

export async function setState(
  tx: Tx,
  userId: string,
  { state, at }: { state: ReportingState; at: Date },
): Promise<void> {
  await tx.run(sql`
    insert into agent_reporting (user_id, state, changed_at) values (${userId}, ${state}, ${at})
    on conflict (user_id) do update set state = excluded.state, changed_at = excluded.changed_at`)
}

export interface UnlockReview {
  id: string
  userId: string
  requestedAt: Date
  /** Text of the owner. */
  note: string | null
}

export async function findOpenReview(
  db: Queryable,
  userId: string,
): Promise<UnlockReview | undefined> {
  const [row] = await db.rows<UnlockReview>(sql`
    select id, user_id as "userId", requested_at as "requestedAt", note from agent_unlock_reviews
    where user_id = ${userId} and decided_at is null`)
  return row
}

/** Returns the open requests after the request `after`, oldest first: an id begins with its time. */
export function findOpenReviews(
  db: Queryable,
  { after, limit }: { after: string | null; limit: number },
): Promise<UnlockReview[]> {
  return db.rows<UnlockReview>(sql`
    select id, user_id as "userId", requested_at as "requestedAt", note from agent_unlock_reviews
    where decided_at is null and (${after}::uuid is null or id > ${after}::uuid)
    order by id limit ${limit}`)
}

export async function insertReview(
  tx: Tx,
  { id, userId, requestedAt, note }: UnlockReview,
): Promise<void> {
  await tx.run(sql`
    insert into agent_unlock_reviews (id, user_id, requested_at, note)
    values (${id}, ${userId}, ${requestedAt}, ${note})`)
}

/** Decides the open request of the account. Returns false if there is none. */
export async function closeReview(
  tx: Tx,
  userId: string,
  { decision, at }: { decision: 'approved' | 'declined'; at: Date },
): Promise<boolean> {
  const count = await tx.run(sql`
    update agent_unlock_reviews set decided_at = ${at}, decision = ${decision}
    where user_id = ${userId} and decided_at is null`)
  return count > 0
}

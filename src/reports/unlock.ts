/**
 * Locks and unlocks agent reporting for an account (decision D43). By default an account may
 * report, and the operator locks an account that abuses it. A member of a locked account may
 * request a review, one at a time; the operator approves or declines it.
 *
 * Writes agent_reporting and agent_unlock_reviews. A decision applies to every report that starts
 * after its commit.
 */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import type { ReportingState } from './store.ts'

interface ReviewInput {
  userId: string
  /** State of an account that the operator has neither locked nor unlocked. */
  defaultState: ReportingState
  note?: string | null
  now: Date
}

/** Requests a review of the lock, or returns the one that is open already. */
export async function requestUnlockReview(
  tx: Tx,
  { userId, defaultState, note = null, now }: ReviewInput,
): Promise<{ review: UnlockReview; isNew: boolean } | Refusal<'agent_reporting_unlocked'>> {
  await lockAccount(tx, userId)
  const state = (await findState(tx, userId)) ?? defaultState
  if (state === 'unlocked') return refuse('agent_reporting_unlocked')
  const open = await findOpenReview(tx, userId)
  if (open !== undefined) return { review: open, isNew: false }
  const review = { id: uuidV7(now), userId, requestedAt: now, note }
  await insertReview(tx, review)
  return { review, isNew: true }
}

/** Lets an account report. If it has requested a review, the review is approved. */
export async function unlockReporting(
  tx: Tx,
  userId: string,
  now: Date,
): Promise<{ changed: boolean; reviewed: boolean }> {
  await lockAccount(tx, userId)
  const wasLocked = await moveTo(tx, userId, { state: 'unlocked', at: now })
  const reviewed = await closeReview(tx, userId, { decision: 'approved', at: now })
  return { changed: wasLocked || reviewed, reviewed }
}

/**
 * Declines the open review of an account. The account stays locked and may request another review.
 * Returns false if no review was open.
 */
export async function declineUnlockReview(tx: Tx, userId: string, now: Date): Promise<boolean> {
  await lockAccount(tx, userId)
  return closeReview(tx, userId, { decision: 'declined', at: now })
}

/**
 * Refuses further reports of an account. Its earlier reports stay. Returns false if the operator
 * had locked it before.
 */
export async function lockReporting(tx: Tx, userId: string, now: Date): Promise<boolean> {
  await lockAccount(tx, userId)
  return moveTo(tx, userId, { state: 'locked', at: now })
}

async function moveTo(
  tx: Tx,
  userId: string,
  decided: { state: ReportingState; at: Date },
): Promise<boolean> {
  if ((await findState(tx, userId)) === decided.state) return false
  await setState(tx, userId, decided)
  return true
}

/** Makes the changes of one account take turns until the transaction ends. */
async function lockAccount(tx: Tx, userId: string): Promise<void> {
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

async function setState(
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

/**
 * Returns the open requests after the request `after`, oldest first: an id begins with its time.
 */
export function findOpenReviews(
  db: Queryable,
  { after, limit }: { after: string | null; limit: number },
): Promise<UnlockReview[]> {
  return db.rows<UnlockReview>(sql`
    select id, user_id as "userId", requested_at as "requestedAt", note from agent_unlock_reviews
    where decided_at is null and (${after}::uuid is null or id > ${after}::uuid)
    order by id limit ${limit}`)
}

async function insertReview(
  tx: Tx,
  { id, userId, requestedAt, note }: UnlockReview,
): Promise<void> {
  await tx.run(sql`
    insert into agent_unlock_reviews (id, user_id, requested_at, note)
    values (${id}, ${userId}, ${requestedAt}, ${note})`)
}

/** Decides the open request of the account. Returns false if there is none. */
async function closeReview(
  tx: Tx,
  userId: string,
  { decision, at }: { decision: 'approved' | 'declined'; at: Date },
): Promise<boolean> {
  const count = await tx.run(sql`
    update agent_unlock_reviews set decided_at = ${at}, decision = ${decision}
    where user_id = ${userId} and decided_at is null`)
  return count > 0
}

/**
 * Locks and unlocks agent reporting for an account (decision D43). By default an account may
 * report, and the operator locks an account that abuses it. A member of a locked account may
 * request a review, one at a time; the operator approves or declines it.
 *
 * Writes agent_reporting and agent_unlock_reviews. A decision applies to every report that starts
 * after its commit.
 */
import type { Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import type { ReportingState } from './store.ts'
import {
  closeReview,
  findOpenReview,
  findState,
  insertReview,
  lockAccount,
  setState,
  type UnlockReview,
} from './unlock-store.ts'

export interface ReviewInput {
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

/**
 * Locks and unlocks agent reporting for an account (decision D43). By default an account may
 * report, and the operator locks an account that abuses it. A member of a locked account may
 * request a review, one at a time; the operator approves or declines it.
 *
 * Writes agent_reporting and agent_unlock_reviews. A decision applies to every report that starts
 * after its commit.
 */
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
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
}

export type ReviewOutcome =
  | { outcome: 'requested' | 'open_already'; review: UnlockReview }
  | { outcome: 'unlocked_already' }

/** Requests a review of the lock, for a member of the account. */
export function requestUnlockReview(
  context: ActionContext,
  { userId, defaultState, note = null }: ReviewInput,
): Promise<ReviewOutcome> {
  return audited(context, 'agent_reporting.review_requested', async (tx, now) => {
    await lockAccount(tx, userId)
    const state = (await findState(tx, userId)) ?? defaultState
    if (state === 'unlocked') return unchanged({ outcome: 'unlocked_already' })
    const open = await findOpenReview(tx, userId)
    if (open !== undefined) return unchanged({ outcome: 'open_already', review: open })
    const review = { id: uuidV7(now), userId, requestedAt: now, note }
    await insertReview(tx, review)
    return changed({ outcome: 'requested', review }, { subjects: [userId] })
  })
}

/**
 * Lets an account report. If its owner has requested a review, the review is approved. Returns
 * whether one was open.
 */
export function unlockReporting(
  context: ActionContext,
  userId: string,
): Promise<{ reviewed: boolean }> {
  return audited(context, 'agent_reporting.unlocked', async (tx, now) => {
    await lockAccount(tx, userId)
    await setState(tx, userId, { state: 'unlocked', at: now })
    const reviewed = await closeReview(tx, userId, { decision: 'approved', at: now })
    return changed({ reviewed }, { subjects: [userId], details: { reviewed } })
  })
}

/**
 * Declines the open review of an account. The account stays locked and may request another review.
 * Returns false if no review was open.
 */
export function declineUnlockReview(context: ActionContext, userId: string): Promise<boolean> {
  return audited(context, 'agent_reporting.declined', async (tx, now) => {
    await lockAccount(tx, userId)
    const wasOpen = await closeReview(tx, userId, { decision: 'declined', at: now })
    return wasOpen ? changed(true, { subjects: [userId] }) : unchanged(false)
  })
}

/** Refuses further reports of an account. Its earlier reports stay. */
export function lockReporting(context: ActionContext, userId: string): Promise<void> {
  return audited(context, 'agent_reporting.locked', async (tx, now) => {
    await lockAccount(tx, userId)
    await setState(tx, userId, { state: 'locked', at: now })
    return changed(undefined, { subjects: [userId] })
  })
}

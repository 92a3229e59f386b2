/**
 * Locks and unlocks agent reporting for an account (decision D43). An account may report from the start; the operator locks an account
 * that abuses it. The owner of a locked account may request a review, one open at a time; the operator approves or declines it.
 *
 * Tables: writes `agent_reporting` and `agent_unlock_reviews`. A decision applies to every report that begins after its commit.
 */
import type { Db, Tx } from '../platform/db/db.ts'
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

export interface Asking {
  userId: string
  /** Of accounts about which the operator has said nothing. */
  stateUnlessSet: ReportingState
  note?: string | null
  now: Date
}

export type Asked =
  | { outcome: 'requested' | 'open_already'; review: UnlockReview }
  | { outcome: 'unlocked_already' }

/** The owner asks the operator to unlock the account. */
export function requestUnlockReview(
  db: Db,
  { userId, stateUnlessSet, note = null, now }: Asking,
): Promise<Asked> {
  return db.transaction(async (tx) => {
    await lockAccount(tx, userId)
    const state = (await findState(tx, userId)) ?? stateUnlessSet
    if (state === 'unlocked') return { outcome: 'unlocked_already' }
    const open = await findOpenReview(tx, userId)
    if (open !== undefined) return { outcome: 'open_already', review: open }
    const review = { id: uuidV7(now), userId, requestedAt: now, note }
    await insertReview(tx, review)
    return { outcome: 'requested', review }
  })
}

export interface Deciding {
  userId: string
  now: Date
}

/** The operator's word: the account may report. Approves its request, if it has one; says whether it had. */
export async function unlockReporting(
  tx: Tx,
  { userId, now }: Deciding,
): Promise<{ reviewed: boolean }> {
  await lockAccount(tx, userId)
  await setState(tx, userId, { state: 'unlocked', at: now })
  return { reviewed: await closeReview(tx, userId, { decision: 'approved', at: now }) }
}

/** The operator's word: not now. The account stays as it is, and may ask again. False where it has not asked. */
export async function declineUnlockReview(tx: Tx, { userId, now }: Deciding): Promise<boolean> {
  await lockAccount(tx, userId)
  return closeReview(tx, userId, { decision: 'declined', at: now })
}

/** The operator's word: no further report of this account. What it has reported stays. */
export async function lockReporting(tx: Tx, { userId, now }: Deciding): Promise<void> {
  await lockAccount(tx, userId)
  await setState(tx, userId, { state: 'locked', at: now })
}

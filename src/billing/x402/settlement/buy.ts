/** The steps of a purchase (`purchase.ts`) from the hold to the answer. */
import type { Answer } from '../../../edge/http/endpoint.ts'
import type { Db } from '../../../platform/db/db.ts'
import { withDeadline } from '../../../platform/deadlines.ts'
import { refuse } from '../../../platform/errors.ts'
import type { SignedPayment } from '../protocol/payload.ts'
import { type PaymentReason, usedReason } from '../protocol/reasons.ts'
import type { Terms } from '../protocol/terms.ts'
import type { Verification } from './facilitator.ts'
import { isLedgerAlone, resolvePayment, type SettlementContext } from './resolve.ts'
import {
  failPayment,
  type Hold,
  holdPayment,
  type Lease,
  markSettled,
  markUnknown,
  type NewPayment,
  releasePayment,
} from './store.ts'

export interface Order {
  payment: SignedPayment
  terms: Terms
  /** Whether the payer's signature is proved. If not, only a facilitator can check it. */
  isProved: boolean
  /**
   * Most likely no other request works on this payment, so verification and reading may begin
   * before it is held.
   */
  mayBeginEarly: boolean
  /** Names the purchase, for any number of signatures. */
  idempotencyKey: string | null
  /** Returns the facilitator's verdict, which is asked for once. */
  verification(): Promise<Verification>
  /**
   * Returns the purchased answer, or the refusal. It may be called more than once and must change
   * nothing.
   */
  read(): Promise<Answer>
  /** Returns whether the caller still waits. */
  isAwaited(): boolean
  /**
   * Called when the payment may have been sent: from then on only the same payment may be repeated.
   */
  onSent(): void
}

export type Purchase =
  /**
   * Paid once, now or before. `answer` may differ from 200 if the purchased thing no longer exists.
   */
  | { result: 'paid'; transaction: string; answer: Answer }
  /** Not charged, because the answer is not 200. */
  | { result: 'unsold'; answer: Answer }
  | { result: 'refused'; reason: PaymentReason }
  | { result: 'key reused' }
  | { result: 'facilitator unavailable' }
  /** The payment may have been made: only the same payment may be repeated. */
  | { result: 'pending' }

/** A hold on a payment, exclusive until the lease ends. */
export interface Claim {
  row: NewPayment
  lease: Lease
}

type Bought = Purchase | 'wait' | 'taken' | 'duplicate'

/**
 * Holds the payment, verifies it and reads the answer, then settles. `wait`: another request has
 * taken the payment over. `taken`: another request was first with it. `duplicate`: another payment
 * of the same purchase was first.
 */
export async function buy(context: SettlementContext, order: Order, claim: Claim): Promise<Bought> {
  const offer = await offerUnder(context, order, claim)
  return 'ended' in offer
    ? offer.ended
    : settle(context, order, { id: claim.row.id, answer: offer.ready })
}

type Offer = { ready: Answer } | { ended: Bought }

/**
 * Releases the hold if the purchase ends before the payment is sent, also a hold that is written
 * later.
 */
async function offerUnder(context: SettlementContext, order: Order, claim: Claim): Promise<Offer> {
  const { db, dbWithoutDeadline, clock, onTrouble } = context
  const { id } = claim.row
  const { leaseUntil } = claim.lease
  const holding = holdPayment(dbWithoutDeadline, claim.row, claim.lease)
  const release = (on: Db, reason: PaymentReason | null) =>
    releasePayment(on, id, { leaseUntil, reason, now: clock(), durably: isLedgerAlone(context) })
  const releaseLater = async (): Promise<void> => {
    await holding
    await release(dbWithoutDeadline, null).catch((error: unknown) =>
      onTrouble('a payment that was not sent is still held', { payment: id, why: String(error) }),
    )
  }
  try {
    const offer = await untilSettling(context, order, { claim, holding })
    if ('ready' in offer) return offer
    const { ended } = offer
    if (ended === 'taken' || ended === 'duplicate') return offer
    const isRefused = typeof ended === 'object' && ended.result === 'refused'
    await release(db, isRefused ? ended.reason : null)
    return offer
  } catch (error) {
    const released = releaseLater()
    context.meanwhile(released)
    // Waits for the release, so that an immediate retry finds the payment free.
    await withDeadline(released, 'databaseAnswer').catch(() => undefined)
    throw error
  }
}

/** Returns `ready` if the answer is 200 and the row says that the payment may be sent. */
async function untilSettling(
  context: SettlementContext,
  order: Order,
  { claim, holding }: { claim: Claim; holding: Promise<Hold> },
): Promise<Offer> {
  const { clock } = context
  const offered = order.mayBeginEarly ? offerOf(order) : undefined
  // Only the first failure is reported.
  offered?.catch(() => {})
  const hold = await withDeadline(holding, 'databaseAnswer')
  if (hold === 'taken') return { ended: 'taken' }
  const [verified, read] = await (offered ?? offerOf(order))
  const refusal = refusalOf(context, verified)
  if (refusal !== null) {
    const mayBePaid = hold === 'held' && isUsed(refusal)
    const isSimulation = verified.result === 'refused' && verified.isSimulation === true
    return { ended: mayBePaid ? await usedBy(context, order, { claim, isSimulation }) : refusal }
  }
  if (hold === 'duplicate') return { ended: 'duplicate' }
  const answer = awaited(order, read)
  if (!isSold(answer)) return { ended: { result: 'unsold', answer } }
  // After the lease, another request may be sending the payment.
  return clock() < claim.lease.leaseUntil ? { ready: answer } : { ended: 'wait' }
}

function offerOf(order: Order): Promise<[Verification, Answer]> {
  return Promise.all([order.verification(), order.read()])
}

/** Returns null if the payment is valid. */
export function refusalOf(context: SettlementContext, verified: Verification): Purchase | null {
  if (verified.result === 'valid') return null
  if (verified.result === 'refused') return verified
  context.onTrouble('a payment could not be verified', { why: verified.why })
  return { result: 'facilitator unavailable' }
}

function isUsed(refusal: Purchase): boolean {
  return refusal.result === 'refused' && refusal.reason === usedReason
}

/**
 * The authorization was already sent to the chain by another party. If it paid us, it is served,
 * because it has bought nothing here and is held. If the operator's own node refused only the
 * simulation and reports the authorization as unused, nothing was sent.
 */
async function usedBy(
  context: SettlementContext,
  { payment, onSent }: Order,
  { claim: { row }, isSimulation }: { claim: Claim; isSimulation: boolean },
): Promise<Bought> {
  onSent()
  const open = { id: row.id, payment, claimedAt: context.clock() }
  const resolved = await resolvePayment(context, open)
  if (resolved.state === 'settled') return 'wait'
  const isUnsent = isSimulation && resolved.state === 'open' && resolved.isUnused
  if (resolved.state === 'failed' || isUnsent || isLedgerAlone(context))
    return { result: 'refused', reason: usedReason }
  // The chain does not answer now; the reconciler asks it later.
  await markUnknown(context.dbWithoutDeadline, row.id, { reason: usedReason, now: context.clock() })
  return { result: 'pending' }
}

async function settle(
  context: SettlementContext,
  order: Order,
  { id, answer }: { id: string; answer: Answer },
): Promise<Purchase> {
  const { db, clock } = context
  const { payment, terms } = order
  const since = clock()
  order.onSent()
  const settlement = await context.facilitator.settle(payment, terms)
  if (settlement.result === 'settled')
    return paid(context, order, { id, transaction: settlement.transaction, answer })
  if (settlement.result === 'refused') {
    await failPayment(db, id, { reason: settlement.reason, now: clock() })
    return settlement
  }
  context.onTrouble('whether a payment was made is not known', { payment: id, why: settlement.why })
  const { reason, isSimulation = false, failedTransaction } = settlement
  // Asked before the fate, so that the fate is of the block of the transaction or of a later one.
  const isReverted =
    failedTransaction !== undefined && (await context.chain?.isReverted(failedTransaction)) === true
  const fate = await context.chain?.fateOf(payment.authorization, terms, since)
  if (fate?.fate === 'paid')
    return paid(context, order, { id, transaction: fate.transaction, answer })
  if (fate?.fate === 'void') {
    await failPayment(db, id, { reason: usedReason, now: clock() })
    return { result: 'refused', reason: usedReason }
  }
  // The only attempt to send this payment has moved nothing.
  if ((isSimulation || isReverted) && fate?.fate === 'open') {
    await failPayment(db, id, { reason, now: clock() })
    return { result: 'refused', reason }
  }
  await markUnknown(db, id, { reason, now: clock() })
  return { result: 'pending' }
}

async function paid(
  context: SettlementContext,
  { isAwaited }: Order,
  { id, transaction, answer }: { id: string; transaction: string; answer: Answer },
): Promise<Purchase> {
  const { dbWithoutDeadline, onTrouble } = context
  const durably = isLedgerAlone(context)
  const isFound = !isAwaited()
  const now = context.clock()
  const written = markSettled(dbWithoutDeadline, id, { txHash: transaction, now, durably, isFound })
  if (durably) await written
  else
    context.meanwhile(
      written.catch((error: unknown) =>
        onTrouble('a payment was made, and whether that is written down is not known', {
          payment: id,
          why: String(error),
        }),
      ),
    )
  return { result: 'paid', transaction, answer }
}

/** An answer without a waiting caller is not sold. */
export function awaited({ isAwaited }: Order, answer: Answer): Answer {
  return !isSold(answer) || isAwaited() ? answer : refuse('unavailable')
}

export function isSold(answer: Answer): boolean {
  return 'status' in answer && answer.status === 200
}

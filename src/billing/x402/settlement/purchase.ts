/**
 * A purchase holds the payment, verifies it while the answer is read, settles it and answers
 * (decision D22). Writes x402_payments through the store. An answer other than 200 is not charged,
 * nothing is served before the payment is final, and the same payment sent again is served again
 * without a second settlement.
 *
 * Each payment needs one durable write, the state `settling`. The write runs while the facilitator
 * verifies, and nothing is sent before it is on disk. So after any crash the row shows that this
 * payment, for this resource and under this key, may have reached the chain. If the chain can be
 * asked, later writes may be lost: the row is still `settling`, and the next request or the
 * reconciler finds the same transaction and the same receipt. Then the answer does not wait for
 * these writes. If the chain cannot be asked, the answer waits until they are on disk.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sha256 } from '../../../platform/crypto/bytes.ts'
import { uuidV7 } from '../../../platform/db/uuid-v7.ts'
import { deadlineMs } from '../../../platform/deadlines.ts'
import { expiredReason } from '../protocol/match.ts'
import type { SignedPayment } from '../protocol/payload.ts'
import { usedReason } from '../protocol/reasons.ts'
import { sealNonceBytes, sealPayment } from '../protocol/seal.ts'
import { resourceKey, type Terms } from '../protocol/terms.ts'
import { awaited, buy, isSold, type Order, type Purchase, refusalOf } from './buy.ts'
import { openPaymentOf, resolvePayment, type SettlementContext, settleAgain } from './resolve.ts'
import {
  type FacilitatorName,
  findPayment,
  findPurchase,
  freePurchaseKey,
  type Lease,
  leaveOpen,
  markServed,
  type NewPayment,
  type PaymentIdentity,
  type PaymentRow,
  takeOver,
} from './store.ts'

const waitMs = 50
/** Longer than verification, reading and settlement may take together. */
const leaseMs = 30_000
/** Time within which a paid answer can be requested again. */
const entitlementMs = 15 * 60_000
/** Time within which a key names the same purchase. */
const purchaseMs = 24 * 3_600_000

export function purchase(context: SettlementContext, order: Order): Promise<Purchase> {
  return waiting((turn) => attempt(context, turn === 0 ? order : onLook(order)))
}

/** Repeats `step` while another request works on the payment, up to a limit. */
async function waiting<Result>(
  step: (turn: number) => Promise<Result | 'wait'>,
): Promise<Result | { result: 'pending' }> {
  const deadline = performance.now() + deadlineMs('samePayment')
  for (let turn = 0; ; turn++) {
    const result = await step(turn)
    if (result !== 'wait') return result
    if (performance.now() >= deadline) return { result: 'pending' }
    await pause(waitMs)
  }
}

type Step = Purchase | 'wait'

/** Returns the order of a later turn, which begins nothing before the ledger is read. */
function onLook(order: Order): Order {
  return { ...order, mayBeginEarly: false }
}

async function attempt(context: SettlementContext, order: Order): Promise<Step> {
  const now = context.clock()
  const expired = expiredReason(order.payment, now)
  const { name: by } = context.facilitator
  const isEarly = order.mayBeginEarly && expired === null && by !== 'none'
  const row = isEarly ? undefined : await findTaken(context, order)
  if (row !== undefined)
    return isSame(row, order) ? goOn(context, row, { order, now, keptMs: entitlementMs }) : used
  if (expired !== null) return { result: 'refused', reason: expired }
  if (by === 'none') return { result: 'facilitator unavailable' }
  // A signature that only a facilitator can check writes nothing and blocks no other request before
  // it is verified.
  const refusal = order.isProved ? null : refusalOf(context, await order.verification())
  if (refusal !== null) return refusal
  const claim = { row: newPayment(context, order, { by, now }), lease: leaseFrom(context.clock()) }
  const bought = await buy(context, order, claim)
  if (bought === 'duplicate')
    return (await waiting(() => duplicatePurchase(context, order))) ?? 'wait'
  if (bought === 'taken') return isEarly ? attempt(context, onLook(order)) : 'wait'
  return bought
}

/** Returns the row of a payment that was or may have been made. */
async function findTaken(
  { db }: SettlementContext,
  { payment, terms }: Pick<Order, 'payment' | 'terms'>,
): Promise<PaymentRow | undefined> {
  const row = await findPayment(db, identityOf(payment, terms))
  return row?.state === 'released' || row?.state === 'failed' ? undefined : row
}

/** Returns whether the row is this payment for this resource. */
function isSame(row: PaymentRow, { payment, terms }: Pick<Order, 'payment' | 'terms'>): boolean {
  const isSigned = row.signatureHash.equals(sha256(payment.signature))
  return isSigned && row.resourceKey.equals(resourceKey(terms.resource))
}

/**
 * Returns whether the payment is already taken up. Its terms of that time hold, also after a change
 * of prices.
 */
export async function isTakenUp(
  context: SettlementContext,
  payment: SignedPayment,
  terms: Terms,
): Promise<boolean> {
  const row = await findTaken(context, { payment, terms })
  return row !== undefined && isSame(row, { payment, terms })
}

const used = { result: 'refused', reason: usedReason } as const satisfies Purchase

function newPayment(
  context: SettlementContext,
  { payment, terms, idempotencyKey }: Order,
  { by, now }: { by: FacilitatorName; now: Date },
): NewPayment {
  const id = uuidV7(now)
  const random = randomBytes(sealNonceBytes)
  return {
    id,
    ...identityOf(payment, terms),
    signatureHash: sha256(payment.signature),
    resourceKey: resourceKey(terms.resource),
    endpoint: terms.endpoint,
    amount: terms.amount,
    payTo: terms.payTo.toLowerCase(),
    validBefore: dateOf(payment.authorization.validBefore),
    idempotencyKey,
    facilitator: by,
    sealedPayment: sealPayment(payment, { id, secret: context.secrets[0], random }),
  }
}

function identityOf(payment: SignedPayment, terms: Terms): PaymentIdentity {
  const { from, nonce } = payment.authorization
  return { chainId: terms.chainId, asset: terms.asset.toLowerCase(), payer: from, nonce }
}

/** Payers may sign without an end; a date ends with the year 9999. */
function dateOf(seconds: string): Date {
  const last = 253_402_300_799n
  return new Date(Number(BigInt(seconds) < last ? BigInt(seconds) : last) * 1_000)
}

function leaseFrom(now: Date): Lease {
  return { now, leaseUntil: new Date(now.getTime() + leaseMs) }
}

/**
 * Looks for the same purchase of the same payer, whose signature is proved by now. Returns null if
 * there is none.
 */
async function duplicatePurchase(context: SettlementContext, order: Order): Promise<Step | null> {
  const { db } = context
  const { payment, terms, idempotencyKey } = order
  if (idempotencyKey === null) return null
  const row = await findPurchase(db, identityOf(payment, terms), idempotencyKey)
  if (row === undefined) return null
  const now = context.clock()
  if (row.settledAt !== null && row.settledAt.getTime() + purchaseMs < now.getTime()) {
    await freePurchaseKey(db, row.id)
    return null
  }
  if (!row.resourceKey.equals(resourceKey(terms.resource))) return { result: 'key reused' }
  return goOn(context, row, { order, now, keptMs: purchaseMs })
}

interface Kept {
  order: Order
  now: Date
  /** Time within which the answer can be requested again. */
  keptMs: number
}

async function goOn(context: SettlementContext, row: PaymentRow, kept: Kept): Promise<Step> {
  const { order, now } = kept
  if (row.settledAt !== null) return serveAgain(context, row, kept)
  order.onSent()
  const taken = row.leaseUntil <= now && (await takeOver(context.db, row.id, leaseFrom(now)))
  return taken ? finish(context, order, row) : 'wait'
}

/**
 * Continues an open payment that is requested again, by the same payment or by another of the same
 * purchase. The caller holds its lease.
 */
async function finish(context: SettlementContext, order: Order, row: PaymentRow): Promise<Step> {
  const open = openPaymentOf(context, row)
  if (open === null) return { result: 'pending' }
  const resolved = await resolvePayment(context, open)
  if (resolved.state === 'failed') return { result: 'refused', reason: resolved.reason }
  if (resolved.state === 'settled') return 'wait'
  let isSellable = false
  try {
    isSellable = isSold(awaited(order, await order.read()))
  } finally {
    if (!isSellable) await leaveOpen(context.db, row.id, context.clock())
  }
  // Pending with any answer: the payment may have been made, so only the same payment may be
  // repeated.
  return isSellable && (await settleAgain(context, open)) ? 'wait' : { result: 'pending' }
}

/**
 * Reads again instead of keeping a copy, so that a worker who has withdrawn consent is no longer
 * shown.
 */
async function serveAgain(
  { db }: SettlementContext,
  row: PaymentRow,
  { order, now, keptMs }: Kept,
): Promise<Purchase> {
  if (row.txHash === null || row.settledAt === null)
    throw new Error('settled without a transaction')
  const settledAt = row.settledAt.getTime()
  const end = Math.min(
    Math.max(row.validBefore.getTime(), settledAt + keptMs),
    settledAt + purchaseMs,
  )
  if (now.getTime() > end || row.refundTxHash !== null) return used
  const answer = await order.read()
  const isServed = row.foundAt !== null && isSold(answer) && order.isAwaited()
  if (isServed) await markServed(db, row.id)
  return { result: 'paid', transaction: row.txHash, answer }
}

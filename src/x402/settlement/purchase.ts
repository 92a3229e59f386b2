/**
 * A purchase: hold the payment, while it is verified and what it buys is read → settle → answer (decision D22). Writes x402_payments
 * through the store. Nobody is charged for an answer that is not 200, nobody is served before the payment is final, and the same payment
 * sent again is served again, without being taken again.
 *
 * One write is waited for until it is on the disk, and it is on its way there while the facilitator verifies: `settling`. Nothing is sent
 * before it stands, so it holds against every crash that this payment, for this resource, under this key, may have reached the chain. What
 * is written after it may be lost where the chain can be asked, for then the row is `settling` still, and the next who asks, or the
 * reconciler, finds out what became of it: the same transaction, the same receipt. So the answer does not wait for it. Where the chain cannot
 * be asked, it waits, and for the disk as well.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sha256 } from '../../platform/crypto/bytes.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { expiredReason } from '../protocol/match.ts'
import type { SignedPayment } from '../protocol/payload.ts'
import { usedReason } from '../protocol/reasons.ts'
import { sealNonceBytes, sealPayment } from '../protocol/seal.ts'
import { resourceKey, type Terms } from '../protocol/terms.ts'
import { awaited, buy, isSold, type Order, type Purchase, refusalOf } from './buy.ts'
import { openPaymentOf, resolvePayment, settleAgain, type Till } from './resolve.ts'
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

const waitMsMax = 5_000
const waitMs = 50
/** Longer than verifying, reading and settling may take together. */
const leaseMs = 30_000
/** How long a paid answer can be asked for again. */
const entitlementMs = 15 * 60_000
/** How long a key names the same purchase. */
const purchaseMs = 24 * 3_600_000

export function purchase(till: Till, order: Order): Promise<Purchase> {
  return waiting((turn) => attempt(till, turn === 0 ? order : onLook(order)))
}

/** For somebody else who is at it; not for ever. */
async function waiting<Result>(
  step: (turn: number) => Promise<Result | 'wait'>,
): Promise<Result | { outcome: 'pending' }> {
  const deadline = performance.now() + waitMsMax
  for (let turn = 0; ; turn++) {
    const result = await step(turn)
    if (result !== 'wait') return result
    if (performance.now() >= deadline) return { outcome: 'pending' }
    await pause(waitMs)
  }
}

type Step = Purchase | 'wait'

/** Nothing of it is begun before the ledger is asked. */
function onLook(order: Order): Order {
  return { ...order, mayBeginEarly: false }
}

async function attempt(till: Till, order: Order): Promise<Step> {
  const now = till.clock()
  const expired = expiredReason(order.payment, now)
  const { name: by } = till.facilitator
  const isEarly = order.mayBeginEarly && expired === null && by !== 'none'
  const row = isEarly ? undefined : await findTaken(till, order)
  if (row !== undefined)
    return isSame(row, order) ? goOn(till, row, { order, now, keptMs: entitlementMs }) : used
  if (expired !== null) return { outcome: 'refused', reason: expired }
  if (by === 'none') return { outcome: 'facilitator unavailable' }
  // Of a signature that only a facilitator can read: before it is known to be right it writes nothing and holds nobody up.
  const refusal = order.isProved ? null : refusalOf(till, await order.verification())
  if (refusal !== null) return refusal
  const claim = { row: newPayment(till, order, { by, now }), lease: leaseFrom(till.clock()) }
  const bought = await buy(till, order, claim)
  if (bought === 'twin') return (await waiting(() => twinPurchase(till, order))) ?? 'wait'
  if (bought === 'taken') return isEarly ? attempt(till, onLook(order)) : 'wait'
  return bought
}

/** May have been paid, or was. */
async function findTaken(
  { db }: Till,
  { payment, terms }: Pick<Order, 'payment' | 'terms'>,
): Promise<PaymentRow | undefined> {
  const row = await findPayment(db, identityOf(payment, terms))
  return row?.state === 'released' || row?.state === 'failed' ? undefined : row
}

/** The very payment, for the very resource. */
function isSame(row: PaymentRow, { payment, terms }: Pick<Order, 'payment' | 'terms'>): boolean {
  const isSigned = row.signatureHash.equals(sha256(payment.signature))
  return isSigned && row.resourceKey.equals(resourceKey(terms.resource))
}

/** What was agreed then holds, whatever we ask for since. */
export async function isTakenUp(
  till: Till,
  payment: SignedPayment,
  terms: Terms,
): Promise<boolean> {
  const row = await findTaken(till, { payment, terms })
  return row !== undefined && isSame(row, { payment, terms })
}

const used = { outcome: 'refused', reason: usedReason } as const satisfies Purchase

function newPayment(
  till: Till,
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
    sealedPayment: sealPayment(payment, { id, secret: till.secrets[0], random }),
  }
}

function identityOf(payment: SignedPayment, terms: Terms): PaymentIdentity {
  const { from, nonce } = payment.authorization
  return { chainId: terms.chainId, asset: terms.asset.toLowerCase(), payer: from, nonce }
}

/** Payers may sign for ever; a date ends with the year 9999. */
function dateOf(seconds: string): Date {
  const last = 253_402_300_799n
  return new Date(Number(BigInt(seconds) < last ? BigInt(seconds) : last) * 1_000)
}

function leaseFrom(now: Date): Lease {
  return { now, leaseUntil: new Date(now.getTime() + leaseMs) }
}

/** The same payer, whose signature is proved by now, has made this purchase before, or is making it. Null: it has not. */
async function twinPurchase(till: Till, order: Order): Promise<Step | null> {
  const { db } = till
  const { payment, terms, idempotencyKey } = order
  if (idempotencyKey === null) return null
  const row = await findPurchase(db, identityOf(payment, terms), idempotencyKey)
  if (row === undefined) return null
  const now = till.clock()
  if (row.settledAt !== null && row.settledAt.getTime() + purchaseMs < now.getTime()) {
    await freePurchaseKey(db, row.id)
    return null
  }
  if (!row.resourceKey.equals(resourceKey(terms.resource))) return { outcome: 'key reused' }
  return goOn(till, row, { order, now, keptMs: purchaseMs })
}

interface Kept {
  order: Order
  now: Date
  /** How long the answer can be asked for again. */
  keptMs: number
}

async function goOn(till: Till, row: PaymentRow, kept: Kept): Promise<Step> {
  const { order, now } = kept
  if (row.settledAt !== null) return serveAgain(till, row, kept)
  order.onSent()
  const taken = row.leaseUntil <= now && (await takeOver(till.db, row.id, leaseFrom(now)))
  return taken ? finish(till, order, row) : 'wait'
}

/** What was left open, and is asked for again: by the same payment, or by another of the same purchase. The row is ours for the moment. */
async function finish(till: Till, order: Order, row: PaymentRow): Promise<Step> {
  const open = openPaymentOf(till, row)
  if (open === null) return { outcome: 'pending' }
  const resolved = await resolvePayment(till, open)
  if (resolved.state === 'failed') return { outcome: 'refused', reason: resolved.reason }
  if (resolved.state === 'settled') return 'wait'
  let isSellable = false
  try {
    isSellable = isSold(await awaited(order, await order.read()))
  } finally {
    if (!isSellable) await leaveOpen(till.db, row.id, till.clock())
  }
  // Whatever else the answer is: it may have been paid, and only the same payment may follow.
  return isSellable && (await settleAgain(till, open)) ? 'wait' : { outcome: 'pending' }
}

/** Not from a copy: who has withdrawn consent since is not shown any more. */
async function serveAgain(
  { db }: Till,
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
  if (now.getTime() > end) return used
  const answer = await order.read()
  const isServed = row.foundAt !== null && isSold(answer) && (await order.isAwaited())
  if (isServed) await markServed(db, row.id)
  return { outcome: 'paid', transaction: row.txHash, answer }
}

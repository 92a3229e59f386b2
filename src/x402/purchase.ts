/**
 * A purchase: claim → verify → read → settle → answer (decision D22). Writes x402_payments through the store. Nobody is charged for an answer
 * that is not 200, nobody is served before the payment is final, and the same payment sent again is served again, without being taken again.
 * A crash leaves the row: before `settling` nothing was sent and the claim lapses; from there on the next who asks, or the reconciler, finds
 * out what became of it.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sha256 } from '../platform/bytes.ts'
import { sqlState } from '../platform/db.ts'
import type { Answer } from '../platform/endpoint.ts'
import { uuidV7 } from '../platform/uuid-v7.ts'
import { expiredReason } from './match.ts'
import type { SignedPayment } from './payload.ts'
import type { PaymentReason } from './reasons.ts'
import { openPaymentOf, resolvePayment, settleAgain, type Till } from './resolve.ts'
import { sealNonceBytes, sealPayment } from './seal.ts'
import {
  claimPayment,
  closePayment,
  findPayment,
  findPurchase,
  freePurchaseKey,
  markSettled,
  markUnknown,
  type PaymentIdentity,
  type PaymentRow,
  startSettling,
  takeOver,
} from './store.ts'
import { resourceKey, type Terms } from './terms.ts'

export interface Order {
  payment: SignedPayment
  terms: Terms
  /** Names the purchase, however often it is signed for. */
  idempotencyKey: string | null
  /** What is bought. It may be asked more than once, and must change nothing. */
  read(): Promise<Answer>
}

export type Purchase =
  /** Paid once, now or before. `answer` may be other than 200 where what was bought is there no more. */
  | { outcome: 'paid'; transaction: string; answer: Answer }
  /** Not charged: the answer is not 200. */
  | { outcome: 'unsold'; answer: Answer }
  | { outcome: 'refused'; reason: PaymentReason }
  | { outcome: 'key reused' }
  | { outcome: 'facilitator unavailable' }
  /** It may have been paid: only the same payment again may follow. */
  | { outcome: 'pending' }

const waitMsMax = 5_000
const waitMs = 50
/** Longer than verifying, reading and settling may take together. */
const leaseMs = 30_000
/** How long a paid answer can be asked for again. */
const entitlementMs = 15 * 60_000
/** How long a key names the same purchase. */
const purchaseMs = 24 * 3_600_000

export function purchase(till: Till, order: Order): Promise<Purchase> {
  return waiting(() => attempt(till, order))
}

/** For somebody else who is at it; not for ever. */
async function waiting<Result>(
  step: () => Promise<Result | 'wait'>,
): Promise<Result | { outcome: 'pending' }> {
  const deadline = performance.now() + waitMsMax
  for (;;) {
    const result = await step()
    if (result !== 'wait') return result
    if (performance.now() >= deadline) return { outcome: 'pending' }
    await pause(waitMs)
  }
}

type Step = Purchase | 'wait'

async function attempt(till: Till, order: Order): Promise<Step> {
  const { db } = till
  const now = till.clock()
  const expired = expiredReason(order.payment, now)
  const claim = newClaim(till, order, now)
  if (expired === null && (await claimPayment(db, claim, leaseFrom(now))))
    return buy(till, order, claim.id)
  const row = await findPayment(db, claim)
  if (row === undefined) return expired === null ? 'wait' : { outcome: 'refused', reason: expired }
  const isSame =
    row.signatureHash.equals(claim.signatureHash) && row.resourceKey.equals(claim.resourceKey)
  if (!isSame) return used
  if (row.state === 'settled') return serveAgain(row, order, { now, keptMs: entitlementMs })
  if (row.state === 'settling' || row.state === 'unknown') {
    const taken = row.leaseUntil <= now && (await takeOver(db, row.id, leaseFrom(now)))
    return taken ? finish(till, order, row) : 'wait'
  }
  return expired === null ? 'wait' : { outcome: 'refused', reason: expired }
}

const used = { outcome: 'refused', reason: 'invalid_transaction_state' } as const satisfies Purchase

function newClaim(till: Till, { payment, terms, idempotencyKey }: Order, now: Date) {
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
    facilitator: till.facilitator.name,
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

function leaseFrom(now: Date): { now: Date; leaseUntil: Date } {
  return { now, leaseUntil: new Date(now.getTime() + leaseMs) }
}

/** Under a claim. Whatever ends it before settling gives the claim back. */
async function buy(till: Till, order: Order, id: string): Promise<Step> {
  const release = (reason: PaymentReason | null) =>
    closePayment(till.db, id, { state: 'released', reason, now: till.clock() })
  try {
    const step = await untilSettling(till, order, id)
    if ('ready' in step) return await settle(till, order, { id, answer: step.ready })
    const { ended } = step
    await release(ended !== 'wait' && ended.outcome === 'refused' ? ended.reason : null)
    return ended
  } catch (error) {
    // Where the payment is settling already, this changes nothing.
    await release(null).catch(() => undefined)
    throw error
  }
}

/** `ready`: the answer is 200 and the row says that the payment may be sent. */
async function untilSettling(
  till: Till,
  order: Order,
  id: string,
): Promise<{ ready: Answer } | { ended: Step }> {
  const { db, facilitator } = till
  const verified = await facilitator.verify(order.payment, order.terms)
  if (verified.outcome === 'no answer') {
    till.onTrouble('a payment could not be verified', { why: verified.why })
    return { ended: { outcome: 'facilitator unavailable' } }
  }
  if (verified.outcome === 'refused') return { ended: verified }
  const twin = await waiting(() => twinPurchase(till, order))
  if (twin !== null) return { ended: twin }
  const answer = await order.read()
  if (!isSold(answer)) return { ended: { outcome: 'unsold', answer } }
  try {
    const isOurs = await startSettling(db, id, leaseFrom(till.clock()))
    return isOurs ? { ready: answer } : { ended: 'wait' }
  } catch (error) {
    // A twin of the same purchase has begun to settle in between.
    if (sqlState(error) === uniqueViolation) return { ended: 'wait' }
    throw error
  }
}

const uniqueViolation = '23505'

/** The same payer, whose signature is proved by now, has made this purchase before, or is making it. Null: it has not. */
async function twinPurchase(till: Till, order: Order): Promise<Step | null> {
  const { db } = till
  const { payment, terms, idempotencyKey } = order
  if (idempotencyKey === null) return null
  const row = await findPurchase(db, payment.authorization.from, idempotencyKey)
  if (row === undefined) return null
  const now = till.clock()
  if (row.settledAt !== null && row.settledAt.getTime() + purchaseMs < now.getTime()) {
    await freePurchaseKey(db, row.id)
    return null
  }
  if (!row.resourceKey.equals(resourceKey(terms.resource))) return { outcome: 'key reused' }
  if (row.settledAt !== null) return serveAgain(row, order, { now, keptMs: purchaseMs })
  const taken = row.leaseUntil <= now && (await takeOver(db, row.id, leaseFrom(now)))
  return taken ? finish(till, order, row) : 'wait'
}

async function settle(
  till: Till,
  { payment, terms }: Order,
  { id, answer }: { id: string; answer: Answer },
): Promise<Purchase> {
  const { db, clock } = till
  const since = clock()
  const settlement = await till.facilitator.settle(payment, terms)
  if (settlement.outcome === 'settled')
    return paid(till, id, { transaction: settlement.transaction, answer })
  if (settlement.outcome === 'refused') {
    await closePayment(db, id, { state: 'failed', reason: settlement.reason, now: clock() })
    return settlement
  }
  till.onTrouble('whether a payment was made is not known', { payment: id, why: settlement.why })
  const fate = await till.chain?.fateOf(payment.authorization, terms, since)
  if (fate?.fate === 'paid') return paid(till, id, { transaction: fate.transaction, answer })
  if (fate?.fate === 'void') {
    await closePayment(db, id, { state: 'failed', reason: used.reason, now: clock() })
    return used
  }
  await markUnknown(db, id, { reason: settlement.reason, now: clock() })
  return { outcome: 'pending' }
}

async function paid(
  till: Till,
  id: string,
  { transaction, answer }: { transaction: string; answer: Answer },
): Promise<Purchase> {
  await markSettled(till.db, id, { txHash: transaction, now: till.clock() })
  return { outcome: 'paid', transaction, answer }
}

/** What was left open, and is asked for again: by the same payment, or by another of the same purchase. The row is ours for the moment. */
async function finish(till: Till, order: Order, row: PaymentRow): Promise<Step> {
  const open = openPaymentOf(till, row)
  if (open === null) return { outcome: 'pending' }
  const resolved = await resolvePayment(till, open)
  if (resolved.state === 'failed') return { outcome: 'refused', reason: resolved.reason }
  if (resolved.state === 'settled') return 'wait'
  const answer = await order.read()
  if (isSold(answer)) return (await settleAgain(till, open)) ? 'wait' : { outcome: 'pending' }
  await markUnknown(till.db, row.id, { reason: null, now: till.clock() })
  return { outcome: 'unsold', answer }
}

/** Not from a copy: who has withdrawn consent since is not shown any more. */
async function serveAgain(
  row: PaymentRow,
  order: Order,
  { now, keptMs }: { now: Date; keptMs: number },
): Promise<Purchase> {
  if (row.txHash === null || row.settledAt === null)
    throw new Error('settled without a transaction')
  const settledAt = row.settledAt.getTime()
  const end = Math.min(
    Math.max(row.validBefore.getTime(), settledAt + keptMs),
    settledAt + purchaseMs,
  )
  if (now.getTime() > end) return used
  return { outcome: 'paid', transaction: row.txHash, answer: await order.read() }
}

function isSold(answer: Answer): boolean {
  return 'status' in answer && answer.status === 200
}

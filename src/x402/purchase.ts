/**
 * A purchase: claim → verify, while the claim is made fast → read → settle → answer (decision D22). Writes x402_payments through the store.
 * Nobody is charged for an answer that is not 200, nobody is served before the payment is final, and the same payment sent again is served
 * again, without being taken again.
 *
 * One write is waited for until it is on the disk, and it is on its way there while the facilitator verifies: `settling`. Nothing is sent
 * before it stands, so it holds against every crash that this payment, for this resource, under this key, may have reached the chain. What
 * is written before it may be lost, for nothing was sent; what is written after it may be lost where the chain can be asked, for then the
 * row is `settling` again, and the next who asks, or the reconciler, finds out what became of it: the same transaction, the same receipt.
 * Where the chain cannot be asked, the end of a payment waits for the disk as well.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sha256 } from '../platform/bytes.ts'
import type { Answer } from '../platform/endpoint.ts'
import { uuidV7 } from '../platform/uuid-v7.ts'
import { expiredReason } from './match.ts'
import type { SignedPayment } from './payload.ts'
import type { PaymentReason } from './reasons.ts'
import { isLedgerAlone, openPaymentOf, resolvePayment, settleAgain, type Till } from './resolve.ts'
import { sealNonceBytes, sealPayment } from './seal.ts'
import {
  claimPayment,
  failPayment,
  findPayment,
  findPurchase,
  freePurchaseKey,
  holdPayment,
  type Lease,
  leaveOpen,
  markSettled,
  markUnknown,
  type PaymentIdentity,
  type PaymentRow,
  releasePayment,
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
  const lease = leaseFrom(now)
  if (expired === null && (await claimPayment(db, claim, lease)))
    return buy(till, order, { id: claim.id, leaseUntil: lease.leaseUntil })
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

function leaseFrom(now: Date): Lease {
  return { now, leaseUntil: new Date(now.getTime() + leaseMs) }
}

/** What is ours alone until then. */
interface Claim {
  id: string
  leaseUntil: Date
}

async function buy(till: Till, order: Order, claim: Claim): Promise<Step> {
  const offer = await offerUnder(till, order, claim)
  return 'ended' in offer ? offer.ended : settle(till, order, { id: claim.id, answer: offer.ready })
}

type Offer = { ready: Answer } | { ended: Step }

/** Whatever ends it before the payment is sent gives the claim back. */
async function offerUnder(till: Till, order: Order, claim: Claim): Promise<Offer> {
  const { db, clock } = till
  const { id, leaseUntil } = claim
  const release = (reason: PaymentReason | null) =>
    releasePayment(db, id, { leaseUntil, reason, now: clock(), durably: isLedgerAlone(till) })
  try {
    const offer = await untilSettling(till, order, claim)
    if ('ready' in offer) return offer
    const { ended } = offer
    await release(ended !== 'wait' && ended.outcome === 'refused' ? ended.reason : null)
    return offer
  } catch (error) {
    await release(null).catch(() => undefined)
    throw error
  }
}

/** `ready`: the answer is 200, and the row says that the payment may be sent. */
async function untilSettling(till: Till, order: Order, { id, leaseUntil }: Claim): Promise<Offer> {
  const { db, facilitator, clock } = till
  const [verified, hold] = await Promise.all([
    facilitator.verify(order.payment, order.terms),
    holdPayment(db, id, clock()),
  ])
  if (verified.outcome === 'no answer') {
    till.onTrouble('a payment could not be verified', { why: verified.why })
    return { ended: { outcome: 'facilitator unavailable' } }
  }
  if (verified.outcome === 'refused') return { ended: verified }
  if (hold === 'lost') return { ended: 'wait' }
  if (hold === 'twin') return { ended: (await waiting(() => twinPurchase(till, order))) ?? 'wait' }
  const answer = await order.read()
  if (!isSold(answer)) return { ended: { outcome: 'unsold', answer } }
  // Whoever came back for it may be sending it by now.
  return clock() < leaseUntil ? { ready: answer } : { ended: 'wait' }
}

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
    await failPayment(db, id, { reason: settlement.reason, now: clock() })
    return settlement
  }
  till.onTrouble('whether a payment was made is not known', { payment: id, why: settlement.why })
  const fate = await till.chain?.fateOf(payment.authorization, terms, since)
  if (fate?.fate === 'paid') return paid(till, id, { transaction: fate.transaction, answer })
  if (fate?.fate === 'void') {
    await failPayment(db, id, { reason: used.reason, now: clock() })
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
  const durably = isLedgerAlone(till)
  await markSettled(till.db, id, { txHash: transaction, now: till.clock(), durably })
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
  await leaveOpen(till.db, row.id, till.clock())
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

/**
 * Makes an order from a presented payment: its payer, its purchase, and whether the call is within
 * the limits.
 */
import type { MeterName } from '../../../edge/http/callers.ts'
import type { PaidRequest } from '../../../edge/http/payments.ts'
import { type Refusal, refuse } from '../../../platform/errors.ts'
import type { RecentMap } from '../../../platform/recent-map.ts'
import type { HeaderVersion } from '../protocol/challenge.ts'
import { type Match, type MatchOptions, matchPayment } from '../protocol/match.ts'
import { decodePayment, type SignedPayment } from '../protocol/payload.ts'
import type { PaymentReason } from '../protocol/reasons.ts'
import { signerOf } from '../protocol/signature.ts'
import type { Terms } from '../protocol/terms.ts'
import type { Order } from './buy.ts'
import type { PaymentMeter } from './payment-metrics.ts'
import type { PriceHistory } from './price-store.ts'
import { isTakenUp } from './purchase.ts'
import type { SettlementContext } from './resolve.ts'

export interface PaymentContext extends SettlementContext {
  /** The only source of absolute URLs (decision D3). */
  publicUrl: string
  payTo: string
  /** Atomic units. */
  amounts: Readonly<Record<MeterName, string>>
  maxTimeoutSeconds: number
  headerVersion: HeaderVersion
  meter: PaymentMeter
  priceHistory: PriceHistory
  /** Signatures of presented payments. */
  shown: RecentMap<true>
}

/** One request for one thing at one price. */
export interface PricedRequest {
  payments: PaymentContext
  request: PaidRequest
  terms: Terms
}

export interface Refused {
  reason: PaymentReason
  payment?: SignedPayment
}

interface Counted {
  /**
   * Counts the call once. Returns null, or the refusal if it exceeds the limit: then the payment is
   * not judged and nothing is sold.
   */
  limited(): Promise<Refusal | null>
}

interface CountedOrder extends Order, Counted {}

interface CountedRefusal extends Counted {
  refused: Refused
}

/**
 * Returns the order if the payment is for this request and signed by the payer, as far as that can
 * be checked without a facilitator.
 */
export async function orderOf(
  priced: PricedRequest,
  header: string,
): Promise<CountedOrder | CountedRefusal> {
  const { payments, request, terms } = priced
  const limitedFor = (payer: string | null) => once(() => request.limit(payer))
  const unnamed = limitedFor(null)
  const decoded = decodePayment(header)
  if ('reason' in decoded) return { refused: decoded, limited: unnamed }
  const { payment } = decoded
  const { from } = payment.authorization
  const match = matchPayment(payment, terms, matchOptions(payments))
  if ('reason' in match && !isOfTerms(match.reason))
    return { refused: { ...match, payment }, limited: unnamed }
  const signer = await signerOf(payment, terms)
  if (signer === 'other') {
    const reason = 'reason' in match ? match.reason : 'invalid_exact_evm_payload_signature'
    return { refused: { reason, payment }, limited: unnamed }
  }
  const isProved = signer === 'payer'
  // An unproved payer counts against the caller's network, so that no caller uses up the limit of
  // an address it merely names.
  const limited = isProved ? limitedFor(from) : unnamed
  const agreed = 'terms' in match ? match : await formerMatch(priced, { payment, match, limited })
  if ('reason' in agreed) return { refused: { ...agreed, payment }, limited }
  return {
    limited,
    payment,
    terms: agreed.terms,
    isProved,
    mayBeginEarly: isProved && isFirst(payments, payment) && request.mayTry(from),
    idempotencyKey: request.idempotencyKey ?? payment.idempotencyKey,
    verification: once(() => payments.facilitator.verify(payment, agreed.terms)),
    read: async () => {
      const [refusal, answer] = await Promise.all([limited(), request.read(from)])
      return refusal ?? answer
    },
    isAwaited: request.isAwaited,
    onSent: () => request.onSent(later('payment_settlement_pending')),
  }
}

/** 503, because a 402 would make clients sign once more and pay twice. */
export function later(
  error: 'payment_facilitator_unavailable' | 'payment_settlement_pending',
): Refusal {
  return refuse(error, { headers: { 'Retry-After': '1' } })
}

/**
 * Returns whether this process sees the payment for the first time, as far as it remembers. A
 * repeated one is not verified before the ledger shows that no other request works on it.
 */
function isFirst({ shown }: PaymentContext, { signature }: SignedPayment): boolean {
  if (shown.get(signature) !== undefined) return false
  shown.set(signature, true)
  return true
}

function once<Result>(ask: () => Promise<Result>): () => Promise<Result> {
  let asked: Promise<Result> | undefined
  return () => (asked ??= ask())
}

interface Mismatched extends Counted {
  payment: SignedPayment
  match: { reason: PaymentReason }
}

/**
 * Matches the payment with the price at its first presentation, or at its challenge. Reads the
 * ledger, so it runs only within the limits.
 */
async function formerMatch(
  { payments, terms }: PricedRequest,
  { payment, match, limited }: Mismatched,
): Promise<Match> {
  if ((await limited()) !== null) return match
  const { to: payTo, value: amount } = payment.authorization
  if (await isTakenUp(payments, payment, terms)) return { terms: { ...terms, payTo, amount } }
  if (amount === terms.amount || payment.accepted?.quote != null) return match
  // Version 1 has no field for a quote.
  const former = matchPayment(payment, { ...terms, amount }, matchOptions(payments))
  if ('reason' in former) return match
  return (await payments.priceHistory.isPayable(terms.endpoint, amount)) ? former : match
}

function matchOptions({ secrets, clock }: PaymentContext): MatchOptions {
  return { secrets, now: clock() }
}

/** Reasons that a change of our prices can cause. */
function isOfTerms(reason: PaymentReason): boolean {
  return (
    reason === 'invalid_payment_requirements' ||
    reason === 'invalid_exact_evm_payload_recipient_mismatch' ||
    reason === 'invalid_exact_evm_payload_authorization_value'
  )
}

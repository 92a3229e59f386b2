/** What is ordered by a payment that is presented: whose it is, what it is for, and whether one more call may be answered. */
import type { MeterName } from '../../platform/http/callers.ts'
import { type Refusal, refuse } from '../../platform/http/errors.ts'
import type { PaidRequest } from '../../platform/http/payments.ts'
import type { RecentMap } from '../../platform/recent-map.ts'
import type { HeaderVersion } from '../protocol/challenge.ts'
import { type Match, type MatchOptions, matchPayment } from '../protocol/match.ts'
import { decodePayment, type SignedPayment } from '../protocol/payload.ts'
import type { PaymentReason } from '../protocol/reasons.ts'
import { signerOf } from '../protocol/signature.ts'
import type { Terms } from '../protocol/terms.ts'
import type { Order } from './buy.ts'
import type { PaymentMeter } from './payment-metrics.ts'
import type { PriceBoard } from './price-board.ts'
import { isTakenUp } from './purchase.ts'
import type { Till } from './resolve.ts'

export interface Shop extends Till {
  /** The only source of absolute URLs (decision D3). */
  publicUrl: string
  payTo: string
  /** Atomic units. */
  amounts: Readonly<Record<MeterName, string>>
  maxTimeoutSeconds: number
  headerVersion: HeaderVersion
  meter: PaymentMeter
  board: PriceBoard
  /** Signatures of payments. */
  shown: RecentMap<true>
}

/** One request for one thing at one price. */
export interface Sale {
  shop: Shop
  request: PaidRequest
  terms: Terms
}

export interface Refused {
  reason: PaymentReason
  payment?: SignedPayment
}

interface Counted {
  /** Counts the call, once; null, or why it is one too many: then nothing is said of the payment, and nothing is sold. */
  limited(): Promise<Refusal | null>
}

interface CountedOrder extends Order, Counted {}

interface CountedRefusal extends Counted {
  refused: Refused
}

/** The payment is for this, and the payer's own: as far as can be said without asking a facilitator. */
export async function orderOf(sale: Sale, header: string): Promise<CountedOrder | CountedRefusal> {
  const { shop, request, terms } = sale
  const limitedFor = (payer: string | null) => once(() => request.limit(payer))
  const unnamed = limitedFor(null)
  const decoded = decodePayment(header)
  if ('reason' in decoded) return { refused: decoded, limited: unnamed }
  const { payment } = decoded
  const { from } = payment.authorization
  const match = matchPayment(payment, terms, matchOptions(shop))
  if ('reason' in match && !isOfTerms(match.reason))
    return { refused: { ...match, payment }, limited: unnamed }
  const signer = await signerOf(payment, terms)
  if (signer === 'other') {
    const reason = 'reason' in match ? match.reason : 'invalid_exact_evm_payload_signature'
    return { refused: { reason, payment }, limited: unnamed }
  }
  const isProved = signer === 'payer'
  // Nobody uses up the limit of a payer whose name it has only written down.
  const limited = isProved ? limitedFor(from) : unnamed
  const agreed = 'terms' in match ? match : await formerMatch(sale, { payment, match, limited })
  if ('reason' in agreed) return { refused: { ...agreed, payment }, limited }
  return {
    limited,
    payment,
    terms: agreed.terms,
    isProved,
    mayBeginEarly: isProved && isFirst(shop, payment) && request.mayTry(from),
    idempotencyKey: request.idempotencyKey ?? payment.idempotencyKey,
    verification: once(() => shop.facilitator.verify(payment, agreed.terms)),
    read: async () => {
      const [refusal, answer] = await Promise.all([limited(), request.read(from)])
      return refusal ?? answer
    },
    isAwaited: request.isAwaited,
    onSent: () => request.onSent(later('payment_settlement_pending')),
  }
}

/** A 402 would make payers sign once more, and pay twice. */
export function later(
  error: 'payment_facilitator_unavailable' | 'payment_settlement_pending',
): Refusal {
  return refuse(error, { headers: { 'Retry-After': '1' } })
}

/** Of those this process has been shown, as far as it remembers. Others are not verified before it is known that nobody else is at it. */
function isFirst({ shown }: Shop, { signature }: SignedPayment): boolean {
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

/** What we asked when this payment was taken up, or when its payer was told. The ledger is asked: only within the limits. */
async function formerMatch(
  { shop, terms }: Sale,
  { payment, match, limited }: Mismatched,
): Promise<Match> {
  if ((await limited()) !== null) return match
  const { to: payTo, value: amount } = payment.authorization
  if (await isTakenUp(shop, payment, terms)) return { terms: { ...terms, payTo, amount } }
  if (amount === terms.amount || payment.accepted?.quote != null) return match
  // No quote came back, for version 1 has no place for it.
  const former = matchPayment(payment, { ...terms, amount }, matchOptions(shop))
  if ('reason' in former) return match
  return (await shop.board.isPayable(terms.endpoint, amount)) ? former : match
}

function matchOptions({ secrets, clock }: Shop): MatchOptions {
  return { secrets, now: clock() }
}

/** What a change of ours may have brought about. */
function isOfTerms(reason: PaymentReason): boolean {
  return (
    reason === 'invalid_payment_requirements' ||
    reason === 'invalid_exact_evm_payload_recipient_mismatch' ||
    reason === 'invalid_exact_evm_payload_authorization_value'
  )
}

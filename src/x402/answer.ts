/** A paid read without a key, from the challenge to the receipt (spec §4.4, decisions D18, D22, D23). */
import { randomBytes } from 'node:crypto'
import type { MeterName } from '../platform/callers.ts'
import type { Answer } from '../platform/endpoint.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import type { PaidRequest, PaymentPort } from '../platform/payments.ts'
import type { RecentMap } from '../platform/recent-map.ts'
import type { Order, Purchase } from './buy.ts'
import { challengeOf, encodeHeader, type HeaderVersion } from './challenge.ts'
import { type Match, matchPayment } from './match.ts'
import { decodePayment, presentedPayment, type SignedPayment } from './payload.ts'
import type { AttemptOutcome, PaymentMeter } from './payment-metrics.ts'
import type { PriceBoard } from './price-board.ts'
import { isTakenUp, purchase } from './purchase.ts'
import { makeQuote, quoteRandomBytes } from './quote.ts'
import type { PaymentReason } from './reasons.ts'
import type { Till } from './resolve.ts'
import { signerOf } from './signature.ts'
import { networks, resourceUrl, type Terms } from './terms.ts'

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

export function paymentPort(shop: Shop): PaymentPort {
  return { answer: (request) => answerPaid(shop, request) }
}

/** One request for one thing at one price. */
interface Sale {
  shop: Shop
  request: PaidRequest
  terms: Terms
}

async function answerPaid(shop: Shop, request: PaidRequest): Promise<Answer> {
  const { outcome, answer } = await attempt({ shop, request, terms: termsOf(shop, request) })
  shop.meter.attempted(request.meter, outcome)
  return answer
}

async function attempt(sale: Sale): Promise<{ outcome: AttemptOutcome; answer: Answer }> {
  const { shop, request } = sale
  const presented = presentedPayment(request.headers)
  if (presented.kind === 'none') return { outcome: 'challenged', answer: await challenge(sale) }
  if (presented.kind !== 'header')
    return { outcome: 'malformed', answer: refuse('invalid_payment') }
  const decoded = decodePayment(presented.text)
  if ('reason' in decoded) return refused(sale, { reason: decoded.reason })
  const { payment } = decoded
  const order = await orderOf(sale, payment)
  if ('reason' in order) return refused(sale, { reason: order.reason, payment })
  // A new payment is held and verified while the call is counted.
  const [limited, bought] = await Promise.all([
    order.limited(),
    order.isNew ? purchase(shop, order) : null,
  ])
  if (limited !== null) return { outcome: 'limited', answer: limited }
  const made = bought ?? (await purchase(shop, order))
  return { outcome: made.outcome, answer: await answerOf(sale, payment, made) }
}

async function refused(sale: Sale, why: Refused): Promise<{ outcome: 'refused'; answer: Answer }> {
  return { outcome: 'refused', answer: await challenge(sale, why) }
}

function termsOf(shop: Shop, request: PaidRequest): Terms {
  return {
    ...networks[shop.network],
    network: shop.network,
    endpoint: request.meter,
    resource: resourceUrl(shop.publicUrl, request.pathTemplate, request),
    description: request.description,
    payTo: shop.payTo,
    amount: shop.amounts[request.meter],
    maxTimeoutSeconds: shop.maxTimeoutSeconds,
  }
}

interface CountedOrder extends Order {
  /** Counts the call, once; null, or why it is one too many: then nothing is sold. */
  limited(): Promise<Refusal | null>
}

/** The payment is for this, and the payer's own: as far as can be said without asking anybody. */
async function orderOf(
  sale: Sale,
  payment: SignedPayment,
): Promise<CountedOrder | { reason: PaymentReason }> {
  const { shop, request } = sale
  const { from } = payment.authorization
  const match = await agreementOf(sale, payment)
  if ('reason' in match) return match
  const signer = await signerOf(payment, match.terms)
  if (signer === 'other') return { reason: 'invalid_exact_evm_payload_signature' }
  const isProved = signer === 'payer'
  // Nobody uses up the limit of a payer whose name it has only written down.
  const limited = once(() => request.limit(isProved ? from : null))
  return {
    limited,
    payment,
    terms: match.terms,
    isProved,
    isNew: isProved && isFirst(shop, payment) && request.mayTry(from),
    idempotencyKey: request.idempotencyKey ?? payment.idempotencyKey,
    verification: once(() => shop.facilitator.verify(payment, match.terms)),
    read: async () => {
      const [refusal, answer] = await Promise.all([limited(), request.read(from)])
      return refusal ?? answer
    },
    isAwaited: request.isAwaited,
  }
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

/** What we ask now; or what we asked when this payment was taken up, or when its payer was told. */
async function agreementOf({ shop, terms }: Sale, payment: SignedPayment): Promise<Match> {
  const options = { secrets: shop.secrets, now: shop.clock() }
  const match = matchPayment(payment, terms, options)
  if ('terms' in match || !isOfTerms(match.reason)) return match
  const { to: payTo, value: amount } = payment.authorization
  if (await isTakenUp(shop, payment, terms)) return { terms: { ...terms, payTo, amount } }
  if (amount === terms.amount || payment.accepted?.quote != null) return match
  // No quote came back, for version 1 has no place for it.
  const former = matchPayment(payment, { ...terms, amount }, options)
  if ('reason' in former || (await signerOf(payment, terms)) === 'other') return match
  return (await shop.board.isPayable(terms.endpoint, amount)) ? former : match
}

/** What a change of ours may have brought about. */
function isOfTerms(reason: PaymentReason): boolean {
  return (
    reason === 'invalid_payment_requirements' ||
    reason === 'invalid_exact_evm_payload_recipient_mismatch' ||
    reason === 'invalid_exact_evm_payload_authorization_value'
  )
}

interface Refused {
  reason: PaymentReason
  payment?: SignedPayment
}

/** 402. The closed body has no room for a reason: it stands in the receipt. */
async function challenge({ shop, request, terms }: Sale, refused?: Refused): Promise<Answer> {
  await shop.board.post()
  const random = randomBytes(quoteRandomBytes)
  const quote = makeQuote(terms, { secret: shop.secrets[0], random, now: shop.clock() })
  const idempotencyKey = request.idempotencyKey ?? randomBytes(24).toString('base64url')
  const { headerVersion } = shop
  const { body, headers } = challengeOf(terms, { quote, idempotencyKey, headerVersion })
  if (refused === undefined) return { status: 402, body, headers }
  const { reason, payment } = refused
  const receipt = {
    success: false,
    errorReason: reason,
    transaction: '',
    network: networkNamed(payment) ?? shop.network,
    ...(payment === undefined ? {} : { payer: payment.authorization.from }),
  }
  return { status: 402, body, headers: { ...headers, ...receiptHeaders(receipt) } }
}

/** As the payer calls it, where it is a name at all. */
function networkNamed(payment: SignedPayment | undefined): string | undefined {
  return payment !== undefined && /^[\w:-]{1,64}$/.test(payment.network)
    ? payment.network
    : undefined
}

async function answerOf(sale: Sale, payment: SignedPayment, made: Purchase): Promise<Answer> {
  if (made.outcome === 'paid') return withReceipt(made, payment)
  if (made.outcome === 'unsold') return made.answer
  if (made.outcome === 'refused') return challenge(sale, { reason: made.reason, payment })
  if (made.outcome === 'key reused') return refuse('purchase_key_reused')
  return made.outcome === 'pending'
    ? later('payment_settlement_pending')
    : later('payment_facilitator_unavailable')
}

/** A 402 would make payers sign once more, and pay twice. */
function later(error: 'payment_facilitator_unavailable' | 'payment_settlement_pending'): Refusal {
  return refuse(error, { headers: { 'Retry-After': '1' } })
}

/** The network by the name that the payer knows it by. */
function withReceipt(
  { answer, transaction }: { answer: Answer; transaction: string },
  { network, authorization }: SignedPayment,
): Answer {
  if (!('status' in answer) || answer.status !== 200) return answer
  const receipt = { success: true, transaction, network, payer: authorization.from }
  return { ...answer, headers: { ...answer.headers, ...receiptHeaders(receipt) } }
}

function receiptHeaders(receipt: object): Record<string, string> {
  const text = encodeHeader(receipt)
  return { 'PAYMENT-RESPONSE': text, 'X-PAYMENT-RESPONSE': text }
}

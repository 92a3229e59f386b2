/**
 * Answers a paid read without a key, from the payment challenge to the receipt (decisions D18, D22,
 * D23).
 */
import { randomBytes } from 'node:crypto'
import type { Answer } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/errors.ts'
import type { PaidRequest, PaymentPort } from '../../platform/http/payments.ts'
import { challengeOf, encodeHeader } from '../protocol/challenge.ts'
import { presentedPayment, type SignedPayment } from '../protocol/payload.ts'
import { makeQuote, quoteRandomBytes } from '../protocol/quote.ts'
import { networks, resourceUrl, type Terms } from '../protocol/terms.ts'
import type { Purchase } from './buy.ts'
import { later, orderOf, type Refused, type Sale, type Shop } from './order.ts'
import type { AttemptOutcome } from './payment-metrics.ts'
import { purchase } from './purchase.ts'

export function paymentPort(shop: Shop): PaymentPort {
  return {
    answer(request) {
      const answering = answerPaid(shop, request)
      shop.meanwhile(answering)
      return answering
    },
  }
}

async function answerPaid(shop: Shop, request: PaidRequest): Promise<Answer> {
  const { outcome, answer } = await attempt({ shop, request, terms: termsOf(shop, request) })
  shop.meter.attempted(request.meter, outcome)
  return answer
}

interface Attempt {
  outcome: AttemptOutcome
  answer: Answer
}

/** Counts each payment that is presented, valid or not. */
async function attempt(sale: Sale): Promise<Attempt> {
  const { shop, request } = sale
  const presented = presentedPayment(request.headers)
  if (presented.kind === 'none') return { outcome: 'challenged', answer: await challenge(sale) }
  const order =
    presented.kind === 'header'
      ? await orderOf(sale, presented.text)
      : { unusable: true, limited: () => request.limit(null) }
  // A new payment is held and verified while the call is counted.
  const [limited, bought] = await Promise.all([
    order.limited(),
    'payment' in order && order.mayBeginEarly ? purchase(shop, order) : null,
  ])
  if (limited !== null) return { outcome: 'limited', answer: limited }
  if ('unusable' in order) return { outcome: 'malformed', answer: refuse('invalid_payment') }
  if ('refused' in order)
    return { outcome: 'refused', answer: await challenge(sale, order.refused) }
  const made = bought ?? (await purchase(shop, order))
  return { outcome: made.outcome, answer: await answerOf(sale, order.payment, made) }
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

/** Returns 402. The closed body has no field for a reason, so it stands in the receipt. */
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

/** Returns the payer's name of the network, if it is a known name. */
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

/** Adds a receipt that names the network as the payer does. */
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

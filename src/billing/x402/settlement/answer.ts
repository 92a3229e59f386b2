/**
 * Answers a paid read without a key, from the payment challenge to the receipt (decisions D18, D22,
 * D23).
 */
import { randomBytes } from 'node:crypto'
import type { Answer } from '../../../edge/http/endpoint.ts'
import type { PaidRequest, PaymentPort } from '../../../edge/http/payments.ts'
import { refuse } from '../../../platform/errors.ts'
import { challengeOf, encodeHeader } from '../protocol/challenge.ts'
import { makeQuote, quoteRandomBytes } from '../protocol/match.ts'
import { presentedPayment, type SignedPayment } from '../protocol/payload.ts'
import { networks, resourceUrl, type Terms } from '../protocol/terms.ts'
import type { Purchase } from './buy.ts'
import { later, orderOf, type PaymentContext, type PricedRequest, type Refused } from './order.ts'
import type { AttemptResult } from './payment-metrics.ts'
import { purchase } from './purchase.ts'

export function paymentPort(payments: PaymentContext): PaymentPort {
  return {
    answer(request) {
      const answering = answerPaid(payments, request)
      payments.meanwhile(answering)
      return answering
    },
  }
}

async function answerPaid(payments: PaymentContext, request: PaidRequest): Promise<Answer> {
  const { result, answer } = await attempt({
    payments,
    request,
    terms: termsOf(payments, request),
  })
  payments.meter.attempted(request.meter, result)
  return answer
}

interface Attempt {
  result: AttemptResult
  answer: Answer
}

/** Counts each payment that is presented, valid or not. */
async function attempt(priced: PricedRequest): Promise<Attempt> {
  const { payments, request } = priced
  const presented = presentedPayment(request.headers)
  if (presented.kind === 'none') return { result: 'challenged', answer: await challenge(priced) }
  const order =
    presented.kind === 'header'
      ? await orderOf(priced, presented.text)
      : { unusable: true, limited: () => request.limit(null) }
  // A new payment is held and verified while the call is counted.
  const [limited, bought] = await Promise.all([
    order.limited(),
    'payment' in order && order.mayBeginEarly ? purchase(payments, order) : null,
  ])
  if (limited !== null) return { result: 'limited', answer: limited }
  if ('unusable' in order) return { result: 'malformed', answer: refuse('invalid_payment') }
  if ('refused' in order)
    return { result: 'refused', answer: await challenge(priced, order.refused) }
  const made = bought ?? (await purchase(payments, order))
  return { result: made.result, answer: await answerOf(priced, order.payment, made) }
}

function termsOf(payments: PaymentContext, request: PaidRequest): Terms {
  return {
    ...networks[payments.network],
    network: payments.network,
    endpoint: request.meter,
    resource: resourceUrl(payments.publicUrl, request.pathTemplate, request),
    description: request.description,
    payTo: payments.payTo,
    amount: payments.amounts[request.meter],
    maxTimeoutSeconds: payments.maxTimeoutSeconds,
  }
}

/** Returns 402. The closed body has no field for a reason, so it stands in the receipt. */
async function challenge(
  { payments, request, terms }: PricedRequest,
  refused?: Refused,
): Promise<Answer> {
  await payments.priceHistory.post()
  const random = randomBytes(quoteRandomBytes)
  const quote = makeQuote(terms, { secret: payments.secrets[0], random, now: payments.clock() })
  const idempotencyKey = request.idempotencyKey ?? randomBytes(24).toString('base64url')
  const { headerVersion } = payments
  const { body, headers } = challengeOf(terms, { quote, idempotencyKey, headerVersion })
  if (refused === undefined) return { status: 402, body, headers }
  const { reason, payment } = refused
  const receipt = {
    success: false,
    errorReason: reason,
    transaction: '',
    network: networkNamed(payment) ?? payments.network,
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

async function answerOf(
  priced: PricedRequest,
  payment: SignedPayment,
  made: Purchase,
): Promise<Answer> {
  if (made.result === 'paid') return withReceipt(made, payment)
  if (made.result === 'unsold') return made.answer
  if (made.result === 'refused') return challenge(priced, { reason: made.reason, payment })
  if (made.result === 'key reused') return refuse('purchase_key_reused')
  return made.result === 'pending'
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

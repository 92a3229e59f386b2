/**
 * Pure: whether a payment is for this resource, at its price, to us and in time: what we can say before anybody else is asked.
 * The signature is not looked at here.
 */
import type { SignedPayment } from './payload.ts'
import { checkQuote } from './quote.ts'
import type { PaymentReason } from './reasons.ts'
import type { Terms } from './terms.ts'

export interface MatchOptions {
  /** That may have made the quote. */
  secrets: readonly string[]
  now: Date
}

/** A settlement takes seconds, and the token refuses what comes later than `validBefore`. */
const secondsLeftMin = 6n

export type Match = { terms: Terms } | { reason: PaymentReason }

/** The terms that hold for this payment: those of the present, or of a young quote that the payer accepted. */
export function matchPayment(payment: SignedPayment, terms: Terms, options: MatchOptions): Match {
  const { authorization, scheme, network } = payment
  if (scheme !== 'exact') return { reason: 'unsupported_scheme' }
  // Before anything is asked of a facilitator in our own words: it would take ours for the payer's.
  if (network !== terms.network && network !== terms.caip2) return { reason: 'invalid_network' }
  const agreed = agreedTerms(payment, terms, options)
  if (agreed === null) return { reason: 'invalid_payment_requirements' }
  if (authorization.to !== agreed.payTo.toLowerCase())
    return { reason: 'invalid_exact_evm_payload_recipient_mismatch' }
  if (authorization.value !== agreed.amount)
    return { reason: 'invalid_exact_evm_payload_authorization_value' }
  const nowSeconds = BigInt(Math.floor(options.now.getTime() / 1_000))
  if (BigInt(authorization.validAfter) > nowSeconds)
    return { reason: 'invalid_exact_evm_payload_authorization_valid_after' }
  return { terms: agreed }
}

/**
 * Null while there is time to settle. Asked apart from the rest: a payment that was made in time is served from the ledger afterwards.
 */
export function expiredReason(payment: SignedPayment, now: Date): PaymentReason | null {
  const nowSeconds = BigInt(Math.floor(now.getTime() / 1_000))
  return BigInt(payment.authorization.validBefore) < nowSeconds + secondsLeftMin
    ? 'invalid_exact_evm_payload_authorization_valid_before'
    : null
}

function agreedTerms(payment: SignedPayment, terms: Terms, options: MatchOptions): Terms | null {
  const { accepted } = payment
  if (accepted === null) return terms
  if (accepted.asset.toLowerCase() !== terms.asset.toLowerCase()) return null
  if (accepted.payTo.toLowerCase() !== terms.payTo.toLowerCase()) return null
  const quoted = { ...terms, amount: accepted.amount }
  const isPresentPrice = accepted.amount === terms.amount
  if (accepted.quote === null) return isPresentPrice ? terms : null
  const verdict = checkQuote(accepted.quote, quoted, options)
  if (verdict === 'good') return quoted
  return verdict === 'old' && isPresentPrice ? terms : null
}

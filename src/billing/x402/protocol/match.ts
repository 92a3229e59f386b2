/**
 * Pure: compares a payment with the resource, its price, the payee and the time. The signature is
 * not checked here.
 */
import type { SignedPayment } from './payload.ts'
import { checkQuote } from './quote.ts'
import type { PaymentReason } from './reasons.ts'
import type { Terms } from './terms.ts'

export interface MatchOptions {
  /** Secrets that may have made the quote. */
  secrets: readonly string[]
  now: Date
}

/**
 * A settlement takes seconds, and the token contract refuses an authorization after `validBefore`.
 */
const secondsLeftMin = 6n

export type Match = { terms: Terms } | { reason: PaymentReason }

/**
 * Returns the terms of this payment: the present ones, or those of a young quote that the payer
 * accepted.
 */
export function matchPayment(payment: SignedPayment, terms: Terms, options: MatchOptions): Match {
  const { authorization, scheme, network } = payment
  if (scheme !== 'exact') return { reason: 'unsupported_scheme' }
  // Checked before a facilitator is asked: it gets our network, not the payer's.
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
 * Returns null while there is time to settle. Separate from the match, because a payment that was
 * made in time is served from the ledger later.
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

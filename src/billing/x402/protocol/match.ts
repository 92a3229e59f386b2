/**
 * Pure: compares a payment with the resource, its price, the payee and the time. The signature is
 * not checked here. Also makes and checks the quotes of prices.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SignedPayment } from './payload.ts'
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

/** Whole seconds in 4 bytes, 12 random bytes, HMAC-SHA-256: 64 characters of base64url. */
const stampBytes = 4
export const quoteRandomBytes = 12
const macBytes = 32

/**
 * A quote is the `extra.nonce` of a challenge. It proves that this service offered these terms, so
 * an unpaid request writes nothing. Clients of version 1 never return it. Clients of version 2 do:
 * then it must be genuine and for this resource, and a price that has changed since is honoured
 * while the quote is young.
 */
export function makeQuote(
  terms: Terms,
  { secret, random, now }: { secret: string; random: Uint8Array; now: Date },
): string {
  const head = Buffer.alloc(stampBytes + quoteRandomBytes)
  head.writeUInt32BE(Math.floor(now.getTime() / 1_000))
  head.set(random.subarray(0, quoteRandomBytes), stampBytes)
  return Buffer.concat([head, macOf(terms, head, secret)]).toString('base64url')
}

type QuoteVerdict =
  /** Genuine, for these terms and young. */
  | 'good'
  /** Genuine, but too old to bind the service to its price. */
  | 'old'
  /** Not genuine, or made for another resource or price. */
  | 'foreign'

/**
 * Checks a quote. `terms` are those that the payer accepted, with their amount. Any of the secrets
 * may have made the quote; new quotes are made with the first.
 */
export function checkQuote(
  quote: string,
  terms: Terms,
  { secrets, now }: { secrets: readonly string[]; now: Date },
): QuoteVerdict {
  const bytes = Buffer.from(quote, 'base64url')
  if (bytes.length !== stampBytes + quoteRandomBytes + macBytes) return 'foreign'
  if (bytes.toString('base64url') !== quote) return 'foreign'
  const head = bytes.subarray(0, stampBytes + quoteRandomBytes)
  const mac = bytes.subarray(head.length)
  if (!secrets.some((secret) => timingSafeEqual(mac, macOf(terms, head, secret)))) return 'foreign'
  const ageSeconds = now.getTime() / 1_000 - bytes.readUInt32BE()
  return ageSeconds <= terms.maxTimeoutSeconds ? 'good' : 'old'
}

function macOf(terms: Terms, head: Uint8Array, secret: string): Buffer {
  const { resource, endpoint, amount, asset, payTo, network } = terms
  const said = ['service.x402_quote.v1', 'GET', resource, endpoint, amount, asset, payTo, network]
  return createHmac('sha256', secret).update(head).update(said.join('\n')).digest()
}

/**
 * Pure: quotes. A quote is the `extra.nonce` of a challenge. It proves that this service offered
 * these terms, so an unpaid request writes nothing. Clients of version 1 never return it. Clients
 * of version 2 do: then it must be genuine and for this resource, and a price that has changed
 * since is honoured while the quote is young.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Terms } from './terms.ts'

/** Whole seconds in 4 bytes, 12 random bytes, HMAC-SHA-256: 64 characters of base64url. */
const stampBytes = 4
export const quoteRandomBytes = 12
const macBytes = 32

export function makeQuote(
  terms: Terms,
  { secret, random, now }: { secret: string; random: Uint8Array; now: Date },
): string {
  const head = Buffer.alloc(stampBytes + quoteRandomBytes)
  head.writeUInt32BE(Math.floor(now.getTime() / 1_000))
  head.set(random.subarray(0, quoteRandomBytes), stampBytes)
  return Buffer.concat([head, macOf(terms, head, secret)]).toString('base64url')
}

export type QuoteVerdict =
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

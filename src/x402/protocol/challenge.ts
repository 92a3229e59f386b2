/**
 * Pure: what a caller without a key is told (spec §2.8). The body is always version 1 of the protocol; so is the header, unless the operator
 * chose version 2 for it: then payers that know only that version can pay as well, and those that read the body still do (decision D22).
 */
import type { Price, Terms } from './terms.ts'

export type HeaderVersion = 1 | 2

export interface Challenge {
  body: unknown
  headers: Record<string, string>
}

export interface ChallengeParts {
  /** Of `makeQuote`. */
  quote: string
  /** 16 to 128 characters: the caller's own, or random. */
  idempotencyKey: string
  headerVersion: HeaderVersion
}

/** Its members are all those that the official payers need, though the specification requires fewer. */
export function challengeOf(terms: Terms, parts: ChallengeParts): Challenge {
  const extra = {
    name: terms.assetName,
    version: terms.assetVersion,
    nonce: parts.quote,
    endpoint: terms.endpoint,
    idempotencyKey: parts.idempotencyKey,
  }
  const body = { x402Version: 1, accepts: [requirementV1(terms, extra)] }
  const header = parts.headerVersion === 1 ? body : challengeV2(terms, extra)
  return { body, headers: { 'PAYMENT-REQUIRED': encodeHeader(header) } }
}

type Extra = Record<'name' | 'version' | 'nonce' | 'endpoint' | 'idempotencyKey', string>

function requirementV1(terms: Terms, extra: Extra) {
  return {
    scheme: 'exact',
    network: terms.network,
    amount: terms.amount,
    maxAmountRequired: terms.amount,
    resource: terms.resource,
    description: terms.description,
    mimeType: 'application/json',
    payTo: terms.payTo,
    asset: terms.asset,
    maxTimeoutSeconds: terms.maxTimeoutSeconds,
    extra,
  }
}

function challengeV2(terms: Terms, extra: Extra) {
  const { resource, description } = terms
  return {
    x402Version: 2,
    resource: { url: resource, description, mimeType: 'application/json' },
    accepts: [{ ...requirementV2(terms), extra }],
  }
}

/** The terms as a facilitator is asked to hold a payment against them. */
export function requirementV2(terms: Price) {
  return {
    scheme: 'exact',
    network: terms.caip2,
    amount: terms.amount,
    asset: terms.asset,
    payTo: terms.payTo,
    maxTimeoutSeconds: terms.maxTimeoutSeconds,
    extra: { name: terms.assetName, version: terms.assetVersion },
  }
}

/** Standard base64 of the JSON: the form of every payment header. */
export function encodeHeader(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

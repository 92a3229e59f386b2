/**
 * Pure: the payment challenge. The body is always version 1 of the protocol. The header is version
 * 1 as well, unless the operator chose version 2 for it: then clients that know only version 2 can
 * pay too, and those that read the body still can (decision D22).
 */
import type { Price, Terms } from './terms.ts'

export type HeaderVersion = 1 | 2

export interface Challenge {
  body: unknown
  headers: Record<string, string>
}

export interface ChallengeOptions {
  /** Made by `makeQuote`. */
  quote: string
  /** 16 to 128 characters: the caller's own key, or a random one. */
  idempotencyKey: string
  headerVersion: HeaderVersion
}

/**
 * Returns the challenge with all members that the official clients need, also those that the
 * specification does not require.
 */
export function challengeOf(terms: Terms, options: ChallengeOptions): Challenge {
  const extra = {
    name: terms.assetName,
    version: terms.assetVersion,
    nonce: options.quote,
    endpoint: terms.endpoint,
    idempotencyKey: options.idempotencyKey,
  }
  const body = { x402Version: 1, accepts: [requirementV1(terms, extra)] }
  const header = options.headerVersion === 1 ? body : challengeV2(terms, extra)
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
    extensions: { [paymentIdentifierName]: paymentIdentifier },
  }
}

/** The extension by which a payment of version 2 names its purchase. */
export const paymentIdentifierName = 'payment-identifier'

/**
 * Declares the extension. The official helpers name a purchase only if they find it here, with the
 * member `required`; the schema is the one that they publish.
 */
const paymentIdentifier = {
  info: { required: false },
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      required: { type: 'boolean' },
      id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' },
    },
    required: ['required'],
  },
}

/** Returns the terms in the form in which a facilitator compares a payment with them. */
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

/** Encodes a payment header: standard base64 of the JSON. */
export function encodeHeader(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

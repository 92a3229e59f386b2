/**
 * Pure: the payment that a caller presents, as a closed plain value. Accepts versions 1 and 2 of
 * the protocol in either header, and only a signed EIP-3009 authorization, which is the kind that
 * the challenge asks for.
 */
import { PaymentPayloadV1Schema, PaymentPayloadV2Schema, z } from '@x402/core/schemas'
import { idempotencyKeyPattern } from '../../../edge/http/contract.ts'
import { parseStrictJson } from '../../../platform/json/strict-json.ts'
import { paymentIdentifierName } from './challenge.ts'
import type { PaymentReason } from './reasons.ts'

export const paymentHeaderBytesMax = 8_192

/**
 * Addresses and hex are lower case, numbers are decimal digits without leading zeros: one
 * authorization has one form.
 */
export interface Authorization {
  from: string
  to: string
  /** Atomic units. */
  value: string
  /** Unix seconds. */
  validAfter: string
  validBefore: string
  /** 32 random bytes of the payer. Together with the payer they identify the payment. */
  nonce: string
}

/** The terms that a client of version 2 says it accepted. */
export interface AcceptedTerms {
  amount: string
  asset: string
  payTo: string
  quote: string | null
}

export interface SignedPayment {
  scheme: string
  network: string
  authorization: Authorization
  signature: string
  accepted: AcceptedTerms | null
  /** The purchase to which the payer assigns this payment. */
  idempotencyKey: string | null
}

export type Presented =
  | { kind: 'none' }
  /** Too long, or several different headers. */
  | { kind: 'unusable' }
  | { kind: 'header'; text: string }

/**
 * Returns the presented payment. Equal headers are one payment; two different ones are unusable
 * (decision D23). Node joins two lines of one header with a comma.
 */
export function presentedPayment(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Presented {
  const lines = [headers['x-payment'], headers['payment-signature']].flat()
  const texts = new Set(lines.flatMap((line) => linesOf(line ?? [])))
  const [text] = texts
  if (text === undefined) return { kind: 'none' }
  return texts.size > 1 || text.length > paymentHeaderBytesMax
    ? { kind: 'unusable' }
    : { kind: 'header', text }
}

/** A comma never occurs in base64, so it separates lines. */
function linesOf(line: string | string[]): string[] {
  if (typeof line !== 'string') return line
  return /^[A-Za-z0-9+/]+=*(, [A-Za-z0-9+/]+=*)+$/.test(line) ? line.split(', ') : [line]
}

export type Decoded = { payment: SignedPayment } | { reason: PaymentReason }

export function decodePayment(header: string): Decoded {
  const value = jsonOf(header)
  if (value === null) return { reason: 'invalid_payload' }
  const version = 'x402Version' in value ? value.x402Version : undefined
  if (version === 1) return decodeV1(value)
  if (version === 2) return decodeV2(value)
  return { reason: 'invalid_x402_version' }
}

function jsonOf(header: string): object | null {
  const bytes = Buffer.from(header, 'base64')
  if (header === '' || bytes.toString('base64') !== header) return null
  const json = parseStrictJson(bytes)
  const isObject = json.kind === 'value' && typeof json.value === 'object' && json.value !== null
  return isObject && !Array.isArray(json.value) ? (json.value as object) : null
}

function decodeV1(value: object): Decoded {
  const parsed = PaymentPayloadV1Schema.safeParse(value)
  if (!parsed.success) return { reason: 'invalid_payload' }
  const { scheme, network, payload } = parsed.data
  const signed = signedOf(payload)
  if (signed === null) return { reason: 'invalid_payload' }
  return { payment: { scheme, network, ...signed, accepted: null, idempotencyKey: null } }
}

function decodeV2(value: object): Decoded {
  const parsed = PaymentPayloadV2Schema.safeParse(value)
  if (!parsed.success) return { reason: 'invalid_payload' }
  const { accepted, payload, extensions } = parsed.data
  const signed = signedOf(payload)
  if (signed === null) return { reason: 'invalid_payload' }
  const { scheme, network, amount, asset, payTo, extra } = accepted
  const quote = text.safeParse(extra?.['nonce']).data ?? null
  const named = paymentIdentifier.safeParse(extensions?.[paymentIdentifierName]).data?.info.id
  const echoed = purchaseKey.safeParse(extra?.['idempotencyKey']).data
  return {
    payment: {
      scheme,
      network,
      ...signed,
      accepted: { amount, asset, payTo, quote },
      idempotencyKey: named ?? echoed ?? null,
    },
  }
}

const text = z.string()
const hex = (characters: number) =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-fA-F]{${characters}}$`))
    .toLowerCase()
/** A number of at most 256 bits. */
const digits = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform((text) => BigInt(text).toString())
  .refine((text) => BigInt(text) < 2n ** 256n)

const purchaseKey = z.string().regex(new RegExp(idempotencyKeyPattern))
const paymentIdentifier = z.object({ info: z.object({ id: purchaseKey }) })

const signedPayload = z.object({
  signature: z
    .string()
    .regex(/^0x([0-9a-fA-F]{2}){65,2048}$/)
    .toLowerCase(),
  authorization: z.object({
    from: hex(40),
    to: hex(40),
    value: digits,
    validAfter: digits,
    validBefore: digits,
    nonce: hex(64),
  }),
})

function signedOf(payload: unknown): Pick<SignedPayment, 'authorization' | 'signature'> | null {
  return signedPayload.safeParse(payload).data ?? null
}

/** Pure: the wire shape of an x402 payment challenge. */
import { Type } from 'typebox'
import { meterNames } from './callers.ts'

const address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
const digits = Type.String({ pattern: '^[0-9]+$', description: 'Atomic units of the asset.' })
const random = Type.String({ minLength: 16, maxLength: 128 })

const paymentRequirement = Type.Object(
  {
    scheme: Type.Literal('exact'),
    network: Type.Enum(['base', 'base-sepolia']),
    amount: Type.Optional(digits),
    maxAmountRequired: digits,
    resource: Type.String({ format: 'uri' }),
    description: Type.String(),
    mimeType: Type.Optional(Type.Literal('application/json')),
    payTo: address,
    asset: address,
    maxTimeoutSeconds: Type.Optional(Type.Integer({ minimum: 1 })),
    extra: Type.Object({
      name: Type.String(),
      version: Type.String(),
      nonce: random,
      endpoint: Type.Enum([...meterNames]),
      idempotencyKey: random,
    }),
  },
  { title: 'PaymentRequirement' },
)

export const paymentChallenge = Type.Object(
  { x402Version: Type.Literal(1), accepts: Type.Array(paymentRequirement, { minItems: 1 }) },
  {
    title: 'PaymentChallenge',
    additionalProperties: false,
    description: 'How to pay on the spot; PAYMENT-REQUIRED holds the same in base64.',
  },
)

/** Pure: the wire shape of an x402 payment challenge. */
import { Type } from 'typebox'
import { closedObject } from '../../platform/json/closed-object.ts'
import { meterNames } from './callers.ts'
import { text } from './fields.ts'

/** The chains on which payments are taken. */
export const networkNames = ['base', 'base-sepolia'] as const
export type NetworkName = (typeof networkNames)[number]

const address = (description: string) =>
  Type.String({ pattern: '^0x[0-9a-fA-F]{40}$', description })
const digits = Type.String({ pattern: '^[0-9]+$', description: 'Atomic units of the asset.' })
const random = (description: string) => Type.String({ minLength: 16, maxLength: 128, description })

const paymentRequirement = Type.Object(
  {
    scheme: Type.Literal('exact', { description: 'The exact amount is paid.' }),
    network: Type.Enum([...networkNames], { description: 'The network of the asset.' }),
    amount: Type.Optional(digits),
    maxAmountRequired: digits,
    resource: Type.String({ format: 'uri', description: 'The URL that the payment is for.' }),
    description: text(200, 'The name of the resource.'),
    mimeType: Type.Optional(
      Type.Literal('application/json', { description: 'The media type of the resource.' }),
    ),
    payTo: address('The address that receives the payment.'),
    asset: address('The contract of the token.'),
    maxTimeoutSeconds: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Seconds for which a payment may be valid.' }),
    ),
    extra: Type.Object(
      {
        name: text(64, 'The name of the token in the domain of its signatures (EIP-712).'),
        version: text(16, 'The version of the token in the domain of its signatures (EIP-712).'),
        nonce: random('Names this challenge.'),
        endpoint: Type.Enum([...meterNames], { description: 'The meter of the call.' }),
        idempotencyKey: random('Names this purchase; a repeat with it is charged once.'),
      },
      { description: 'The token, and the names of this purchase.' },
    ),
  },
  { title: 'PaymentRequirement', description: 'One way to pay for the call.' },
)

export const paymentChallenge = closedObject(
  {
    x402Version: Type.Literal(1, { description: 'The version of x402.' }),
    accepts: Type.Array(paymentRequirement, { minItems: 1, description: 'The ways to pay.' }),
  },
  {
    title: 'PaymentChallenge',
    description: 'How to pay for this request; PAYMENT-REQUIRED holds the same in base64.',
  },
)

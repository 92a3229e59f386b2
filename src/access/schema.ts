/** What a new API key of an account may be. */
import { Type } from 'typebox'
import { environments, scopes } from '../platform/http/callers.ts'
import { uuidParameter } from '../platform/http/fields.ts'

export const overlapHoursMax = 168
export const allowedNetworksMax = 20

export const keyNameLengthMax = 80
const validDaysMax = 3_650

const scopeField = Type.Enum([...scopes], {
  type: 'string',
  description: `must be one of ${scopes.join(', ')}`,
})

/** Each `description` that begins with "must" is also the message to a caller. */
export const apiKeyRequest = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: keyNameLengthMax,
      // No control character, and not spaces alone. `\\xNN` means the same in every engine.
      pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$',
      description: `must be text of 1 to ${keyNameLengthMax} characters`,
    }),
    environment: Type.Enum([...environments], {
      type: 'string',
      description: 'must be live or test',
    }),
    scopes: Type.Array(scopeField, {
      minItems: 1,
      maxItems: scopes.length,
      uniqueItems: true,
      description: `must be 1 to ${scopes.length} scopes, each once`,
    }),
    validDays: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: validDaysMax,
        description: `must be a whole number from 1 to ${validDaysMax}; absent: valid until it is revoked`,
      }),
    ),
    allowedFrom: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        minItems: 1,
        maxItems: allowedNetworksMax,
        description: `must be 1 to ${allowedNetworksMax} networks such as 192.0.2.0/24; absent: any address`,
      }),
    ),
  },
  { additionalProperties: false },
)

export const keyIdPath = Type.Object({
  keyId: uuidParameter('A UUID.'),
})

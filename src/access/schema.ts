/** Wire shapes of the API keys of an account. Their routes are extensions of the specification. */
import { Type } from 'typebox'
import { environments, scopes } from '../platform/http/callers.ts'
import {
  dateTime,
  dateTimeOrNull,
  schemaVersionField,
  text,
  uuidParameter,
} from '../platform/http/fields.ts'

export const overlapHoursMax = 168
export const allowedNetworksMax = 20
const closed = { additionalProperties: false }

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
  { title: 'ApiKeyRequest', ...closed },
)

const apiKey = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Names the key in paths.' }),
    name: text(keyNameLengthMax, 'The name that its creator gave it.'),
    environment: Type.Enum([...environments], {
      type: 'string',
      description: 'A test key reads fictional candidates and costs nothing.',
    }),
    shown: text(32, 'The beginning and the end of the key. The key itself is not kept.'),
    scopes: Type.Array(Type.Enum([...scopes], { type: 'string' }), {
      description: 'The operations that the key may call.',
    }),
    allowedFrom: Type.Union([Type.Array(Type.String({ maxLength: 64 })), Type.Null()], {
      description:
        'The networks from which the key is accepted, such as 192.0.2.0/24. Null: any address.',
    }),
    predecessor: Type.Union([Type.String({ format: 'uuid' }), Type.Null()], {
      description: 'The key that it was rotated from. Null if it was created anew.',
    }),
    createdAt: dateTime('When the key was created.'),
    expiresAt: dateTimeOrNull('When the key ends. Null: it is valid until it is revoked.'),
    revokedAt: dateTimeOrNull('When the key was revoked. Null while it is valid.'),
    lastUsedAt: dateTimeOrNull(
      'When the key was last used, up to a minute behind. Null if it was never used.',
    ),
  },
  { ...closed, title: 'ApiKey', description: 'An API key of the account, without its secret.' },
)

export const apiKeyList = Type.Object(
  {
    schemaVersion: schemaVersionField('api_keys'),
    apiKeys: Type.Array(apiKey, { description: 'The newest key comes first.' }),
  },
  { ...closed, title: 'ApiKeyList' },
)

export const apiKeyChanged = Type.Object(
  { schemaVersion: schemaVersionField('api_key'), apiKey },
  { ...closed, title: 'ApiKeyChanged' },
)

export const apiKeyCreated = Type.Object(
  {
    schemaVersion: schemaVersionField('api_key_create'),
    apiKey,
    key: Type.String({
      pattern: '^svc_(live|test)_[0-9A-Za-z]{36}$',
      description: 'Sent as Authorization: Bearer. It is in this answer alone.',
    }),
  },
  { ...closed, title: 'ApiKeyCreated' },
)

export const rotateRequest = Type.Object(
  {
    overlapHours: Type.Integer({
      minimum: 0,
      maximum: overlapHoursMax,
      description: `must be a whole number from 0 to ${overlapHoursMax}`,
    }),
  },
  { ...closed, title: 'ApiKeyRotation' },
)

export const keyIdPath = Type.Object({
  keyId: uuidParameter('A UUID.'),
})

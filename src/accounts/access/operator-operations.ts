/** The operations on tokens of the operator's own systems. */
import { Type } from 'typebox'
import { operatorRoles } from '../../edge/http/callers.ts'
import {
  afterField,
  idField,
  limitField,
  madeId,
  nextField,
  orNull,
  pageOf,
  time,
} from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { refuse } from '../../platform/errors.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { keyDigest, networkText, newOperatorToken, shownKey } from './api-key.ts'
import { findTokens, insertToken, revokeToken } from './operator-tokens.ts'
import { allowedNetworksMax, keyNameLengthMax } from './schema.ts'

const { read, change } = operationsFor<object>()

const token = closedObject({
  id: Type.String(),
  name: Type.String(),
  role: Type.Enum([...operatorRoles]),
  shown: Type.String({ description: 'The beginning and the end of the token.' }),
  allowedFrom: orNull(Type.Array(Type.String()), 'Null: any network.'),
  createdAt: time,
  expiresAt: time,
  revokedAt: orNull(time, 'Null while it is valid.'),
  lastUsedAt: orNull(time, 'Up to a minute behind; null if it was never used.'),
})

const dayMs = 86_400_000
const validDaysMax = 400

export const operatorsCreateToken = change({
  name: 'operators create-token',
  http: 'POST /operator-tokens',
  summary: 'Make a token for a system of yours',
  who: { operator: 'admin' },
  input: {
    name: Type.String({
      minLength: 1,
      maxLength: keyNameLengthMax,
      pattern: '^[^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f][^\\x00-\\x1f\\x7f]*$',
      description: `must be text of 1 to ${keyNameLengthMax} characters`,
      'x-help': 'of the system that gets the token',
    }),
    role: Type.Enum([...operatorRoles], { description: operatorRoles.join(', ') }),
    allowedFrom: Type.Optional(
      Type.Array(Type.String({ maxLength: 64, description: 'must be a network' }), {
        minItems: 1,
        maxItems: allowedNetworksMax,
        description: 'networks from which the token may be used, such as 192.0.2.0/24',
      }),
    ),
    validDays: Type.Integer({
      minimum: 1,
      maximum: validDaysMax,
      default: 90,
      description: 'days until the token ends',
    }),
  },
  positional: ['name'],
  output: closedObject({
    token: closedObject({ ...token.properties, id: madeId, shown: madeId }),
    secret: Type.String({ description: 'Shown once.', 'x-secret': true }),
  }),
  refusals: ['invalid_field'],
  example: { name: 'HR system', role: 'ingest', validDays: 90 },
  audit: 'operators.token_created',
  renderLines: ({ token: { id, role, expiresAt }, secret }) => [
    secret,
    `This token is shown once. Its id is ${id}, its role ${role}; it ends ${expiresAt}.`,
  ],
  async run(tx, { name, role, allowedFrom, validDays }, { now }) {
    const networks = allowedFrom?.map(networkText) ?? null
    const wrong = networks?.indexOf(null) ?? -1
    if (wrong >= 0)
      return refuse('invalid_field', {
        message: `allowedFrom must be networks such as 192.0.2.0/24, not ${allowedFrom?.[wrong]}.`,
      })
    const secret = newOperatorToken()
    const stored = {
      id: uuidV7(now),
      name: name.trim(),
      role,
      shown: shownKey(secret),
      allowedFrom: networks?.filter((network) => network !== null) ?? null,
      createdAt: now,
      expiresAt: new Date(now.getTime() + validDays * dayMs),
      revokedAt: null,
      lastUsedAt: null,
    }
    await insertToken(tx, stored, keyDigest(secret))
    const entry = { subjects: [stored.id], details: { role } }
    return changed({ token: stored, secret }, entry)
  },
})

export const operatorsRevokeToken = change({
  name: 'operators revoke-token',
  http: 'POST /operator-tokens/{tokenId}/revoke',
  summary: 'Revoke a token, for ever',
  who: { operator: 'admin' },
  path: { tokenId: idField('a token', 'operators list-tokens') },
  output: closedObject({ tokenId: Type.String(), changed: Type.Boolean() }),
  refusals: ['operator_token_not_found'],
  example: { tokenId: '01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f' },
  audit: 'operators.token_revoked',
  when: (record) => Reflect.get(record, 'revokedAt') === null,
  danger: 'The system that has the token is refused from its next call on.',
  renderLines: ({ tokenId, changed: isChanged }) => [
    isChanged ? `Token ${tokenId} is revoked.` : `Token ${tokenId} was revoked before.`,
  ],
  async run(tx, { tokenId }, { now }) {
    const [stored] = await findTokens(tx, { id: tokenId, limit: 1 })
    if (stored === undefined) return refuse('operator_token_not_found')
    if (!(await revokeToken(tx, tokenId, now))) return unchanged({ tokenId, changed: false })
    return changed({ tokenId, changed: true }, { subjects: [tokenId] })
  },
})

const operatorsListTokens = read({
  name: 'operators list-tokens',
  http: 'GET /operator-tokens',
  summary: 'Show the tokens of your systems, the newest first',
  who: { operator: 'viewer' },
  input: { limit: limitField, after: afterField },
  output: closedObject({ tokens: Type.Array(token), next: nextField }),
  example: { limit: 200 },
  none: 'There is no operator token. Run `assay operators create-token`.',
  columns: {
    name: 'name',
    role: 'role',
    token: 'shown',
    state: ({ revokedAt }) => (revokedAt === null ? 'not revoked' : 'revoked'),
    ends: 'expiresAt',
    used: 'lastUsedAt',
    id: 'id',
  },
  async run(db, { limit, after = null }) {
    const rows = await findTokens(db, { after, limit: limit + 1 })
    const { rows: shown, next } = pageOf(rows, limit, ({ id }) => id)
    return { tokens: shown, next }
  },
})

export const operatorOperations = [
  operatorsCreateToken,
  operatorsListTokens,
  operatorsRevokeToken,
] as const

/** The operations on API keys of accounts. A key is shown only by the operation that makes it. */
import { Type } from 'typebox'
import { environments, scopes } from '../../edge/http/callers.ts'
import {
  type AccountServices,
  accountField,
  afterField,
  flagField,
  idField,
  limitField,
  madeId,
  nextField,
  orNull,
  ownerNamed,
  pageOf,
  time,
} from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { refuse } from '../../platform/errors.ts'
import { closedObject, listOf } from '../../platform/json/closed-object.ts'
import { sameNames } from '../../platform/render-table.ts'
import { findAllEntries } from '../request-log/store.ts'
import { keyColumns, listedKey, withState } from './account-operations.ts'
import { networkText } from './api-key.ts'
import {
  activeKeysMax,
  createApiKey,
  restrictApiKey,
  revokeApiKey,
  rotateApiKey,
} from './manage.ts'
import { allowedNetworksMax, keyName, overlapHoursMax, validDaysMax } from './schema.ts'
import { findKeyByText, findKeys, findOwnKey } from './store.ts'

export interface KeyServices extends AccountServices {
  /** Runs `work` on the database of the request log. */
  withCalls<Result>(db: Queryable, work: (calls: Queryable) => Promise<Result>): Promise<Result>
}

const { read, change } = operationsFor<AccountServices>()
const { read: readCalls } = operationsFor<KeyServices>()

const keyId = idField('an API key', 'api-keys list')
const exampleId = '01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f'
const secret = Type.String({ description: 'Shown once.', 'x-secret': true })
const networks = Type.Array(
  Type.String({ maxLength: 64, description: 'must be a network such as 192.0.2.0/24' }),
  {
    minItems: 1,
    maxItems: allowedNetworksMax,
    description: `must be 1 to ${allowedNetworksMax} networks such as 192.0.2.0/24`,
    'x-flag': 'allow-from',
    'x-help': 'addresses and networks, such as 192.0.2.0/24; default: from anywhere',
  },
)
const allowedFrom = orNull(Type.Array(Type.String()), 'Null: from anywhere.')
const shownOnce = 'The key is not shown again.'

/** Returns the networks in their one form, or the refusal of the first that is none. */
function networksOf(texts: readonly string[] | undefined) {
  if (texts === undefined) return { networks: null }
  const forms = texts.map(networkText)
  const wrong = forms.indexOf(null)
  if (wrong >= 0)
    return refuse('invalid_field', {
      message: `allowedFrom must hold addresses or networks such as 192.0.2.7 or 2001:db8::/32, not ${texts[wrong]}.`,
    })
  return { networks: [...new Set(forms.filter((network) => network !== null))] }
}

const dayMs = 86_400_000

export const apiKeysCreate = change({
  name: 'api-keys create',
  http: 'POST /accounts/{account}/api-keys',
  summary: 'Create a key, and show it this one time',
  who: { operator: 'support', member: 'owner' },
  path: { account: accountField },
  input: {
    scopes: Type.Array(Type.Enum([...scopes]), {
      minItems: 1,
      maxItems: scopes.length,
      description: `${scopes.join(', ')}: only those needed`,
      'x-flag': 'scope',
    }),
    environment: Type.Enum([...environments], {
      default: 'live',
      description: 'live, or test for sandbox data alone, free of charge',
    }),
    name: { ...keyName, default: 'API key', 'x-help': 'tells the keys of the account apart' },
    validDays: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: validDaysMax,
        description: `must be a whole number from 1 to ${validDaysMax}`,
        'x-flag': 'expires-days',
        'x-help': 'default: valid until it is revoked',
      }),
    ),
    allowedFrom: Type.Optional(networks),
  },
  output: closedObject({
    id: madeId,
    key: secret,
    expiresAt: orNull(time, 'Null: it is valid until it is revoked.'),
  }),
  refusals: ['account_not_found', 'api_keys_maximum', 'invalid_field', 'idempotency_key_spent'],
  example: {
    account: 'Example Ltd',
    scopes: ['scores:read'],
    environment: 'live',
    name: 'production',
  },
  audit: 'api_keys.created',
  keepsKeys: true,
  renderLines: ({ id, key }) => [key, `id ${id}`, shownOnce],
  async run(tx, { account, scopes: asked, validDays: days, name: text, ...input }, context) {
    const allowed = networksOf(input.allowedFrom)
    if ('refusal' in allowed) return allowed
    const of = await ownerNamed(tx, account, context)
    if ('refusal' in of) return of
    const { now, idempotencyKey } = context
    const { environment } = input
    if (environment === 'test' && asked.includes('webhooks:write'))
      return refuse('invalid_field', {
        message:
          'scopes: A test key cannot have webhooks:write, because the sandbox has no webhooks. Leave it out, or create a live key.',
      })
    const expiresAt = days === undefined ? null : new Date(now.getTime() + days * dayMs)
    const wanted = {
      accountId: of.id,
      environment,
      name: text.trim(),
      scopes: scopes.filter((scope) => asked.includes(scope)),
      allowedFrom: allowed.networks,
      expiresAt,
    }
    const created = await createApiKey(tx, wanted, { now, formValue: idempotencyKey })
    if ('refusal' in created)
      return created.refusal === 'api_keys_maximum'
        ? { ...created, message: `${of.name} has ${activeKeysMax} active keys, its maximum.` }
        : created
    const { id, key } = created
    const details = { account: of.id, environment }
    return changed({ id, key, expiresAt }, { subjects: [id], details })
  },
})

const apiKeysList = read({
  name: 'api-keys list',
  http: 'GET /accounts/{account}/api-keys',
  summary: 'Show the keys of an account, the newest first',
  who: { operator: 'viewer', member: 'member' },
  path: { account: accountField },
  input: { limit: limitField, after: afterField },
  output: closedObject({ keys: Type.Array(listedKey), next: nextField }),
  refusals: ['account_not_found'],
  example: { account: 'Example Ltd', limit: 200 },
  none: 'The account has no API key.',
  columns: keyColumns,
  async run(db, { account, limit, after = null }, context) {
    const of = await ownerNamed(db, account, context)
    if ('refusal' in of) return of
    const found = await findKeys(db, of.id, { after, limit: limit + 1 })
    const { rows, next } = pageOf(found, limit, ({ id }) => id)
    return { keys: rows.map((key) => withState(key, context.now)), next }
  },
})

/** A change for its method alone: a URL must not hold a key. */
const apiKeysFind = change({
  name: 'api-keys find',
  http: 'POST /api-keys/find',
  summary: 'Find a key by its text, or by its shown beginning and end',
  who: { operator: 'support' },
  input: {
    text: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'the whole key, or what lists show of it, such as svc_live_aB3d…x9Yz',
    }),
  },
  positional: ['text'],
  output: closedObject({
    ...listedKey.properties,
    accountId: Type.String(),
    account: Type.String({ description: 'The name of the account.' }),
  }),
  refusals: ['api_key_not_found'],
  example: { text: 'svc_live_aB3d…x9Yz' },
  audit: { none: 'It changes nothing.' },
  async run(tx, { text }, { now, services }) {
    const found = await findKeyByText(tx, text)
    if (found === undefined)
      return refuse('api_key_not_found', { message: 'No API key has this text.' })
    const names = await services.accounts.names(tx, [found.accountId])
    const { accountId } = found
    return unchanged({
      ...withState(found, now),
      accountId,
      account: names.get(accountId) ?? accountId,
    })
  },
})

const apiKeysCalls = readCalls({
  name: 'api-keys calls',
  http: 'GET /api-keys/{keyId}/calls',
  summary: 'Show the last calls with a key, among the newest million of its account',
  who: { operator: 'support' },
  path: { keyId },
  input: { limit: limitField },
  output: closedObject({
    calls: listOf({
      at: time,
      operation: Type.String(),
      status: Type.Integer(),
      error: orNull(Type.String(), 'The code of the refusal; null if there is none.'),
      credits: Type.Integer(),
      network: Type.String({ description: 'The network of the caller.' }),
      requestId: Type.String(),
    }),
  }),
  refusals: ['api_key_not_found'],
  example: { keyId: exampleId, limit: 200 },
  none: 'The request log has no call with this key.',
  columns: {
    ...sameNames('at', 'operation', 'status', 'error', 'credits', 'network'),
    request: 'requestId',
  },
  async run(db, { keyId: id, limit }, { services }) {
    const key = await findOwnKey(db, { id, accountId: null })
    if (key === undefined)
      return refuse('api_key_not_found', { message: `No API key has the id ${id}.` })
    const wanted = { accountId: key.accountId, keyId: id, before: null, limit }
    return { calls: await services.withCalls(db, (calls) => findAllEntries(calls, wanted)) }
  },
})

export const apiKeysRotate = change({
  name: 'api-keys rotate',
  http: 'POST /api-keys/{keyId}/rotate',
  summary: 'Create a successor with the same rights; the key itself ends later',
  who: { operator: 'support', member: 'owner' },
  path: { keyId },
  input: {
    overlapHours: Type.Integer({
      minimum: 0,
      maximum: overlapHoursMax,
      default: 24,
      description: `must be a whole number from 0 to ${overlapHoursMax}`,
      'x-help': 'hours for which both keys are valid',
    }),
    now: flagField('revoke the key at once'),
  },
  output: closedObject({ id: madeId, key: secret, predecessorEndsAt: time }),
  refusals: ['api_key_not_found', 'api_key_not_rotatable', 'api_keys_maximum'],
  example: { keyId: exampleId, overlapHours: 48, now: false },
  audit: 'api_keys.rotated',
  when: (record) => Reflect.get(record, 'state') === 'active',
  renderLines: ({ id, key, predecessorEndsAt }, { overlapHours, now }) => [
    key,
    `id ${id}`,
    shownOnce,
    now || overlapHours === 0
      ? 'The old key is revoked.'
      : `The old key ends at ${predecessorEndsAt}.`,
  ],
  async run(tx, { keyId: id, overlapHours: hours, now: atOnce }, { owner, now }) {
    const overlapHours = atOnce ? 0 : hours
    const rotated = await rotateApiKey(tx, { id, owner, overlapHours, now })
    if ('refusal' in rotated) return rotated
    const { accountId, id: successor, key, predecessorEndsAt } = rotated
    return changed(
      { id: successor, key, predecessorEndsAt },
      { subjects: [id], account: accountId, details: { successor, overlapHours } },
    )
  },
})

const apiKeysRestrict = change({
  name: 'api-keys restrict',
  http: 'POST /api-keys/{keyId}/restrict',
  summary: 'Set the networks from which a key is valid, effective at once',
  who: { operator: 'support' },
  path: { keyId },
  input: {
    allowedFrom: Type.Optional(networks),
    anywhere: flagField('remove the restriction'),
  },
  output: closedObject({ id: Type.String(), allowedFrom }),
  refusals: ['invalid_field', 'api_key_not_found', 'api_key_revoked'],
  example: { keyId: exampleId, allowedFrom: ['192.0.2.0/24'], anywhere: false },
  audit: 'api_keys.restricted',
  when: (record) => Reflect.get(record, 'state') !== 'revoked',
  renderLines: ({ id, allowedFrom: from }) => [
    `${id} is valid ${from === null ? 'from anywhere' : `only from ${from.join(', ')}`}.`,
  ],
  async run(tx, { keyId: id, allowedFrom: texts, anywhere }, { owner }) {
    if ((texts === undefined) !== anywhere)
      return refuse('invalid_field', {
        message: 'allowedFrom must name networks, or anywhere be true: send one of the two.',
      })
    const allowed = networksOf(texts)
    if ('refusal' in allowed) return allowed
    const restricted = await restrictApiKey(tx, { id, owner }, allowed.networks)
    if ('refusal' in restricted) return restricted
    return changed(
      { id, allowedFrom: allowed.networks },
      {
        subjects: [id],
        account: restricted.accountId,
        details: { networks: allowed.networks?.length ?? 0 },
      },
    )
  },
})

export const apiKeysRevoke = change({
  name: 'api-keys revoke',
  http: 'POST /api-keys/{keyId}/revoke',
  summary: 'Revoke a key, at once and for ever',
  who: { operator: 'support', member: 'owner' },
  path: { keyId },
  output: closedObject({ id: Type.String(), result: Type.Enum(['revoked', 'before']) }),
  refusals: ['api_key_not_found'],
  example: { keyId: exampleId },
  audit: 'api_keys.revoked',
  when: (record) => Reflect.get(record, 'state') !== 'revoked',
  danger: 'No request with the key is served any more, on every server.',
  renderLines: ({ id, result }) => [
    result === 'before'
      ? `${id} was revoked before.`
      : `${id} is revoked: no request with it is served any more.`,
  ],
  async run(tx, { keyId: id }, { owner, now }) {
    const revoked = await revokeApiKey(tx, { id, owner }, now)
    if ('refusal' in revoked) return revoked
    if (!revoked.changed) return unchanged({ id, result: 'before' })
    return changed({ id, result: 'revoked' }, { subjects: [id], account: revoked.accountId })
  },
})

/** In the order of the help. */
export const apiKeyOperations = [
  apiKeysCreate,
  apiKeysList,
  apiKeysFind,
  apiKeysCalls,
  apiKeysRotate,
  apiKeysRestrict,
  apiKeysRevoke,
] as const

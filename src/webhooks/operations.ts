/** The operations on webhook endpoints. Those on secrets and on deliveries have files of their own. */
import { type Static, Type } from 'typebox'
import { schemaVersion } from '../edge/http/identifiers.ts'
import {
  accountField,
  afterField,
  flagField,
  limitField,
  listOwner,
  madeId,
  nextField,
  orNull,
  ownerNamed,
  pageOf,
  time,
  withAccounts,
} from '../operations/fields.ts'
import { changed, unchanged } from '../operations/operation.ts'
import type { Queryable } from '../platform/db/db.ts'
import { type ErrorName, type Refusal, refuse } from '../platform/errors.ts'
import { closedObject, listOf } from '../platform/json/closed-object.ts'
import type { Stored } from '../platform/json/wire-object.ts'
import { renderFields } from '../platform/render-fields.ts'
import { findFailingNow, findOwners, hasFailures } from './delivery/endpoint-store.ts'
import { findEndpointHealth } from './delivery/history-store.ts'
import { lockKnown, unknownEndpoint } from './delivery/own-endpoint.ts'
import { setLimits } from './delivery/rate-store.ts'
import { untilNothingStarts } from './delivery/send.ts'
import { deliveryOperations } from './delivery-operations.ts'
import { createEndpoint, readEndpointRequest } from './endpoints/create.ts'
import {
  disableEndpoint,
  type EndpointMove,
  enableEndpoint,
  pauseEndpoint,
} from './endpoints/enable.ts'
import {
  descriptionForm,
  eventTypeList,
  urlForm,
  urlLengthMax,
  webhookEndpoint,
  wireEndpoint,
} from './endpoints/schema.ts'
import { findEndpoints, findNewestIds } from './endpoints/store.ts'
import { eventTypeNames } from './events/event-types.ts'
import {
  answerText,
  change,
  changeLine,
  endpointChange,
  endpointId,
  endpointOf,
  entryOf,
  exampleId,
  ofAccount,
  openRing,
  read,
  signingSecret,
  type WebhookServices,
} from './operation-parts.ts'
import { secretOperations } from './secret-operations.ts'

export const webhooksCreate = change({
  name: 'webhooks create',
  http: 'POST /accounts/{account}/webhooks',
  summary: 'Create a webhook endpoint for an account; its secret is shown once',
  who: { operator: 'support', member: 'member', key: 'webhooks:write' },
  path: { account: accountField },
  input: {
    url: Type.String({
      maxLength: urlLengthMax,
      description: urlForm,
      'x-help': 'https, a public host',
    }),
    events: Type.Array(Type.Enum([...eventTypeNames], { type: 'string' }), {
      ...eventTypeList,
      'x-flag': 'event',
      'x-help': 'score.updated, score.revised, evidence.revoked, …',
    }),
    description: Type.Optional(
      Type.String({ ...descriptionForm, 'x-help': 'at most 120 characters' }),
    ),
  },
  positional: ['url'],
  output: closedObject({
    endpoint: closedObject({ ...webhookEndpoint.properties, id: madeId }),
    signingSecret,
  }),
  refusals: [
    'invalid_field',
    'account_not_found',
    'webhooks_not_configured',
    'idempotency_key_reused',
    'webhook_endpoints_maximum',
  ],
  example: {
    url: 'https://hooks.example.com/in',
    account: 'Example Ltd',
    events: ['score.updated'],
  },
  audit: 'webhooks.created',
  keepsKeys: true,
  renderLines: ({ endpoint, signingSecret: secret }) => [
    `endpoint        ${endpoint.id}`,
    `signing secret  ${secret}`,
    'The secret is not shown again.',
  ],
  async run(tx, { account, ...body }, context) {
    const { owner, services, idempotencyKey, now } = context
    const { rules, activeMax, onSecretShown } = services.webhooks
    const allowHttp = owner === 'any' && rules.allowHttp
    const asked = readEndpointRequest(body, rules, { allowHttp })
    if ('fault' in asked) return refuse('invalid_field', { message: asked.fault })
    const ring = await openRing(services)
    if ('refusal' in ring) return ring
    const named = await ownerNamed(tx, account, context)
    if ('refusal' in named) return named
    const input = { userId: named.id, request: asked.request, idempotencyKey, now }
    const created = await createEndpoint(tx, { ring, activeMax }, input)
    if ('refusal' in created)
      return owner === 'any' && created.refusal === 'webhook_endpoints_maximum'
        ? { ...created, message: atMaximum(named.name, activeMax) }
        : created
    const { endpoint, signingSecret: secret, isReplay } = created
    const output = { endpoint: wireEndpoint(endpoint), signingSecret: secret }
    if (!isReplay) return changed(output, entryOf(endpoint))
    return unchanged(output, { after: async () => onSecretShown(endpoint.id) })
  },
})

function atMaximum(of: string, activeMax: number): string {
  return `${of} has ${activeMax} active endpoints, its maximum.`
}

const listedEndpoint = closedObject({
  ...webhookEndpoint.properties,
  account: Type.String({ description: 'The name of the account.' }),
  disabledReason: orNull(Type.Enum(['owner', 'operator', 'gone', 'failing']), 'Null if active.'),
  perSecond: orNull(Type.Integer(), 'Deliveries a second; null means no limit.'),
})

export const webhooksEndpoints = read({
  name: 'webhooks endpoints',
  http: 'GET /webhooks',
  summary: 'Show webhook endpoints, the newest first',
  who: { operator: 'viewer', member: 'member' },
  input: {
    account: ofAccount,
    all: flagField('disabled endpoints as well'),
    limit: limitField,
    after: afterField,
  },
  output: closedObject({ endpoints: Type.Array(listedEndpoint), next: nextField }),
  refusals: ['account_not_found'],
  example: { account: 'Example Ltd', all: true, limit: 200 },
  none: 'There is no such webhook endpoint.',
  columns: {
    account: 'account',
    url: 'url',
    state: ({ disabledReason }) =>
      disabledReason === null ? 'active' : `disabled (${disabledReason})`,
    disabled: 'disabledAt',
    perSecond: 'perSecond',
    events: ({ eventTypes }) => eventTypes.join(','),
    id: 'id',
  },
  async run(db, { account, all, limit, after = null }, context) {
    const owner = await listOwner(db, account, context)
    if (owner !== 'any' && 'refusal' in owner) return owner
    const ids = await findNewestIds(db, { owner, disabledToo: all, after, limit: limit + 1 })
    const { rows, next } = pageOf(ids, limit, (id) => id)
    return { endpoints: await listedEndpoints(db, rows, context), next }
  },
})

/** Returns the endpoints in the order of the ids. */
async function listedEndpoints(
  db: Queryable,
  ids: readonly string[],
  { now, services }: { now: Date; services: WebhookServices },
): Promise<Stored<Static<typeof listedEndpoint>>[]> {
  const found = new Map((await findEndpoints(db, ids, now)).map((row) => [row.id, row]))
  const rows = ids.flatMap((id) => found.get(id) ?? [])
  const named = await withAccounts(db, rows, services)
  return named.map((row) => ({ ...row, schemaVersion: schemaVersion('webhook_endpoint') }))
}

const health = {
  failingSince: orNull(time, 'Null if its last delivery succeeded.'),
  consecutiveFailures: Type.Integer(),
  lastSuccessAt: orNull(time, 'Null if none succeeded yet.'),
  waiting: Type.Integer({ description: 'Deliveries that wait.' }),
}

export const webhooksFailing = read({
  name: 'webhooks failing',
  http: 'GET /webhooks/failing',
  summary: 'Show the endpoints that fail, with the error, the longest failing first',
  who: { operator: 'viewer', member: 'member' },
  input: { account: ofAccount, limit: limitField, after: afterField },
  output: closedObject({
    endpoints: listOf({
      ...listedEndpoint.properties,
      health: closedObject({
        ...health,
        responseStatus: orNull(Type.Integer(), 'Of the last failure.'),
        errorCode: orNull(Type.String(), 'Of the last failure.'),
      }),
    }),
    next: nextField,
  }),
  refusals: ['account_not_found', 'invalid_field'],
  example: { account: 'Example Ltd', limit: 200 },
  none: 'No webhook endpoint fails.',
  columns: {
    account: 'account',
    url: 'url',
    failingSince: (row) => row.health.failingSince,
    attempts: (row) => row.health.consecutiveFailures,
    lastError: ({ health }) => answerText(health),
    waiting: (row) => row.health.waiting,
    id: 'id',
  },
  async run(db, { account, limit, after = null }, context) {
    const owner = await listOwner(db, account, context)
    if (owner !== 'any' && 'refusal' in owner) return owner
    const found = await findFailingNow(db, { owner, limit: limit + 1, after })
    // The order is that of the time, which an endpoint loses with its next success.
    if (after !== null && found.length === 0 && !(await hasFailures(db, after)))
      return refuse('invalid_field', {
        message: 'after names an endpoint that fails no longer. Begin with the first page.',
      })
    const { rows, next } = pageOf(found, limit, ({ id }) => id)
    const listed = await listedEndpoints(
      db,
      rows.map(({ id }) => id),
      context,
    )
    const byId = new Map(listed.map((one) => [one.id, one]))
    const endpoints = rows.flatMap((row) => {
      const one = byId.get(row.id)
      return one === undefined ? [] : { ...one, url: row.url, health: row }
    })
    return { endpoints, next }
  },
})

const shownEndpoint = closedObject({
  ...listedEndpoint.properties,
  ...health,
  pausedAt: orNull(time, 'Null if it is not paused.'),
  parkedUntil: orNull(time, 'The receiver asked for no delivery before this time.'),
  nextDueAt: orNull(time, 'When the next attempt is due.'),
  nextSecretSignsFrom: orNull(time, 'When an announced secret begins to sign.'),
  previousSecretEndsAt: orNull(time, 'Until when the previous secret signs beside the new one.'),
})

export const webhooksShow = read({
  name: 'webhooks show',
  http: 'GET /webhooks/{endpointId}',
  summary: 'Show a webhook endpoint, its health and its secrets’ times',
  who: { operator: 'viewer', member: 'member' },
  path: { endpointId },
  output: closedObject({ endpoint: shownEndpoint }),
  refusals: ['webhook_endpoint_not_found'],
  example: { endpointId: exampleId },
  renderLines({ endpoint: { url, ...facts } }) {
    const shown = Object.entries(facts)
      .filter(([name]) => name !== 'schemaVersion' && name !== 'userId')
      .map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value])
    return [url, ...renderFields(Object.fromEntries(shown))]
  },
  async run(db, { endpointId: id }, context) {
    const { owner, now } = context
    const userId = owner === 'any' ? (await findOwners(db, [id])).get(id) : owner.userId
    if (userId === undefined) return unknownEndpoint({ endpointId: id, owner })
    const [state] = await findEndpointHealth(db, { userId, endpointId: id }, now)
    const [listed] = state === undefined ? [] : await listedEndpoints(db, [id], context)
    if (state === undefined || listed === undefined)
      return unknownEndpoint({ endpointId: id, owner })
    return { endpoint: { ...state, ...listed } }
  },
})

const isActive = (record: object) => Reflect.get(record, 'disabledAt') === null
const isPaused = (record: object) => Reflect.get(record, 'pausedAt') !== null

export const webhooksDisable = change({
  name: 'webhooks disable',
  http: 'POST /webhooks/{endpointId}/disable',
  summary: 'Send nothing more to an endpoint, and cancel its pending deliveries',
  who: { operator: 'support', member: 'member', key: 'webhooks:write' },
  path: { endpointId },
  output: closedObject({ changed: Type.Boolean(), endpoint: webhookEndpoint }),
  refusals: ['webhook_endpoint_not_found'],
  example: { endpointId: exampleId },
  audit: 'webhooks.disabled',
  when: isActive,
  danger: 'Its pending deliveries are cancelled, and later events are not kept for it.',
  renderLines: ({ changed: isNew, endpoint: { id, disabledAt } }) => [
    isNew ? `${id} is disabled.` : `${id} has been disabled since ${disabledAt ?? ''}.`,
  ],
  async run(tx, { endpointId: id }, { owner, now }) {
    const reason = owner === 'any' ? 'operator' : 'owner'
    const disabled = await disableEndpoint(tx, { endpointId: id, owner, reason, now })
    if ('refusal' in disabled) return disabled
    const { endpoint, changed: isNew } = disabled
    // No delivery starts after the answer, also if a repeat is answered.
    const after = () => untilNothingStarts(endpoint.disabledAt ?? now, now)
    const output = { changed: isNew, endpoint: wireEndpoint(endpoint) }
    return isNew ? changed(output, entryOf(endpoint), { after }) : unchanged(output, { after })
  },
})

export const webhooksEnable = change({
  name: 'webhooks enable',
  http: 'POST /webhooks/{endpointId}/enable',
  summary: 'Send to a disabled endpoint again, from the next event on',
  who: { operator: 'support', member: 'member' },
  path: { endpointId },
  output: endpointChange,
  refusals: ['webhook_endpoint_not_found', 'webhook_endpoints_maximum'],
  example: { endpointId: exampleId },
  audit: 'webhooks.enabled',
  when: (record) => !isActive(record),
  renderLines: changeLine('receives events again'),
  async run(tx, { endpointId: id }, { owner, now, services }) {
    const { activeMax } = services.webhooks
    const moved = await enableEndpoint(tx, { endpointId: id, owner, activeMax, at: now })
    if ('refusal' in moved)
      return owner === 'any' && moved.refusal === 'webhook_endpoints_maximum'
        ? { ...moved, message: atMaximum(`The account of ${id}`, activeMax) }
        : moved
    return moveDone(moved)
  },
})

/** Returns the result of an operation that moves an endpoint from one state to another. */
function moveDone<Name extends ErrorName>(moved: EndpointMove | Refusal<Name>) {
  if ('refusal' in moved) return moved
  const { endpoint, changed: isNew } = moved
  const output = { endpointId: endpoint.id, changed: isNew }
  return isNew ? changed(output, entryOf(endpoint)) : unchanged(output)
}

export const webhooksPause = change({
  name: 'webhooks pause',
  http: 'POST /webhooks/{endpointId}/pause',
  summary: 'Hold back deliveries to an endpoint',
  who: { operator: 'support', member: 'member' },
  path: { endpointId },
  output: endpointChange,
  refusals: ['webhook_endpoint_not_found', 'webhook_endpoint_disabled'],
  example: { endpointId: exampleId },
  audit: 'webhooks.paused',
  when: (record) => isActive(record) && !isPaused(record),
  renderLines: changeLine('is paused: events wait for it'),
  run: async (tx, { endpointId: id }, { owner, now }) =>
    moveDone(await pauseEndpoint(tx, { endpointId: id, owner, pausedAt: now })),
})

export const webhooksResume = change({
  name: 'webhooks resume',
  http: 'POST /webhooks/{endpointId}/resume',
  summary: 'Let deliveries to a paused endpoint go',
  who: { operator: 'support', member: 'member' },
  path: { endpointId },
  output: endpointChange,
  refusals: ['webhook_endpoint_not_found', 'webhook_endpoint_disabled'],
  example: { endpointId: exampleId },
  audit: 'webhooks.resumed',
  when: (record) => isActive(record) && isPaused(record),
  renderLines: changeLine('receives events again'),
  run: async (tx, { endpointId: id }, { owner }) =>
    moveDone(await pauseEndpoint(tx, { endpointId: id, owner, pausedAt: null })),
})

const perSecond = Type.Union([Type.Integer({ minimum: 1, maximum: 1_000 }), Type.Null()], {
  description: 'must be a whole number from 1 to 1000, or off (null)',
  'x-help': 'deliveries a second, 1 to 1000, or off',
})
const atOnce = Type.Integer({
  minimum: 1,
  maximum: 16,
  description: 'must be a whole number from 1 to 16',
  'x-help': 'concurrent deliveries, 1 to 16',
})
const limits = { perSecond: Type.Optional(perSecond), atOnce: Type.Optional(atOnce) }

export const webhooksLimit = change({
  name: 'webhooks limit',
  http: 'POST /webhooks/{endpointId}/limit',
  summary: 'Send to an endpoint no faster than it can take',
  who: { operator: 'support' },
  path: { endpointId },
  input: limits,
  output: closedObject({ endpointId: Type.String(), ...limits }),
  refusals: ['invalid_field', 'webhook_endpoint_not_found'],
  example: { endpointId: exampleId, perSecond: 5, atOnce: 2 },
  audit: 'webhooks.limited',
  renderLines({ endpointId: id, perSecond: rate, atOnce: most }) {
    const parts = [
      ...(rate === undefined
        ? []
        : [rate === null ? 'without a limit a second' : `at most ${rate} a second`]),
      ...(most === undefined ? [] : [`at most ${most} at once`]),
    ]
    return [`${id} is sent events ${parts.join(', ')}.`]
  },
  async run(tx, { endpointId: id, ...asked }, context) {
    if (Object.keys(asked).length === 0)
      return refuse('invalid_field', {
        message:
          'There is no limit to set: give perSecond (--per-second), atOnce (--at-once) or both.',
      })
    const endpoint = await lockKnown(tx, endpointOf(id, context))
    if ('refusal' in endpoint) return endpoint
    await setLimits(tx, id, asked)
    return changed({ endpointId: id, ...asked }, { ...entryOf(endpoint), details: asked })
  },
})

/** In the order of the help. */
export const webhookOperations = [
  webhooksEndpoints,
  webhooksFailing,
  webhooksShow,
  webhooksCreate,
  webhooksDisable,
  webhooksEnable,
  webhooksPause,
  webhooksResume,
  webhooksLimit,
  ...deliveryOperations,
  ...secretOperations,
] as const

/** The endpoints over HTTP, on a real database. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { Compile } from 'typebox/compile'
import {
  createEndpoint as createWebhook,
  happen,
  ok,
  receiver,
  startDelivering,
  webhookPerformer,
} from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { startKeyed, uuidOf } from '../../../test/support/start/keyed.ts'
import { readEntry } from '../../audit/account-entry.ts'
import { findAccountEntries } from '../../audit/store.ts'
import { sql } from '../../platform/db/db.ts'
import { strangerRules } from '../../platform/egress/rules.ts'
import { fanOutEvents } from '../events/fan-out.ts'
import { webhookContract } from './contract.ts'
import { webhookHandlers } from './handlers.ts'
import { webhookEndpointChanged, webhookEndpointCreated, webhookEndpointList } from './schema.ts'

const { path: endpointsPath } = webhookContract.listWebhookEndpoints
const database = await testDatabase()
const { db } = database
const shown: string[] = []
const performer = webhookPerformer(db, {
  // The rules of WEBHOOK_ALLOW_HTTP=true with port 80 open: the API still rejects http.
  rules: strangerRules({ allowHttp: true, ports: [80, 443] }),
  onSecretShown: (endpointId: string) => shown.push(endpointId),
})
const edge = await startKeyed(webhookContract, webhookHandlers(performer))
after(async () => {
  await edge.stop()
  await database.drop()
})

const body = {
  url: 'https://hooks.example.com/in',
  events: ['score.updated', 'dispute.opened'],
  description: 'Payroll',
}
const createdShape = Compile(webhookEndpointCreated)
const changedShape = Compile(webhookEndpointChanged)
const listShape = Compile(webhookEndpointList)

async function create(account: string, changes: object = {}, idempotencyKey = randomUUID()) {
  const path = endpointsPath
  return edge.call(account, {
    method: 'POST',
    path,
    idempotencyKey,
    body: { ...body, ...changes },
  })
}

test('400: the API rejects http URLs and special-use names, also if the operator may use them', async () => {
  for (const url of [
    'http://hooks.example.com/in',
    'HTTP://hooks.example.com/in',
    'https://hooks.example.test/in',
    'https://hooks.onion/',
    `https://${'a.'.repeat(126)}com/`,
  ]) {
    const { status, json } = await create('http', { url })
    assert.deepEqual([status, json.error], [400, 'invalid_field'], url)
    assert.match(String(json.message), /^url must /)
  }
  assert.equal((await create('http')).status, 201)
})

async function created(account: string) {
  const { status, json } = await create(account)
  assert.equal(status, 201)
  assert.ok(createdShape.Check(json))
  return json
}

const list = async (account: string) => {
  const { status, json } = await edge.call(account, { path: endpointsPath })
  assert.equal(status, 200)
  assert.ok(listShape.Check(json))
  return json.endpoints
}

const remove = (account: string, id: string) =>
  edge.call(account, { method: 'DELETE', path: `${endpointsPath}/${id}` })

test('201: the creation returns the secret, and no cache may store the answer', async () => {
  const reply = await create('ada')
  assert.equal(reply.status, 201)
  assert.equal(reply.headers['cache-control'], 'private, no-store')
  assert.ok(createdShape.Check(reply.json))
  const { endpoint, signingSecret } = reply.json
  assert.equal(endpoint.userId, uuidOf('ada'))
  assert.equal(endpoint.secretPrefix, signingSecret.slice(0, 18))
  assert.deepEqual(endpoint.eventTypes, body.events)
  assert.deepEqual(await list('ada'), [endpoint])
  assert.ok(!JSON.stringify(await list('ada')).includes(signingSecret))
  assert.ok(!edge.logged().includes(signingSecret))
})

test('201: the same Idempotency-Key replays the creation, also with reordered members and events', async () => {
  const idempotencyKey = randomUUID()
  const first = await create('replays', {}, idempotencyKey)
  const { url, events, description } = body
  const reordered = JSON.stringify(
    { description, events: events.toReversed(), url: url.replace('hooks.', 'HOOKS.') },
    null,
    2,
  )
  const again = await edge.call('replays', {
    method: 'POST',
    path: endpointsPath,
    idempotencyKey,
    body: reordered,
  })
  assert.equal(again.status, 201)
  assert.deepEqual(again.json, first.json)
  assert.ok(createdShape.Check(first.json))
  assert.ok(shown.includes(first.json.endpoint.id), 'that the secret was shown again is told')
  assert.equal((await list('replays')).length, 1)
})

test('201: 50 parallel identical creations make one endpoint with one secret', async () => {
  const idempotencyKey = randomUUID()
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => create('parallel', {}, idempotencyKey)),
  )
  assert.deepEqual(
    replies.map(({ status }) => status),
    replies.map(() => 201),
  )
  assert.equal(new Set(replies.map(({ body }) => body.toString())).size, 1)
  assert.equal((await list('parallel')).length, 1)
})

test('409: an Idempotency-Key that was used for other content is rejected', async () => {
  const idempotencyKey = randomUUID()
  await create('other', {}, idempotencyKey)
  const reply = await create('other', { description: 'Other' }, idempotencyKey)
  assert.equal(reply.status, 409)
  assert.equal(reply.json.error, 'idempotency_key_reused')
  assert.equal((await list('other')).length, 1)
})

test('409: a creation at the maximum is rejected without using its key; a replay still gets 201', async () => {
  const first = randomUUID()
  await create('many', {}, first)
  for (let i = 1; i < 20; i++) await create('many')
  const key = randomUUID()
  const refused = await create('many', {}, key)
  assert.equal(refused.status, 409)
  assert.equal(refused.json.error, 'webhook_endpoints_maximum')
  assert.equal((await create('many', {}, first)).status, 201)
  const [oldest] = await list('many')
  assert.ok(oldest)
  assert.equal((await remove('many', oldest.id)).status, 200)
  assert.equal((await create('many', { description: 'Other' }, key)).status, 201)
})

test('400: an invalid field is named, and its request does not use the key', async () => {
  const idempotencyKey = randomUUID()
  for (const [changes, says] of [
    [{ url: 'https://127.0.0.1/' }, /^url must name a host/],
    [{ url: 'http://hooks.example.com/' }, /^url must start with https/],
    [{ events: [] }, /^events must be/],
    [{ description: 'x'.repeat(121) }, /^description must be/],
    [{ userId: uuidOf('other') }, /^userId is not a known field/],
  ] as const) {
    const { status, json } = await create('invalid', changes, idempotencyKey)
    assert.equal(status, 400)
    assert.equal(json.error, 'invalid_field')
    assert.match(String(json.message), says)
  }
  assert.equal((await create('invalid', {}, idempotencyKey)).status, 201)
})

test('400: a missing or malformed Idempotency-Key is rejected', async () => {
  for (const headers of [
    {},
    { 'Idempotency-Key': 'x'.repeat(15) },
    { 'Idempotency-Key': 'x'.repeat(129) },
    { 'Idempotency-Key': 'with a space in it' },
  ] as Record<string, string>[]) {
    const reply = await edge.call('ada', { method: 'POST', path: endpointsPath, body, headers })
    assert.equal(reply.status, 400)
    assert.equal(reply.json.error, 'invalid_idempotency_key')
  }
})

test('200: DELETE disables an endpoint once, with its id in either case, and removes it from the list', async () => {
  const { endpoint } = await created('deletes')
  const first = await remove('deletes', endpoint.id.toUpperCase())
  assert.equal(first.status, 200)
  assert.ok(changedShape.Check(first.json))
  assert.notEqual(first.json.endpoint.disabledAt, null)
  assert.deepEqual(
    { ...first.json.endpoint, disabledAt: null, updatedAt: '' },
    {
      ...endpoint,
      updatedAt: '',
    },
  )
  assert.deepEqual(await list('deletes'), [])
  const second = await remove('deletes', endpoint.id)
  assert.equal(second.status, 200)
  assert.deepEqual(second.json, first.json)
})

test('each creation and each disabling by API key or session is one entry of the audit log', async () => {
  const accountId = uuidOf('audited')
  const keyId = uuidOf('key of audited')
  const userId = randomUUID()
  const member = { kind: 'session', sessionId: '', userId, accountId, role: 'member' } as const
  const { createAccountWebhookEndpoint } = webhookHandlers(performer)
  const key = randomUUID()
  const { json } = await create('audited', {}, key)
  assert.ok(createdShape.Check(json))
  await create('audited', {}, key)
  for (const id of [json.endpoint.id.toUpperCase(), json.endpoint.id]) await remove('audited', id)
  const sent = { idempotencyKey: randomUUID(), body }
  await createAccountWebhookEndpoint({ ...sent, caller: member } as never)
  const entries = await findAccountEntries(db, { accountId, before: null, limit: 10 })
  assert.deepEqual(
    entries.map((entry) => [entry.action, readEntry(entry, accountId).actor]),
    [
      ['webhooks.created', { kind: 'user', userId, apiKeyId: null }],
      ['webhooks.disabled', { kind: 'api_key', userId: null, apiKeyId: keyId }],
      ['webhooks.created', { kind: 'api_key', userId: null, apiKeyId: keyId }],
    ],
  )
})

test('200: after the answer to DELETE, a delivery that was leased before does not start', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createWebhook(db, url)
  await db.run(sql`
    update webhook_endpoints set user_id = ${uuidOf('stops')}::uuid where id = ${id}::uuid`)
  const mayBegin = Promise.withResolvers<void>()
  const deliverer = startDelivering(db, {
    around: (usual) => ({
      ...usual,
      async send(request) {
        await mayBegin.promise
        return usual.send(request)
      },
    }),
  })
  await happen(db)
  await fanOutEvents(db)
  assert.equal(await deliverer.pass(), 1)
  assert.equal((await remove('stops', id)).status, 200)
  mayBegin.resolve()
  await deliverer.finish()
  assert.deepEqual(received, [])
})

test('404: an endpoint of another account gets the same bytes as an unknown one', async () => {
  const { endpoint } = await created('owner')
  const foreign = await remove('stranger', endpoint.id)
  const absent = await remove('stranger', randomUUID())
  assert.equal(foreign.status, 404)
  assert.equal(absent.status, 404)
  assert.deepEqual(foreign.body, absent.body)
  assert.equal(foreign.json.error, 'webhook_endpoint_not_found')
  assert.equal((await list('owner')).length, 1)
})

test('503: without a key ring only the creation of endpoints is rejected', async () => {
  const without = await startKeyed(
    webhookContract,
    webhookHandlers(webhookPerformer(db, { ring: null })),
  )
  const call = { method: 'POST', path: endpointsPath, idempotencyKey: randomUUID(), body }
  const reply = await without.call('ringless', call)
  const listed = await without.call('ringless', { path: endpointsPath })
  await without.stop()
  assert.equal(reply.status, 503)
  assert.equal(reply.json.error, 'webhooks_not_configured')
  assert.equal(listed.status, 200)
})

/** The creation, list and disabling of endpoints, and the encryption of their secrets. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { refusalOf } from '../../../test/support/build/webhooks.ts'
import { everythingStored, formsOf } from '../../../test/support/oracle/everything-stored.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { type EndpointOwner, findSecrets } from '../delivery/endpoint-store.ts'
import { openSecret, secretPrefix, signingSecrets } from '../delivery/secret.ts'
import { reencryptSecrets } from '../secret-operations.ts'
import { type Creation, type CreationInput, type CreationRules, createEndpoint } from './create.ts'
import { disableEndpoint, enableEndpoint } from './enable.ts'
import { rotateSecret } from './rotate-secret.ts'
import type { EndpointRequest } from './schema.ts'
import { findActiveIds, findEndpoints } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const ring = new Map([['k1', randomBytes(32)]])
const rules = { ring, activeMax: 20 }
const now = new Date('2026-05-14T09:00:00.250Z')
const later = new Date('2026-05-15T09:00:00.750Z')
const request: EndpointRequest = {
  url: 'https://hooks.example.com/in',
  eventTypes: ['score.updated', 'evidence.revoked'],
  description: null,
}

function inputOf(changes: Partial<CreationInput> = {}): CreationInput {
  return { userId: randomUUID(), request, idempotencyKey: randomUUID(), now, ...changes }
}

function made(creation: Creation) {
  assert.ok('endpoint' in creation, refusalOf(creation) ?? '')
  return creation
}

const createBy = (by: CreationRules, input: CreationInput) =>
  db.transaction((tx) => createEndpoint(tx, by, input))
const create = (input: CreationInput) => createBy(rules, input)
const disable = (endpointId: string, owner: EndpointOwner, at = later) =>
  db.transaction((tx) => disableEndpoint(tx, { endpointId, owner, reason: 'owner', now: at }))
const activeOf = async (userId: string) => findEndpoints(db, await findActiveIds(db, userId), now)

test('an endpoint is created with its secret, and listed only for its user', async () => {
  const input = inputOf()
  const { isReplay, endpoint, signingSecret } = made(await create(input))
  assert.equal(isReplay, false)
  assert.match(signingSecret, /^whsec_[A-Za-z0-9]{43}$/)
  assert.ok(signingSecret.startsWith(endpoint.secretPrefix))
  assert.deepEqual(await activeOf(input.userId), [endpoint])
  assert.deepEqual(await activeOf(randomUUID()), [])
})

test('a repeat with the same Idempotency-Key returns the same endpoint and secret', async () => {
  const input = inputOf()
  const first = made(await create(input))
  const again = made(await create({ ...input, now: later }))
  assert.deepEqual(again, { ...first, isReplay: true })
  assert.equal((await activeOf(input.userId)).length, 1)
})

test('the same Idempotency-Key with other content is rejected', async () => {
  const input = inputOf()
  await create(input)
  for (const change of [
    { url: 'https://hooks.example.com/other' },
    { eventTypes: ['score.updated' as const] },
    { description: '' },
  ]) {
    const other = { ...input, request: { ...request, ...change } }
    assert.equal(refusalOf(await create(other)), 'idempotency_key_reused')
  }
  assert.equal((await activeOf(input.userId)).length, 1)
})

test('two users can use the same Idempotency-Key', async () => {
  const input = inputOf()
  const first = made(await create(input))
  const other = made(await create({ ...input, userId: randomUUID() }))
  assert.notEqual(other.endpoint.id, first.endpoint.id)
  assert.notEqual(other.signingSecret, first.signingSecret)
})

test('without an Idempotency-Key each call creates an endpoint', async () => {
  const input = inputOf({ idempotencyKey: null })
  await create(input)
  await create(input)
  assert.equal((await activeOf(input.userId)).length, 2)
})

test('50 parallel creations with one Idempotency-Key make one endpoint; other content among them is rejected', async () => {
  const input = inputOf()
  const other = { ...input, request: { ...request, description: 'another' } }
  const creations = await Promise.all(
    Array.from({ length: 50 }, (_, i) => create(i % 10 === 9 ? other : input)),
  )
  const kept = creations.filter((creation) => 'endpoint' in creation)
  const winner = kept[0]?.endpoint.description
  assert.equal(kept.length, winner === null ? 45 : 5)
  assert.equal(kept.filter(({ isReplay }) => !isReplay).length, 1)
  assert.equal(new Set(kept.map(({ endpoint }) => endpoint.id)).size, 1)
  assert.equal(new Set(kept.map(({ signingSecret }) => signingSecret)).size, 1)
  assert.equal((await activeOf(input.userId)).length, 1)
})

test('20 parallel creations cannot exceed the maximum, and a repeat is answered at the maximum', async () => {
  const userId = randomUUID()
  const first = inputOf({ userId })
  await create(first)
  for (let i = 1; i < 19; i++) await create(inputOf({ userId }))
  const creations = await Promise.all(Array.from({ length: 20 }, () => create(inputOf({ userId }))))
  assert.equal(creations.filter((one) => refusalOf(one) === null).length, 1)
  assert.equal(creations.filter((one) => refusalOf(one) === 'webhook_endpoints_maximum').length, 19)
  assert.equal((await activeOf(userId)).length, 20)
  assert.equal(made(await create(first)).isReplay, true)
})

test('a disabled endpoint does not count, and a rejected creation does not use its Idempotency-Key', async () => {
  const userId = randomUUID()
  const tight = { ring, activeMax: 1 }
  const { endpoint } = made(await createBy(tight, inputOf({ userId })))
  const second = inputOf({ userId })
  assert.equal(refusalOf(await createBy(tight, second)), 'webhook_endpoints_maximum')
  await disable(endpoint.id, { userId })
  const other = { ...second, request: { ...request, description: 'changed since' } }
  assert.equal(refusalOf(await createBy(tight, other)), null)
})

test('an endpoint is disabled once; a repeat of its creation returns it as disabled, with the secret', async () => {
  const input = inputOf()
  const { endpoint, signingSecret } = made(await create(input))
  const expected = {
    ...endpoint,
    disabledAt: later,
    updatedAt: later,
    disabledReason: 'owner' as const,
  }
  assert.deepEqual(await disable(endpoint.id, { userId: input.userId }), {
    endpoint: expected,
    changed: true,
  })
  const muchLater = new Date(later.getTime() + 1_000)
  assert.deepEqual(await disable(endpoint.id, { userId: input.userId }, muchLater), {
    endpoint: expected,
    changed: false,
  })
  assert.deepEqual(await activeOf(input.userId), [])
  assert.deepEqual(made(await create(input)), {
    isReplay: true,
    endpoint: expected,
    signingSecret,
  })
})

test('a process whose clock is behind can repeat, list and disable a new endpoint', async () => {
  const input = inputOf({ now: later })
  const first = made(await create(input))
  const behind = new Date(later.getTime() - 20_000)
  const again = made(await create({ ...input, now: behind }))
  assert.deepEqual(
    [again.isReplay, again.endpoint.id, again.signingSecret],
    [true, first.endpoint.id, first.signingSecret],
  )
  const { id } = first.endpoint
  assert.deepEqual(
    (await findEndpoints(db, [id], behind)).map((endpoint) => endpoint.secretPrefix),
    [first.endpoint.secretPrefix],
  )
  assert.equal((await findSecrets(db, [id], behind)).length, 1)
  const secrets = signingSecrets(await findSecrets(db, [id], behind), ring, behind)
  assert.equal(secrets?.current, first.signingSecret)
  assert.equal(refusalOf(await disable(id, { userId: input.userId }, behind)), null)
})

test('an endpoint of another user is treated like an unknown one', async () => {
  const input = inputOf()
  const { endpoint } = made(await create(input))
  const unknown = { refusal: 'webhook_endpoint_not_found' }
  assert.deepEqual(await disable(endpoint.id, { userId: randomUUID() }), unknown)
  assert.deepEqual(await disable(randomUUID(), { userId: input.userId }), unknown)
  assert.equal((await activeOf(input.userId)).length, 1)
})

test('a disabled endpoint loses its pending deliveries, and no other endpoint does', async () => {
  const [one, other] = [made(await create(inputOf())), made(await create(inputOf()))]
  for (const { endpoint } of [one, other])
    await db.run(sql`
      insert into webhook_deliveries
        (endpoint_id, event_id, event_type, body, trigger, due_at, created_at)
      values (${endpoint.id}, 'evt_test', 'score.updated', '{}', 'test', ${now}, ${now})`)
  await disable(one.endpoint.id, 'any')
  const rows = await db.rows<{ id: string; status: string }>(sql`
    select endpoint_id as id, status from webhook_deliveries`)
  assert.deepEqual(
    new Map(rows.map(({ id, status }) => [id, status])),
    new Map([
      [one.endpoint.id, 'cancelled'],
      [other.endpoint.id, 'pending'],
    ]),
  )
})

test('no secret is in the database in any encoding, and a secret can be decrypted only in its own row', async () => {
  const secrets = [made(await create(inputOf())), made(await create(inputOf()))]
  const dump = await everythingStored(database.url)
  for (const { signingSecret, endpoint } of secrets) {
    assert.ok(dump.includes(endpoint.id), 'the dump has the endpoint')
    assert.ok(dump.includes(endpoint.secretPrefix))
    for (const form of formsOf(signingSecret))
      assert.ok(!dump.toLowerCase().includes(form.toLowerCase()), `the dump holds ${form}`)
  }
  const [one, other] = secrets.map(({ endpoint }) => endpoint.id) as [string, string]
  await db.run(sql`
    update webhook_secrets s set sealed = o.sealed from webhook_secrets o
    where s.endpoint_id = ${one} and o.endpoint_id = ${other}`)
  const [swapped] = await db.rows<{ kid: string; sealed: Buffer }>(
    sql`select kid, sealed from webhook_secrets where endpoint_id = ${one}`,
  )
  assert.ok(swapped)
  assert.throws(() => openSecret(swapped, { endpointId: one, version: 1 }, ring))
  await db.run(sql`delete from webhook_secrets where endpoint_id = ${one}`)
})

test('reencryption covers every secret; the old key can then be removed, and secrets stay the same', async () => {
  const input = inputOf()
  const { signingSecret } = made(await create(input))
  const both = new Map([['k2', randomBytes(32)], ...ring])
  const reencrypt = () => db.transaction((tx) => reencryptSecrets(tx, both, 3))
  let reencrypted = 0
  for (let count = 3; count === 3; reencrypted += count) count = await reencrypt()
  assert.ok(reencrypted > 3)
  assert.equal(await reencrypt(), 0)
  const [[first, key]] = [...both] as [[string, Buffer]]
  const alone = { ring: new Map([[first, key]]), activeMax: 20 }
  assert.equal(made(await createBy(alone, input)).signingSecret, signingSecret)
  const lost = new Map([['k3', randomBytes(32)]])
  await assert.rejects(
    db.transaction((tx) => reencryptSecrets(tx, lost, 3)),
    /k2 is not on the key ring/,
  )
  assert.equal(made(await createBy(alone, input)).signingSecret, signingSecret)
})

test('an endpoint shows the prefix of the old secret until the announced one signs', async () => {
  const { endpoint } = made(await create(inputOf()))
  const rotated = await db.transaction((tx) =>
    rotateSecret(tx, { endpointId: endpoint.id, owner: 'any', ring, at: now }),
  )
  assert.ok('secret' in rotated)
  const { secret, signsFrom } = rotated
  const shownAt = async (at: Date) => (await findEndpoints(db, [endpoint.id], at))[0]?.secretPrefix
  assert.equal(await shownAt(new Date(signsFrom.getTime() - 1)), endpoint.secretPrefix)
  assert.equal(await shownAt(signsFrom), secretPrefix(secret))
})

test('an endpoint that is enabled again is not paused, not parked and not failing', async () => {
  const { endpoint } = made(await create(inputOf()))
  const { id } = endpoint
  const slate = async () => {
    const [row] = await db.rows<object>(sql`
      select paused_at, parked_until, failing_since, consecutive_failures, warned_hours, concurrency
      from webhook_endpoints where id = ${id}`)
    return row
  }
  const clean = await slate()
  await db.run(sql`
    update webhook_endpoints set paused_at = ${now}, parked_until = ${later}, failing_since = ${now},
      consecutive_failures = 20, warned_hours = 72, concurrency = 1
    where id = ${id}`)
  await disable(id, 'any')
  await db.transaction((tx) =>
    enableEndpoint(tx, { endpointId: id, owner: 'any', activeMax: 20, at: later }),
  )
  assert.deepEqual(await slate(), clean)
})

test('parallel enabling cannot exceed the maximum of active endpoints', async () => {
  const userId = randomUUID()
  const enable = (endpointId: string) =>
    db.transaction((tx) =>
      enableEndpoint(tx, { endpointId, owner: 'any', activeMax: 3, at: later }),
    )
  const ids = await Promise.all(
    Array.from({ length: 6 }, async () => made(await create(inputOf({ userId }))).endpoint.id),
  )
  for (const id of ids.slice(1)) await disable(id, { userId })
  const outcomes = await Promise.all(ids.slice(1).map(enable))
  assert.deepEqual(
    outcomes.flatMap((one) => refusalOf(one) ?? []),
    Array(3).fill('webhook_endpoints_maximum'),
  )
  assert.equal((await activeOf(userId)).length, 3)
  const again = await enable(ids[0] ?? '')
  assert.equal('changed' in again && again.changed, false)
  assert.equal(refusalOf(await enable(randomUUID())), 'webhook_endpoint_not_found')
})

/** Creating, listing and disabling endpoints, and the sealing of their secrets, on a real database. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { everythingStored, formsOf } from '../../../test/support/oracle/everything-stored.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { type EndpointOwner, findSecrets } from '../delivery/endpoint-store.ts'
import { openSecret, secretPrefix } from '../delivery/secret.ts'
import { signingSecrets } from '../delivery/signing-secrets.ts'
import { type Creation, type CreationWish, createOrReplayEndpoint } from './create.ts'
import { disableEndpoint } from './disable.ts'
import { enableEndpoint } from './enable.ts'
import { reencryptSecrets } from './reencrypt.ts'
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

function wishOf(changes: Partial<CreationWish> = {}): CreationWish {
  return { userId: randomUUID(), request, idempotencyKey: randomUUID(), now, ...changes }
}

function made(creation: Creation) {
  assert.ok('endpoint' in creation, creation.outcome)
  return creation
}

const create = (wish: CreationWish) => createOrReplayEndpoint(db, rules, wish)
const disable = (endpointId: string, owner: EndpointOwner, at = later) =>
  db.transaction((tx) => disableEndpoint(tx, { endpointId, owner, reason: 'owner', now: at }))
const activeOf = async (userId: string) => findEndpoints(db, await findActiveIds(db, userId), now)

test('an endpoint is created with its secret, and listed for its user alone', async () => {
  const wish = wishOf()
  const { outcome, endpoint, signingSecret } = made(await create(wish))
  assert.equal(outcome, 'created')
  assert.match(signingSecret, /^whsec_[A-Za-z0-9]{43}$/)
  assert.ok(signingSecret.startsWith(endpoint.secretPrefix))
  assert.deepEqual(await activeOf(wish.userId), [endpoint])
  assert.deepEqual(await activeOf(randomUUID()), [])
})

test('a repeat with the same key gives the same endpoint and secret, and makes nothing', async () => {
  const wish = wishOf()
  const first = made(await create(wish))
  const again = made(await create({ ...wish, now: later }))
  assert.deepEqual(again, { ...first, outcome: 'replayed' })
  assert.equal((await activeOf(wish.userId)).length, 1)
})

test('the same key with other content is told apart, and makes nothing', async () => {
  const wish = wishOf()
  await create(wish)
  for (const change of [
    { url: 'https://hooks.example.com/other' },
    { eventTypes: ['score.updated' as const] },
    { description: '' },
  ]) {
    const other = { ...wish, request: { ...request, ...change } }
    assert.deepEqual(await create(other), { outcome: 'other_content' })
  }
  assert.equal((await activeOf(wish.userId)).length, 1)
})

test('a key is its user’s own: another user’s is another creation', async () => {
  const wish = wishOf()
  const first = made(await create(wish))
  const other = made(await create({ ...wish, userId: randomUUID() }))
  assert.notEqual(other.endpoint.id, first.endpoint.id)
  assert.notEqual(other.signingSecret, first.signingSecret)
})

test('without a key each call makes an endpoint', async () => {
  const wish = wishOf({ idempotencyKey: null })
  await create(wish)
  await create(wish)
  assert.equal((await activeOf(wish.userId)).length, 2)
})

test('50 parallel creations of one key: one endpoint, one secret; another content among them is refused', async () => {
  const wish = wishOf()
  const other = { ...wish, request: { ...request, description: 'another' } }
  const creations = await Promise.all(
    Array.from({ length: 50 }, (_, i) => create(i % 10 === 9 ? other : wish)),
  )
  const kept = creations.filter((creation) => 'endpoint' in creation)
  const winner = kept[0]?.endpoint.description
  assert.equal(kept.length, winner === null ? 45 : 5)
  assert.equal(kept.filter(({ outcome }) => outcome === 'created').length, 1)
  assert.equal(new Set(kept.map(({ endpoint }) => endpoint.id)).size, 1)
  assert.equal(new Set(kept.map(({ signingSecret }) => signingSecret)).size, 1)
  assert.equal((await activeOf(wish.userId)).length, 1)
})

test('20 parallel creations at the maximum less one leave exactly the maximum; a repeat is answered there too', async () => {
  const userId = randomUUID()
  const first = wishOf({ userId })
  await create(first)
  for (let i = 1; i < 19; i++) await create(wishOf({ userId }))
  const creations = await Promise.all(Array.from({ length: 20 }, () => create(wishOf({ userId }))))
  assert.equal(creations.filter(({ outcome }) => outcome === 'created').length, 1)
  assert.equal(creations.filter(({ outcome }) => outcome === 'at_maximum').length, 19)
  assert.equal((await activeOf(userId)).length, 20)
  assert.equal((await create(first)).outcome, 'replayed')
})

test('a disabled endpoint makes room, and a refused creation has not used its key', async () => {
  const userId = randomUUID()
  const tight = { ring, activeMax: 1 }
  const { endpoint } = made(await createOrReplayEndpoint(db, tight, wishOf({ userId })))
  const second = wishOf({ userId })
  assert.deepEqual(await createOrReplayEndpoint(db, tight, second), { outcome: 'at_maximum' })
  await disable(endpoint.id, { userId })
  const other = { ...second, request: { ...request, description: 'changed since' } }
  assert.equal((await createOrReplayEndpoint(db, tight, other)).outcome, 'created')
})

test('disabling sets its time once; the creation’s repeat tells it, with the secret', async () => {
  const wish = wishOf()
  const { endpoint, signingSecret } = made(await create(wish))
  const expected = {
    ...endpoint,
    disabledAt: later,
    updatedAt: later,
    disabledReason: 'owner' as const,
  }
  assert.deepEqual(await disable(endpoint.id, { userId: wish.userId }), {
    endpoint: expected,
    changed: true,
  })
  const muchLater = new Date(later.getTime() + 1_000)
  assert.deepEqual(await disable(endpoint.id, { userId: wish.userId }, muchLater), {
    endpoint: expected,
    changed: false,
  })
  assert.deepEqual(await activeOf(wish.userId), [])
  assert.deepEqual(made(await create(wish)), {
    outcome: 'replayed',
    endpoint: expected,
    signingSecret,
  })
})

test('a process whose clock is behind repeats, lists and disables what another has just made', async () => {
  const wish = wishOf({ now: later })
  const first = made(await create(wish))
  const behind = new Date(later.getTime() - 20_000)
  const again = made(await create({ ...wish, now: behind }))
  assert.deepEqual(
    [again.outcome, again.endpoint.id, again.signingSecret],
    ['replayed', first.endpoint.id, first.signingSecret],
  )
  const { id } = first.endpoint
  assert.deepEqual(
    (await findEndpoints(db, [id], behind)).map((endpoint) => endpoint.secretPrefix),
    [first.endpoint.secretPrefix],
  )
  assert.equal((await findSecrets(db, [id], behind)).length, 1)
  const secrets = signingSecrets(await findSecrets(db, [id], behind), ring, behind)
  assert.equal(secrets?.current, first.signingSecret)
  assert.equal((await disable(id, { userId: wish.userId }, behind))?.changed, true)
})

test('somebody else’s endpoint is as one that is not there', async () => {
  const wish = wishOf()
  const { endpoint } = made(await create(wish))
  assert.equal(await disable(endpoint.id, { userId: randomUUID() }), null)
  assert.equal(await disable(randomUUID(), { userId: wish.userId }), null)
  assert.equal((await activeOf(wish.userId)).length, 1)
})

test('disabling cancels what waits for the endpoint, and nothing of another', async () => {
  const [one, other] = [made(await create(wishOf())), made(await create(wishOf()))]
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

test('no secret is in the database, in any encoding; and a row’s secret opens in no other row', async () => {
  const secrets = [made(await create(wishOf())), made(await create(wishOf()))]
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

test('reencryption covers every secret under the first key; afterwards the old key can go, and the secrets are the same', async () => {
  const wish = wishOf()
  const { signingSecret } = made(await create(wish))
  const both = new Map([['k2', randomBytes(32)], ...ring])
  const reencrypt = () => db.transaction((tx) => reencryptSecrets(tx, both, 3))
  let reencrypted = 0
  for (let count = 3; count === 3; reencrypted += count) count = await reencrypt()
  assert.ok(reencrypted > 3)
  assert.equal(await reencrypt(), 0)
  const [[first, key]] = [...both] as [[string, Buffer]]
  const alone = { ring: new Map([[first, key]]), activeMax: 20 }
  assert.equal(made(await createOrReplayEndpoint(db, alone, wish)).signingSecret, signingSecret)
  const lost = new Map([['k3', randomBytes(32)]])
  await assert.rejects(
    db.transaction((tx) => reencryptSecrets(tx, lost, 3)),
    /k2 is not on the key ring/,
  )
  assert.equal(made(await createOrReplayEndpoint(db, alone, wish)).signingSecret, signingSecret)
})

test('while a new secret is announced an endpoint is shown with the old one’s prefix, then with its own', async () => {
  const { endpoint } = made(await create(wishOf()))
  const rotated = await db.transaction((tx) =>
    rotateSecret(tx, { endpointId: endpoint.id, ring, at: now }),
  )
  assert.ok(rotated.outcome === 'rotated')
  const { secret, signsFrom } = rotated
  const shownAt = async (at: Date) => (await findEndpoints(db, [endpoint.id], at))[0]?.secretPrefix
  assert.equal(await shownAt(new Date(signsFrom.getTime() - 1)), endpoint.secretPrefix)
  assert.equal(await shownAt(signsFrom), secretPrefix(secret))
})

test('enabled again, an endpoint has a clean slate: not paused, not parked, not failing', async () => {
  const { endpoint } = made(await create(wishOf()))
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
  await db.transaction((tx) => enableEndpoint(tx, { endpointId: id, activeMax: 20, at: later }))
  assert.deepEqual(await slate(), clean)
})

test('enabling is no way around the active maximum, however many are enabled at once', async () => {
  const userId = randomUUID()
  const enable = (endpointId: string) =>
    db.transaction((tx) => enableEndpoint(tx, { endpointId, activeMax: 3, at: later }))
  const ids = await Promise.all(
    Array.from({ length: 6 }, async () => made(await create(wishOf({ userId }))).endpoint.id),
  )
  for (const id of ids.slice(1)) await disable(id, { userId })
  const outcomes = await Promise.all(ids.slice(1).map(enable))
  assert.deepEqual(outcomes.toSorted(), [
    'at maximum',
    'at maximum',
    'at maximum',
    'enabled',
    'enabled',
  ])
  assert.equal((await activeOf(userId)).length, 3)
  assert.equal(await enable(ids[0] ?? ''), 'active already')
  assert.equal(await enable(randomUUID()), 'no such endpoint')
})

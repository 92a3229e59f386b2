/** The secrets that sign in each phase of a rotation, and after a replacement. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import {
  createEndpoint,
  disable,
  forgetWebhooks,
  happen,
  lease,
  ok,
  receiver,
  refusalOf,
  startDelivering,
  testRing,
  verifies,
} from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import type { Received } from '../../../test/support/start/receiver.ts'
import { sql } from '../../platform/db/db.ts'
import { secretPrefix } from '../delivery/secret.ts'
import { fanOutEvents } from '../events/fan-out.ts'
import { activateSecret, replaceSecret, rotateSecret } from './rotate-secret.ts'
import { findEndpoints } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

test('a rotated secret signs the additional header, then the main header, then alone', async () => {
  const { url, received } = await receiver(ok)
  const { id, secret: old } = await createEndpoint(db, url)
  const deliverer = startDelivering(db)
  const rotated = await db.transaction((tx) =>
    rotateSecret(tx, { endpointId: id, owner: 'any', ring: testRing, at: deliverer.now() }),
  )
  assert.ok('secret' in rotated)
  const again = await db.transaction((tx) =>
    rotateSecret(tx, { endpointId: id, owner: 'any', ring: testRing, at: deliverer.now() }),
  )
  assert.equal(refusalOf(again), 'webhook_secret_rotating')
  const next = rotated.secret
  const send = async (): Promise<Received> => {
    await happen(db, 'score.updated', { at: deliverer.now() })
    await deliverer.deliver()
    return received.at(-1) ?? assert.fail('nothing arrived')
  }
  const announced = await send()
  assert.ok(verifies(announced, old))
  assert.ok(verifies(announced, next, 'service-webhook-signature-next'))
  assert.equal(String(announced.headers['webhook-signature']).split(' ').length, 2)
  deliverer.moveBy(86_400)
  const activated = await send()
  assert.ok(verifies(activated, next))
  assert.ok(verifies(activated, old, 'service-webhook-signature-previous'))
  assert.equal(activated.headers['service-webhook-signature-next'], undefined)
  deliverer.moveBy(86_400)
  const alone = await send()
  assert.ok(verifies(alone, next))
  assert.equal(alone.headers['service-webhook-signature-previous'], undefined)
  assert.equal(String(alone.headers['webhook-signature']).split(' ').length, 1)
})

test('an announced secret can be activated early', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  const deliverer = startDelivering(db)
  const rotated = await db.transaction((tx) =>
    rotateSecret(tx, { endpointId: id, owner: 'any', ring: testRing, at: deliverer.now() }),
  )
  assert.ok('secret' in rotated)
  const activate = () =>
    db.transaction((tx) =>
      activateSecret(tx, { endpointId: id, owner: 'any', at: deliverer.now() }),
    )
  assert.equal(refusalOf(await activate()), null)
  assert.equal(refusalOf(await activate()), 'webhook_secret_not_announced')
  await happen(db)
  await deliverer.deliver()
  assert.ok(received[0] && verifies(received[0], rotated.secret))
})

test('a secret that has ended never signs again, also during later rotations', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  const deliverer = startDelivering(db)
  const rotate = (announcedHours: number) =>
    db.transaction((tx) =>
      rotateSecret(tx, {
        endpointId: id,
        owner: 'any',
        ring: testRing,
        at: deliverer.now(),
        announcedHours,
      }),
    )
  await rotate(0)
  deliverer.moveBy(86_400)
  await rotate(24)
  await happen(db, 'score.updated', { at: deliverer.now() })
  await deliverer.deliver()
  const { headers } = received[0] ?? assert.fail('nothing arrived')
  assert.notEqual(headers['service-webhook-signature-next'], undefined)
  assert.equal(headers['service-webhook-signature-previous'], undefined)
})

const replace = (endpointId: string, secretPrefix?: string) =>
  db.transaction((tx) =>
    replaceSecret(tx, { endpointId, owner: 'any', ring: testRing, secretPrefix, now: new Date() }),
  )

test('after a replacement no older or announced secret signs, also if the clock of the sender is behind', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  const deliverer = startDelivering(db)
  const dayAhead = new Date(deliverer.now().getTime() + 86_400_000)
  const rotated = await db.transaction((tx) =>
    rotateSecret(tx, { endpointId: id, owner: 'any', ring: testRing, at: dayAhead }),
  )
  assert.ok('secret' in rotated)
  const replaced = await replace(id)
  assert.ok('secret' in replaced)
  for (let day = 0; day < 4; day++) {
    await happen(db, 'score.updated', { at: deliverer.now() })
    await deliverer.deliver()
    const last = received.at(-1) ?? assert.fail('nothing arrived')
    assert.equal(received.length, day + 1)
    assert.ok(verifies(last, replaced.secret))
    assert.equal(last.headers['service-webhook-signature-next'], undefined)
    assert.equal(last.headers['service-webhook-signature-previous'], undefined)
    assert.equal(String(last.headers['webhook-signature']).split(' ').length, 1)
    const [shown] = await findEndpoints(db, [id], deliverer.now())
    assert.equal(shown?.secretPrefix, secretPrefix(replaced.secret))
    deliverer.moveBy(86_400)
  }
})

test('a delivery that is claimed before a replacement and starts after it is signed with the new secret only', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  const secrets: string[] = []
  const deliverer = startDelivering(db, {
    around: (usual) => ({
      ...usual,
      async send(request) {
        // The first try starts too late; the secret is replaced in the meantime.
        if (secrets.length > 0) return usual.send(request)
        const replaced = await replace(id)
        assert.ok('secret' in replaced)
        secrets.push(replaced.secret)
        return { failure: 'not_begun', error: new Error('too late') }
      },
    }),
  })
  await happen(db)
  await deliverer.deliver()
  assert.equal(received.length, 1)
  assert.ok(received[0] && verifies(received[0], secrets[0] ?? ''))
  assert.equal(String(received[0].headers['webhook-signature']).split(' ').length, 1)
})

test('a process that read the secrets before a replacement cannot claim deliveries', async () => {
  const { url } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  await happen(db)
  await fanOutEvents(db)
  assert.equal(refusalOf(await replace(id)), null)
  assert.equal((await lease(db, id, { secretVersion: 1 })).length, 0)
  assert.equal((await lease(db, id, { secretVersion: 2 })).length, 1)
})

test('if two operators replace a secret at once, one receives a secret that signs and the other is refused', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  const outcomes = await Promise.all([replace(id), replace(id)])
  const secrets = outcomes.flatMap((one) => ('secret' in one ? [one.secret] : []))
  assert.equal(secrets.length, 1)
  assert.deepEqual(
    outcomes.flatMap((one) => refusalOf(one) ?? []),
    ['webhook_secret_changed'],
  )
  await happen(db)
  await startDelivering(db).deliver()
  assert.ok(received[0] && verifies(received[0], secrets[0] ?? ''))
})

test('within a minute after a replacement only a caller that names its secret replaces it', async () => {
  const { id } = await createEndpoint(db, 'https://hooks.example/')
  const first = await replace(id)
  assert.ok('secret' in first)
  assert.equal(refusalOf(await replace(id)), 'webhook_secret_changed')
  const second = await replace(id, secretPrefix(first.secret))
  assert.equal(refusalOf(second), null)
  const spent = await replace(id, secretPrefix(first.secret))
  assert.equal(refusalOf(spent), 'webhook_secret_changed')
  await db.run(sql`update webhook_secrets set replacement_at = replacement_at - interval '61 s'`)
  assert.equal(refusalOf(await replace(id)), null)
})

test('the secret of a disabled endpoint can be replaced; an unknown endpoint is reported', async () => {
  const { id } = await createEndpoint(db, 'https://hooks.example/')
  await disable(db, id, new Date())
  assert.equal(refusalOf(await replace(id)), null)
  assert.equal(refusalOf(await replace(randomUUID())), 'webhook_endpoint_not_found')
})

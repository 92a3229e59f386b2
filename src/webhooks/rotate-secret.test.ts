/** A new secret without a gap: what signs in each part of a rotation. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import type { Received } from '../../test/support/receiver.ts'
import {
  createEndpoint,
  forgetWebhooks,
  happen,
  ok,
  receiver,
  startDelivering,
  testRing,
  verifies,
} from '../../test/support/webhooks.ts'
import { promoteSecret, rotateSecret } from './rotate-secret.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

test('a rotation: announced beside the old secret, then the other way round, then alone; always one v1', async () => {
  const { url, received } = await receiver(ok)
  const { id, secret: old } = await createEndpoint(db, url)
  const worker = startDelivering(db)
  const rotated = await db.transaction((tx) =>
    rotateSecret(tx, { endpointId: id, ring: testRing, at: worker.now() }),
  )
  assert.ok(rotated.outcome === 'rotated')
  const again = await db.transaction((tx) =>
    rotateSecret(tx, { endpointId: id, ring: testRing, at: worker.now() }),
  )
  assert.equal(again.outcome, 'a rotation is under way')
  const next = rotated.secret
  const send = async (): Promise<Received> => {
    await happen(db, 'score.updated', { at: worker.now() })
    await worker.deliver()
    return received.at(-1) ?? assert.fail('nothing arrived')
  }
  const announced = await send()
  assert.ok(verifies(announced, old))
  assert.ok(verifies(announced, next, 'service-webhook-signature-next'))
  assert.equal(String(announced.headers['webhook-signature']).split(' ').length, 2)
  worker.moveBy(86_400)
  const promoted = await send()
  assert.ok(verifies(promoted, next))
  assert.ok(verifies(promoted, old, 'service-webhook-signature-previous'))
  assert.equal(promoted.headers['service-webhook-signature-next'], undefined)
  worker.moveBy(86_400)
  const alone = await send()
  assert.ok(verifies(alone, next))
  assert.equal(alone.headers['service-webhook-signature-previous'], undefined)
  assert.equal(String(alone.headers['webhook-signature']).split(' ').length, 1)
})

test('an announced secret is promoted on request', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  const worker = startDelivering(db)
  const rotated = await db.transaction((tx) =>
    rotateSecret(tx, { endpointId: id, ring: testRing, at: worker.now() }),
  )
  assert.ok(rotated.outcome === 'rotated')
  const promote = () => db.transaction((tx) => promoteSecret(tx, id, worker.now()))
  assert.equal(await promote(), true)
  assert.equal(await promote(), false)
  await happen(db)
  await worker.deliver()
  assert.ok(received[0] && verifies(received[0], rotated.secret))
})

test('a secret that has ended signs nothing again, whatever rotations follow', async () => {
  const { url, received } = await receiver(ok)
  const { id } = await createEndpoint(db, url)
  const worker = startDelivering(db)
  const rotate = (announcedHours: number) =>
    db.transaction((tx) =>
      rotateSecret(tx, { endpointId: id, ring: testRing, at: worker.now(), announcedHours }),
    )
  await rotate(0)
  worker.moveBy(86_400)
  await rotate(24)
  await happen(db, 'score.updated', { at: worker.now() })
  await worker.deliver()
  const { headers } = received[0] ?? assert.fail('nothing arrived')
  assert.notEqual(headers['service-webhook-signature-next'], undefined)
  assert.equal(headers['service-webhook-signature-previous'], undefined)
})

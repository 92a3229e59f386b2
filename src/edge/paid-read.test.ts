/**
 * A paid read by key: authenticate, count and read, charge, write. A refused call costs nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { keyOf, recordedMetering, scope, startPaid } from '../../test/support/start/paid-edge.ts'
import { refuse, UnavailableError } from '../platform/errors.ts'
import type { Metering } from './http/admission.ts'

const limits = { perMinute: 100, perDay: 100 }

test('200: one call is one read and one charge, of the meter and the operation of its route', async () => {
  const { charged, metering } = recordedMetering()
  const policy = {
    kind: 'paid',
    scope: 'candidates:read',
    meter: 'candidate_search',
    limits,
  } as const
  const edge = await startPaid({ metering, policy })
  const { status, headers } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, edge.reads.begun], [200, 1])
  assert.partialDeepStrictEqual(charged, [{ meter: 'candidate_search', operationId: 'read' }])
  assert.equal(charged.length, 1)
  assert.equal(headers['service-credits-charged'], '1')
  assert.equal(headers['service-credits-remaining'], '9')
  assert.match(String(headers.ratelimit), /"minute";r=99/)
})

for (const policy of [
  { kind: 'paid', scope, meter: 'score_lookup', limits },
  { kind: 'keyed', scope, limits },
  { kind: 'optional-key', scope, meter: 'score_lookup', limits, anonymous: limits },
] as const)
  test(`401: an invalid key starts no work, learns nothing of it and is not charged: ${policy.kind}`, async () => {
    const { charged, metering } = recordedMetering()
    const edge = await startPaid({ policy, metering, authenticate: async () => null })
    const { status, body } = await edge.call()
    await edge.stop()
    assert.deepEqual([status, edge.reads.begun, charged.length], [401, 0, 0])
    assert.doesNotMatch(String(body), /private/)
  })

test('200: a key that was valid at its last use is looked up while its call is counted and read', async () => {
  const { charged, metering } = recordedMetering()
  const begun = Promise.withResolvers<void>()
  const edge = await startPaid({
    metering,
    expectedKey: () => keyOf('live'),
    // Waits for the read: if the read waited for the key, neither would end.
    async authenticate() {
      await begun.promise
      return keyOf('live')
    },
  })
  edge.reads.onBegin = begun.resolve
  const { status, headers } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, edge.reads.begun, charged.length], [200, 1, 1])
  assert.match(String(headers.ratelimit), /"minute";r=99/)
})

for (const [title, key, status] of [
  ['401: a key that was revoked', null, 401],
  ['403: a key that lost its scope', { ...keyOf('live'), scopes: [] }, 403],
] as const)
  test(`${title} since its last use gets nothing of the read that began, and is not charged`, async () => {
    const { charged, metering } = recordedMetering()
    const edge = await startPaid({
      metering,
      expectedKey: () => keyOf('live'),
      async authenticate() {
        await turn()
        return key
      },
    })
    const reply = await edge.call()
    await edge.stop()
    assert.deepEqual([reply.status, edge.reads.begun, charged.length], [status, 1, 0])
    assert.equal(reply.headers.ratelimit, undefined)
    assert.doesNotMatch(String(reply.body), /private/)
  })

test('429: an expected key over its limit gets nothing of the read that began, and is not charged', async () => {
  const { charged, metering } = recordedMetering()
  const edge = await startPaid({ metering, perMinute: 1, expectedKey: () => keyOf('live') })
  const replies = [await edge.call(), await edge.call()]
  await edge.stop()
  assert.deepEqual([...replies.map(({ status }) => status), charged.length], [200, 429, 1])
  assert.match(String(replies[1]?.headers.ratelimit), /"minute";r=0/)
  assert.doesNotMatch(String(replies[1]?.body), /private/)
})

test('503: a key that cannot be looked up gets nothing, although it was valid at its last use', async () => {
  const { charged, metering } = recordedMetering()
  const edge = await startPaid({
    metering,
    expectedKey: () => keyOf('live'),
    authenticate: () => Promise.reject(new UnavailableError('down')),
  })
  edge.reads.fail = true
  const { status } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, charged.length], [503, 0])
})

test('403: a key that lacked the scope at its last use starts no read and is not counted', async () => {
  const key = { ...keyOf('live'), scopes: [] }
  const edge = await startPaid({ expectedKey: () => key, authenticate: async () => key })
  const { status, headers } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, headers.ratelimit, edge.reads.begun], [403, undefined, 0])
})

test('403: a key without the scope of the route starts no read and is not counted', async () => {
  const policy = { kind: 'paid', scope: 'webhooks:write', meter: 'score_lookup', limits } as const
  const edge = await startPaid({ policy })
  const { status, headers } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, headers.ratelimit, edge.reads.begun], [403, undefined, 0])
})

test('402: if the account is known to be short, no read starts', async () => {
  const { charged, metering } = recordedMetering({
    shortfall: () => refuse('insufficient_credits'),
  })
  const edge = await startPaid({ metering })
  const { status } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, edge.reads.begun, charged.length], [402, 0, 0])
})

test('402: a read whose charge is refused is not sent', async () => {
  const { metering } = recordedMetering({ charge: async () => refuse('insufficient_credits') })
  const edge = await startPaid({ metering })
  const { status, body } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, edge.reads.begun], [402, 1])
  assert.doesNotMatch(String(body), /private/)
})

test('200: a test key is not charged, and its call costs 0 credits', async () => {
  const { charged, metering } = recordedMetering()
  const edge = await startPaid({ metering, environment: 'test' })
  const { status, headers } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, headers['service-credits-charged'], charged.length], [200, '0', 0])
})

test('200: a named purchase is charged as such, although the account seems short', async () => {
  const { charged, metering } = recordedMetering({
    shortfall: () => refuse('insufficient_credits'),
  })
  const edge = await startPaid({ metering })
  const { status } = await edge.call('Idempotency-Key: purchase-0000001')
  await edge.stop()
  assert.equal(status, 200)
  assert.deepEqual(
    charged.map(({ purchase }) => purchase?.idempotencyKey),
    ['purchase-0000001'],
  )
})

test('400: a malformed Idempotency-Key or parameter starts no read, and the call counts', async () => {
  const { charged, metering } = recordedMetering()
  const edge = await startPaid({ metering, perMinute: 1 })
  const statuses: number[] = []
  for (let call = 0; call < 2; call++)
    statuses.push((await edge.call('Idempotency-Key: short')).status)
  await edge.stop()
  assert.deepEqual([...statuses, edge.reads.begun, charged.length], [400, 429, 0, 0])
})

test('404 and 429: a response other than 200 costs nothing', async () => {
  const { charged, metering } = recordedMetering()
  const edge = await startPaid({ metering, perMinute: 1 })
  edge.reads.missing = true
  const statuses = [(await edge.call()).status, (await edge.call()).status]
  await edge.stop()
  assert.deepEqual([...statuses, charged.length], [404, 429, 0])
})

test('429: a call over its limit is not charged, and its read is not sent', async () => {
  const { charged, metering } = recordedMetering()
  const edge = await startPaid({ metering, perMinute: 1 })
  const replies = [await edge.call(), await edge.call()]
  await edge.stop()
  assert.deepEqual([...replies.map(({ status }) => status), charged.length], [200, 429, 1])
  assert.doesNotMatch(String(replies[1]?.body), /private/)
})

test('429: a key that is known to be over its limit starts no read', async () => {
  const edge = await startPaid({ perMinute: 1 })
  const statuses: number[] = []
  for (let call = 0; call < 4; call++) statuses.push((await edge.call()).status)
  await edge.stop()
  assert.deepEqual(statuses, [200, 429, 429, 429])
  assert.equal(edge.reads.begun, 1)
})

test('429: calls whose read fails use up the limit too', async () => {
  const edge = await startPaid({ perMinute: 1 })
  edge.reads.fail = true
  edge.reads.failure = new UnavailableError('down')
  const statuses = [(await edge.call()).status, (await edge.call()).status]
  await edge.stop()
  assert.deepEqual(statuses, [503, 429])
})

test('500: a read that fails, or that cannot be serialized, is not charged', async () => {
  const { charged, metering } = recordedMetering()
  const edge = await startPaid({ metering })
  edge.reads.fail = true
  const statuses = [(await edge.call()).status]
  edge.reads.fail = false
  edge.reads.body = { unwritable: 1n }
  statuses.push((await edge.call()).status)
  await edge.stop()
  assert.deepEqual([...statuses, charged.length], [500, 500, 0])
})

test('503: a call whose charge has an unknown outcome is charged once and not sent', async () => {
  let charges = 0
  const charge: Metering['charge'] = async () => {
    charges++
    throw new UnavailableError('no answer')
  }
  const edge = await startPaid({ metering: recordedMetering({ charge }).metering })
  const { status, body } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, charges], [503, 1])
  assert.doesNotMatch(String(body), /private/)
})

test('200: a paid call is not rejected if the not-found limit of its key fills up meanwhile', async () => {
  const { metering } = recordedMetering()
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const edge = await startPaid({
    notFoundLimits: { perMinute: 1, perDay: 1 },
    metering: {
      ...metering,
      async charge(call) {
        begun.resolve()
        await held.promise
        return metering.charge(call)
      },
    },
  })
  const paid = edge.call()
  await begun.promise
  edge.reads.missing = true
  const statuses: number[] = []
  for (let call = 0; call < 3; call++) statuses.push((await edge.call()).status)
  held.resolve()
  const { status } = await paid
  await edge.stop()
  assert.deepEqual([...statuses, status], [404, 429, 429, 200])
})

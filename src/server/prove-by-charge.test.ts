/**
 * The charge for a paid read proves its key. If nothing is charged, the key is looked up and the
 * usual checks decide the response.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validKey } from '../../test/support/start/edge.ts'
import { scope, startPaid } from '../../test/support/start/paid-edge.ts'
import type { MeteredCall, Metering } from '../platform/http/admission.ts'
import { refuse, UnavailableError } from '../platform/http/errors.ts'

/** Builds a metering that charges every call, except where `over` replaces a function. */
function recordedMetering(over: Partial<Metering> = {}) {
  const charged: MeteredCall[] = []
  const metering: Metering = {
    isFree: () => false,
    shortfall: () => null,
    async charge(call) {
      charged.push(call)
      return { charged: 1, remaining: 9 }
    },
    undo: () => undefined,
    ...over,
  }
  return { charged, metering }
}

/**
 * Builds an authenticator that looks the key up unless a charge has proven it, and counts the
 * look-ups.
 */
function lookingUp(found: typeof validKey | null = validKey) {
  const told = { lookUps: 0 }
  const authenticate = async (seen: () => Promise<boolean> | null) => {
    const proving = seen()
    if (proving !== null && (await proving)) return validKey
    told.lookUps++
    return found
  }
  return { told, authenticate }
}

test('200: a key that the charge proves is not looked up', async () => {
  const { charged, metering } = recordedMetering()
  const { told, authenticate } = lookingUp()
  const edge = await startPaid({ metering, authenticate })
  const { status, headers } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, told.lookUps, edge.reads.begun], [200, 0, 1])
  assert.deepEqual(
    charged.map(({ provenFor }) => provenFor),
    [scope],
  )
  assert.equal(headers['service-credits-charged'], '1')
  assert.equal(headers['service-credits-remaining'], '9')
  assert.match(String(headers.ratelimit), /"minute";r=99/)
})

test('200: a key that the charge could not prove is looked up, and charged for the early read', async () => {
  const { charged, metering } = recordedMetering()
  const { told, authenticate } = lookingUp()
  const edge = await startPaid({
    authenticate,
    metering: {
      ...metering,
      charge: (call) =>
        call.provenFor === null
          ? metering.charge(call)
          : Promise.resolve(refuse('insufficient_credits')),
    },
  })
  const { status, headers } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, told.lookUps, edge.reads.begun, charged.length], [200, 1, 1, 1])
  assert.match(String(headers.ratelimit), /"minute";r=99/, 'counted once')
})

test('401: a key that no charge proves and no look-up finds gets no other detail', async () => {
  const { metering } = recordedMetering({
    charge: async () => refuse('insufficient_credits'),
  })
  const { told, authenticate } = lookingUp(null)
  const edge = await startPaid({ metering, authenticate })
  const { status, body } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, told.lookUps], [401, 1])
  assert.doesNotMatch(String(body), /private|credits/)
})

for (const [what, { over = {}, free = false, headers = [] }] of Object.entries<{
  over?: Partial<Parameters<typeof startPaid>[0]>
  free?: boolean
  headers?: string[]
}>({
  'a key that a charge cannot prove': { over: { isProvable: false } },
  'a test key': { over: { environment: 'test' } },
  'a free meter': { free: true },
  'a named purchase': { headers: ['Idempotency-Key: purchase-0000001'] },
}))
  test(`200: the key is looked up before anything is charged: ${what}`, async () => {
    const { charged, metering } = recordedMetering({ isFree: () => free })
    const { told, authenticate } = lookingUp()
    const edge = await startPaid({ ...over, metering, authenticate })
    const { status } = await edge.call(...headers)
    await edge.stop()
    assert.deepEqual([status, told.lookUps, edge.reads.begun], [200, 1, 1])
    assert.deepEqual(
      charged.filter(({ provenFor }) => provenFor !== null),
      [],
    )
  })

test('404 and 429: a response other than 200 costs nothing and is sent after the key is looked up', async () => {
  const { charged, metering } = recordedMetering()
  const { told, authenticate } = lookingUp()
  const edge = await startPaid({ metering, authenticate, perMinute: 1 })
  edge.reads.missing = true
  const statuses = [(await edge.call()).status, (await edge.call()).status]
  await edge.stop()
  assert.deepEqual([...statuses, told.lookUps, charged.length], [404, 429, 2, 0])
})

test('200: a charge proves the scope of its route', async () => {
  const { charged, metering } = recordedMetering()
  const { authenticate } = lookingUp()
  const limits = { perMinute: 100, perDay: 100 }
  const edge = await startPaid({
    metering,
    authenticate,
    policy: { kind: 'paid', scope: 'candidates:read', meter: 'candidate_search', limits },
  })
  await edge.call()
  await edge.stop()
  assert.partialDeepStrictEqual(charged, [
    { provenFor: 'candidates:read', meter: 'candidate_search' },
  ])
})

test('401: a failure before the charge is not revealed to an invalid key', async () => {
  const { metering } = recordedMetering({
    charge: async () => {
      throw new Error('not charged')
    },
  })
  const { told, authenticate } = lookingUp(null)
  const edge = await startPaid({ metering, authenticate })
  const statuses = [(await edge.call()).status]
  edge.reads.body = { unwritable: 1n }
  statuses.push((await edge.call()).status)
  await edge.stop()
  assert.deepEqual([...statuses, told.lookUps], [401, 401, 2])
})

test('429: calls whose read fails use up the limit too, and then no read starts', async () => {
  const { metering } = recordedMetering()
  const { authenticate } = lookingUp()
  const edge = await startPaid({ metering, authenticate, perMinute: 1 })
  edge.reads.fail = true
  edge.reads.failure = new UnavailableError('down')
  const statuses: number[] = []
  for (let call = 0; call < 4; call++) statuses.push((await edge.call()).status)
  await edge.stop()
  assert.deepEqual([...statuses, edge.reads.begun], [503, 429, 429, 429, 2])
})

test('429: a call over its limit is not charged, even if its read was started', async () => {
  const { charged, metering } = recordedMetering()
  const { authenticate } = lookingUp()
  const edge = await startPaid({ metering, authenticate, perMinute: 1 })
  const statuses = [(await edge.call()).status, (await edge.call()).status]
  await edge.stop()
  assert.deepEqual([...statuses, edge.reads.begun, charged.length], [200, 429, 2, 1])
})

test('200: a paid call is not rejected if the not-found limit of its key fills up meanwhile', async () => {
  const { metering } = recordedMetering()
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const { authenticate } = lookingUp()
  const edge = await startPaid({
    authenticate,
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
  for (let miss = 0; miss < 3; miss++) statuses.push((await edge.call()).status)
  held.resolve()
  const { status } = await paid
  await edge.stop()
  assert.deepEqual([...statuses, status], [404, 429, 429, 200])
})

test('503: if the database does not answer the read, the key is not looked up; 401: other failures are hidden from an invalid key', async () => {
  const { charged, metering } = recordedMetering()
  const { told, authenticate } = lookingUp(null)
  const edge = await startPaid({ metering, authenticate })
  edge.reads.fail = true
  const failed = await edge.call()
  edge.reads.failure = new UnavailableError('down')
  const down = await edge.call()
  await edge.stop()
  assert.deepEqual([failed.status, down.status, told.lookUps, charged.length], [401, 503, 1, 0])
})

test('503: a call whose charge has an unknown outcome is not charged again', async () => {
  let charges = 0
  const { metering } = recordedMetering({
    async charge() {
      charges++
      throw new UnavailableError('no answer')
    },
  })
  const { told, authenticate } = lookingUp()
  const edge = await startPaid({ metering, authenticate })
  const { status } = await edge.call()
  await edge.stop()
  assert.deepEqual([status, charges, told.lookUps], [503, 1, 0])
})

/**
 * Early reads: a paid read starts before its key is known to be valid. A rejected caller learns
 * nothing from it, and a caller with a full limit starts none.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, request, validKey } from '../../test/support/start/edge.ts'
import { meter, scope, startPaid } from '../../test/support/start/paid-edge.ts'

test('200: one call starts one read, before the key is known to be valid', async () => {
  let begunBefore = 0
  const edge = await startPaid({
    authenticate: async (seen) => {
      assert.equal(seen(), null)
      begunBefore = edge.reads.begun
      return validKey
    },
  })
  const reply = await edge.call()
  await edge.stop()
  assert.deepEqual([reply.status, begunBefore, edge.reads.begun], [200, 1, 1])
})

test('401: a key that was revoked meanwhile learns neither the result of the read nor that it failed', async () => {
  const edge = await startPaid({
    authenticate: async (seen) => {
      assert.equal(seen(), null)
      return null
    },
  })
  const replies = [await edge.call()]
  edge.reads.fail = true
  replies.push(await edge.call())
  await edge.stop()
  assert.equal(edge.reads.begun, 2)
  for (const { status, body } of replies) {
    assert.equal(status, 401)
    assert.doesNotMatch(String(body), /private|not read/)
  }
})

for (const policy of [
  { kind: 'keyed', scope, limits: { perMinute: 100, perDay: 100 } },
  {
    kind: 'optional-key',
    scope,
    meter,
    limits: { perMinute: 100, perDay: 100 },
    anonymous: { perMinute: 100, perDay: 100 },
  },
] as const)
  test(`401: other than a paid read, no work starts before the key is valid: ${policy.kind}`, async () => {
    const edge = await startPaid({
      policy,
      authenticate: async (seen) => {
        assert.equal(seen(), null)
        return null
      },
    })
    const { status } = await edge.call()
    await edge.stop()
    assert.deepEqual([status, edge.reads.begun], [401, 0])
  })

test('500: a read that failed fails the call that started it', async () => {
  const edge = await startPaid({
    authenticate: async (seen) => {
      assert.equal(seen(), null)
      return validKey
    },
  })
  edge.reads.fail = true
  const { status } = await edge.call()
  await edge.stop()
  assert.equal(status, 500)
})

test('429: a key with a full limit starts no read', async () => {
  const edge = await startPaid({
    perMinute: 1,
    authenticate: async (seen) => {
      assert.equal(seen(), null)
      return validKey
    },
  })
  const statuses: number[] = []
  for (let call = 0; call < 4; call++) statuses.push((await edge.call()).status)
  await edge.stop()
  assert.deepEqual(statuses, [200, 429, 429, 429])
  // The first rejected call started its read before its limit was known to be full.
  assert.equal(edge.reads.begun, 2)
})

test('429: a payer with a full limit may not try, nor may another payer of the same address', async () => {
  const told: boolean[] = []
  let payer = `0x${'a'.repeat(40)}`
  const edge = await startPaid({
    perMinute: 1,
    payments: {
      async answer({ mayTry, limit, read }) {
        told.push(mayTry(payer))
        return (await limit(payer)) ?? read(payer)
      },
    },
  })
  const buy = async () => (await ask(edge.port, request('GET /read'))).status
  const statuses = [await buy(), await buy(), await buy()]
  payer = `0x${'b'.repeat(40)}`
  statuses.push(await buy())
  await edge.stop()
  assert.deepEqual(statuses, [200, 429, 429, 429])
  // The first rejected payment could not be denied early.
  assert.deepEqual(told, [true, true, false, false])
})

test('200: a payer is not held by the full limits of another payer at the same address', async () => {
  const [spender, other] = [`0x${'a'.repeat(40)}`, `0x${'b'.repeat(40)}`]
  for (const limit of ['misses', 'calls']) {
    let payer = spender
    const edge = await startPaid({
      ...(limit === 'misses' ? { notFoundLimits: { perMinute: 2, perDay: 2 } } : { perMinute: 2 }),
      payments: {
        answer: async ({ limit, read, mayTry }) => {
          const isFree = mayTry(payer)
          assert.ok(isFree || payer === spender)
          return (await limit(payer)) ?? read(payer)
        },
      },
    })
    const buy = async (address: string) =>
      (await ask(edge.port, request('GET /read', [`X-Forwarded-For: ${address}`]))).status
    edge.reads.missing = limit === 'misses'
    await buy('203.0.113.1')
    await buy('203.0.113.1')
    const last = [await buy('203.0.113.2'), await buy('203.0.113.2')]
    payer = other
    edge.reads.missing = false
    last.push(await buy('203.0.113.2'))
    await edge.stop()
    assert.deepEqual(last, [429, 429, 200], limit)
  }
})

test('429: the not-found limit counts a payer and its address, and then neither may try', async () => {
  const told: boolean[] = []
  let payer = `0x${'a'.repeat(40)}`
  const edge = await startPaid({
    notFoundLimits: { perMinute: 2, perDay: 2 },
    payments: {
      async answer({ mayTry, limit, read }) {
        told.push(mayTry(payer))
        return (await limit(payer)) ?? read(payer)
      },
    },
  })
  edge.reads.missing = true
  const buy = async () => (await ask(edge.port, request('GET /read'))).status
  const statuses = [await buy(), await buy(), await buy(), await buy()]
  payer = `0x${'b'.repeat(40)}`
  statuses.push(await buy())
  await edge.stop()
  assert.deepEqual(statuses, [404, 404, 429, 429, 429])
  assert.deepEqual(told, [true, true, true, false, false])
  assert.equal(edge.reads.begun, 3)
})

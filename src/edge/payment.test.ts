/** The limits of x402 payers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, request } from '../../test/support/start/edge.ts'
import { startPaid } from '../../test/support/start/paid-edge.ts'

test('429: a payer with a full limit may not try, nor may another payer of the same address', async () => {
  const tries: boolean[] = []
  let payer = `0x${'a'.repeat(40)}`
  const edge = await startPaid({
    perMinute: 1,
    payments: {
      async answer({ mayTry, limit, read }) {
        tries.push(mayTry(payer))
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
  assert.deepEqual(tries, [true, false, false, false])
})

test('200: a payer is not held by the full limits of another payer at the same address', async () => {
  const [spender, other] = [`0x${'a'.repeat(40)}`, `0x${'b'.repeat(40)}`]
  for (const limit of ['not found', 'calls']) {
    let payer = spender
    const edge = await startPaid({
      ...(limit === 'not found'
        ? { notFoundLimits: { perMinute: 2, perDay: 2 } }
        : { perMinute: 2 }),
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
    edge.reads.missing = limit === 'not found'
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
  const tries: boolean[] = []
  let payer = `0x${'a'.repeat(40)}`
  const edge = await startPaid({
    notFoundLimits: { perMinute: 2, perDay: 2 },
    payments: {
      async answer({ mayTry, limit, read }) {
        tries.push(mayTry(payer))
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
  assert.deepEqual(tries, [true, true, false, false, false])
  assert.equal(edge.reads.begun, 2)
})

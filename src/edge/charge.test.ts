/** A caller that leaves is not charged, and a charge that already happened is refunded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRaw, request, startEdge, validKey } from '../../test/support/start/edge.ts'
import { eventually } from '../../test/support/start/processes.ts'
import type { MeteredCall, Metering } from './http/admission.ts'
import { endpoint } from './http/endpoint.ts'

/**
 * Sends requests to a paid route at once, and holds the first at its read or at its charge until
 * `goOn`.
 */
async function startCall(heldAt: 'read' | 'charge', requests = 1) {
  const charged: MeteredCall[] = []
  const refunded: MeteredCall[] = []
  const begun = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let reads = 0
  let passed = 0
  const pass = async (place: typeof heldAt): Promise<void> => {
    if (place !== heldAt || ++passed > 1) return
    begun.resolve()
    await held.promise
  }
  const metering: Metering = {
    shortfall: () => null,
    async charge(call) {
      await pass('charge')
      charged.push(call)
      return { charged: 1 }
    },
    refund: (call) => void refunded.push(call),
  }
  const edge = await startEdge({
    authenticate: async () => validKey,
    metering,
    endpoints: [
      endpoint({
        operationId: 'read',
        method: 'GET',
        path: '/read',
        policy: {
          kind: 'paid',
          scope: 'scores:read',
          meter: 'score_lookup',
          limits: { perMinute: 100, perDay: 100 },
        },
        area: 'Sample',
        summary: 'Sample',
        responses: {},
        priority: 'public',
        async answer() {
          reads++
          await pass('read')
          return { status: 200, body: {} }
        },
      }),
    ],
  })
  const connection = await openRaw(edge.port)
  connection.send(request('GET /read', ['Authorization: Bearer x']).repeat(requests))
  await begun.promise
  return { edge, connection, charged, refunded, goOn: held.resolve, reads: () => reads }
}

type Call = Awaited<ReturnType<typeof startCall>>

async function leave({ edge, connection }: Call): Promise<void> {
  connection.socket.destroy()
  await eventually('the server knows that the caller is gone', {
    see: async () => (await edge.metrics.text()).includes('\nhttp_connections 0\n'),
  })
}

async function logged({ edge }: Call, calls: number): Promise<void> {
  await eventually('the calls are logged', {
    see: async () => edge.logged().split('"/read"').length > calls,
  })
}

for (const [heldAt, calls] of [
  ['read', 0],
  ['charge', 1],
] as const)
  test(`a caller that leaves at the ${heldAt} pays nothing in the end`, async () => {
    const call = await startCall(heldAt)
    const { edge, charged, refunded, goOn } = call
    await leave(call)
    goOn()
    await logged(call, 1)
    await edge.stop()
    assert.deepEqual([charged.length, refunded.length], [calls, calls])
  })

test('a caller that stays is charged', async () => {
  const { edge, connection, refunded, goOn } = await startCall('charge')
  goOn()
  const { status, headers } = await connection.answer()
  connection.socket.destroy()
  await edge.stop()
  assert.equal(status, 200)
  assert.equal(headers['service-credits-charged'], '1')
  assert.equal(refunded.length, 0)
})

test('pipelined requests begin one after the other, and each is charged', async () => {
  const call = await startCall('read', 2)
  assert.equal(call.reads(), 1)
  call.goOn()
  const answers = [await call.connection.answer(), await call.connection.answer()]
  assert.deepEqual(
    answers.map(({ headers }) => headers['service-credits-charged']),
    ['1', '1'],
  )
  call.connection.socket.destroy()
  await call.edge.stop()
})

test('a caller that leaves before a response pays neither for it nor for the requests behind it', async () => {
  const call = await startCall('read', 2)
  await leave(call)
  call.goOn()
  await logged(call, 1)
  await call.edge.stop()
  assert.deepEqual([call.reads(), call.charged.length, call.refunded.length], [1, 0, 0])
})

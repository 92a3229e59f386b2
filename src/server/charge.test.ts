/** A caller that leaves is not charged, and a charge that already happened is refunded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRaw, request, startEdge, validKey } from '../../test/support/start/edge.ts'
import { eventually } from '../../test/support/start/processes.ts'
import { timeoutMultiplier } from '../../test/support/start/timeout-multiplier.ts'
import { setTimeoutMultiplier } from '../platform/deadlines.ts'
import type { MeteredCall, Metering } from '../platform/http/admission.ts'
import { endpoint } from '../platform/http/endpoint.ts'

/**
 * Starts a call of a paid route and holds it at its read or at its charge until `goOn`. Later calls
 * are not held.
 */
async function startCall(heldAt: 'read' | 'charge') {
  const charged: MeteredCall[] = []
  const undone: MeteredCall[] = []
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
    undo: (call) => void undone.push(call),
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
  const send = () => connection.send(request('GET /read', ['Authorization: Bearer x']))
  send()
  await begun.promise
  return { edge, connection, send, charged, undone, goOn: held.resolve, reads: () => reads }
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
    const { edge, charged, undone, goOn } = call
    await leave(call)
    goOn()
    await logged(call, 1)
    await edge.stop()
    assert.deepEqual([charged.length, undone.length], [calls, calls])
  })

test('a caller that stays is charged', async () => {
  const { edge, connection, undone, goOn } = await startCall('charge')
  goOn()
  const { status, headers } = await connection.answer()
  connection.socket.destroy()
  await edge.stop()
  assert.equal(status, 200)
  assert.equal(headers['service-credits-charged'], '1')
  assert.equal(undone.length, 0)
})

test('pipelined requests are each charged when their response can be sent', async () => {
  const behind = async () => {
    const call = await startCall('read')
    call.send()
    await eventually('both are read', { see: async () => call.reads() === 2 })
    return call
  }
  const stays = await behind()
  stays.goOn()
  const answers = [await stays.connection.answer(), await stays.connection.answer()]
  assert.deepEqual(
    answers.map(({ headers }) => headers['service-credits-charged']),
    ['1', '1'],
  )
  stays.connection.socket.destroy()
  await stays.edge.stop()
  const leaves = await behind()
  await leave(leaves)
  leaves.goOn()
  await logged(leaves, 2)
  await leaves.edge.stop()
  assert.deepEqual([leaves.charged.length, leaves.undone.length], [0, 0])
})

test('503: a response that waits too long for earlier ones on its connection is not charged', async () => {
  const call = await startCall('read')
  setTimeoutMultiplier(0.01)
  call.send()
  await logged(call, 1)
  setTimeoutMultiplier(timeoutMultiplier)
  call.goOn()
  const statuses = [await call.connection.answer(), await call.connection.answer()]
  call.connection.socket.destroy()
  await call.edge.stop()
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [200, 503],
  )
  assert.equal(call.charged.length, 1)
})

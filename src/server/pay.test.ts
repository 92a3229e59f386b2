/** Who is charged although nothing can reach it any more gets back what it was charged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRaw, request, startEdge, validKey } from '../../test/support/edge.ts'
import { eventually } from '../../test/support/processes.ts'
import type { MeteredCall, Metering } from '../platform/admission.ts'
import { endpoint } from '../platform/endpoint.ts'

/** A paid route whose charge takes until `charge` is told to end it. */
async function startCharging() {
  const undone: MeteredCall[] = []
  const begun = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const metering: Metering = {
    shortfall: () => null,
    async charge() {
      begun.resolve()
      await held.promise
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
        shed: 1,
        answer: async () => ({ status: 200, body: {} }),
      }),
    ],
  })
  const connection = await openRaw(edge.port)
  connection.send(request('GET /read', ['Authorization: Bearer x']))
  await begun.promise
  return { edge, connection, undone, endCharge: held.resolve }
}

test('a caller that leaves while it is charged gets it back', async () => {
  const { edge, connection, undone, endCharge } = await startCharging()
  connection.socket.destroy()
  await eventually('the server knows that the caller is gone', {
    see: async () => (await edge.metrics.text()).includes('\nhttp_connections 0\n'),
  })
  endCharge()
  await eventually('the call is logged', { see: async () => edge.logged().includes('"/read"') })
  await edge.stop()
  assert.equal(undone.length, 1)
})

test('a caller that stays is charged', async () => {
  const { edge, connection, undone, endCharge } = await startCharging()
  endCharge()
  const { status, headers } = await connection.answer()
  connection.socket.destroy()
  await edge.stop()
  assert.equal(status, 200)
  assert.equal(headers['service-credits-charged'], '1')
  assert.equal(undone.length, 0)
})

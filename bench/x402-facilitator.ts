/**
 * A facilitator for benchmarks: it agrees after a delay, or is the official code on a chain. It
 * takes its task from the first message.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { openDb } from '../src/platform/db/db.ts'
import { openEgress } from '../src/platform/egress/client.ts'
import { operatorRules } from '../src/platform/egress/rules.ts'
import type { OfficialFacilitator } from '../src/x402/settlement/facilitator.ts'
import { localFacilitator } from '../src/x402/settlement/local.ts'
import { openRpc } from '../src/x402/settlement/rpc.ts'

export type FacilitatorOrder =
  | { kind: 'agreeing'; delayMs: number }
  | { kind: 'official'; rpcUrl: string; relayerKey: string; databaseUrl: string }

type Asked = { paymentPayload: never; paymentRequirements: never }

process.once('message', (order: FacilitatorOrder) => {
  const answerTo = order.kind === 'agreeing' ? agreeing(order.delayMs) : official(order)
  const server = createServer((request, response) => void answer(request, response))
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('Content-Type', 'application/json')
    if (request.url === '/supported') {
      const kinds = [{ x402Version: 2, scheme: 'exact', network: 'eip155:84532' }]
      response.end(JSON.stringify({ kinds, extensions: [], signers: {} }))
      return
    }
    const asked = (await json(request)) as Asked
    response.end(JSON.stringify(await answerTo(request.url ?? '', asked)))
  }
  server.listen(0, '127.0.0.1', () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  )
})
process.once('disconnect', () => process.exit(0))

function agreeing(delayMs: number) {
  return async (): Promise<unknown> => {
    if (delayMs > 0) await pause(delayMs)
    const transaction = `0x${randomBytes(32).toString('hex')}`
    return { isValid: true, success: true, transaction, network: 'eip155:84532' }
  }
}

function official(order: Extract<FacilitatorOrder, { kind: 'official' }>) {
  const { rpcUrl, relayerKey, databaseUrl: url } = order
  const db = openDb({ url, connectionsMax: 4, applicationName: 'facilitator', onError: () => {} })
  const rpc = openRpc(openEgress({ rules: operatorRules }), rpcUrl)
  const code: OfficialFacilitator = localFacilitator({
    db,
    rpc,
    network: 'base-sepolia',
    relayerKey,
  })
  return (path: string, { paymentPayload, paymentRequirements }: Asked): Promise<unknown> =>
    path === '/verify'
      ? code.verify(paymentPayload, paymentRequirements)
      : code.settle(paymentPayload, paymentRequirements)
}

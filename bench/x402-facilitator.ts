/**
 * A facilitator for benchmarks: it agrees after a delay, or is the official code on a chain. The
 * one that agrees is also the chain node at `/node`, which shows the payments that it made up. It
 * takes its task from the first message.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { openRpc } from '../src/billing/x402/settlement/chain.ts'
import type { OfficialFacilitator } from '../src/billing/x402/settlement/facilitator.ts'
import { localFacilitator } from '../src/billing/x402/settlement/local.ts'
import { openDb } from '../src/platform/db/db.ts'
import { openEgress } from '../src/platform/egress/client.ts'
import { operatorRules } from '../src/platform/egress/rules.ts'

export type FacilitatorOrder =
  | { kind: 'agreeing'; delayMs: number }
  | { kind: 'official'; rpcUrl: string; relayerKey: string; databaseUrl: string }

/** A question to a facilitator. */
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

interface Agreed {
  paymentPayload: { payload: { authorization: { from: string; nonce: string; value: string } } }
  paymentRequirements: { asset: string; payTo: string }
}

interface NodeCall {
  id: number
  method: string
  params: readonly string[]
}

const baseSepolia = '0x14a34'

function agreeing(delayMs: number) {
  const receipts = new Map<string, { logs: unknown[] }>()
  const nodeAnswer = ({ method, params: [transaction = ''] }: NodeCall): unknown =>
    method === 'eth_chainId' ? baseSepolia : (receipts.get(transaction) ?? null)
  return async (path: string, asked: Asked | NodeCall): Promise<unknown> => {
    if ('method' in asked) return { jsonrpc: '2.0', id: asked.id, result: nodeAnswer(asked) }
    if (delayMs > 0) await pause(delayMs)
    const transaction = `0x${randomBytes(32).toString('hex')}`
    if (path === '/settle') receipts.set(transaction, receiptOf(transaction, asked))
    return { isValid: true, success: true, transaction, network: 'eip155:84532' }
  }
}

/** Keccak-256 of `AuthorizationUsed(address,bytes32)` and `Transfer(address,address,uint256)`. */
const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** Returns the receipt of a transaction that used the authorization and transferred the amount. */
function receiptOf(transactionHash: string, asked: Agreed): { logs: unknown[] } {
  const { asset: address, payTo } = asked.paymentRequirements
  const { from, nonce, value } = asked.paymentPayload.payload.authorization
  const topicOf = (account: string) => `0x${account.slice(2).toLowerCase().padStart(64, '0')}`
  const used = { topics: [usedTopic, topicOf(from), nonce], data: '0x' }
  const data = `0x${BigInt(value).toString(16).padStart(64, '0')}`
  const transferred = { topics: [transferTopic, topicOf(from), topicOf(payTo)], data }
  return { logs: [used, transferred].map((log) => ({ address, transactionHash, ...log })) }
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

/**
 * A remote facilitator with the official code, and a node in front of the chain. Both fail on
 * demand.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openRpc } from '../../../src/billing/x402/settlement/chain.ts'
import { localFacilitator } from '../../../src/billing/x402/settlement/local.ts'
import { openEgress } from '../../../src/platform/egress/client.ts'
import { operatorRules } from '../../../src/platform/egress/rules.ts'
import type { PaidLoop } from './paid-loop.ts'

const nulls = { invalidReason: null, invalidMessage: null, errorReason: null, errorMessage: null }

/** Text of internal errors. It must not reach any answer, log or table. */
export const indiscretion = 'https://rpc.example/v2/secret-key-of-the-operator'

export type Fault =
  | 'none'
  /** The connection ends before the facilitator does anything. */
  | 'request lost'
  /** The connection ends after the facilitator has done everything. */
  | 'answer lost'
  /** Status 500 with internal details. */
  | 'error'
  /** Unset fields are null instead of absent. */
  | 'nulls'
  /** The facilitator does nothing and claims that the transaction `claimed` made the payment. */
  | 'false claim'
  /** The facilitator does nothing and reports the transaction `claimed` as failed. */
  | 'failed transaction'

export interface TestFacilitator {
  url: string
  /** The fault of each path, until a test changes it. */
  faults: { '/verify': Fault; '/settle': Fault }
  /** Number of requests to each path. */
  asked: { '/verify': number; '/settle': number }
  /** Transaction of a false claim, or of a failed transaction. */
  claimed: string
  /** The answer of `/supported`. If null, the connection ends instead. */
  kinds: readonly unknown[] | null
  /** If set, runs after a payment is verified and before the answer. */
  onVerified?: (() => Promise<void>) | undefined
  /** If set, runs after a payment is on the chain and before the answer. */
  onSettled?: (() => Promise<void>) | undefined
  stop(): Promise<void>
}

export async function startFacilitator({ chain, database }: PaidLoop): Promise<TestFacilitator> {
  const egress = openEgress({ rules: operatorRules })
  const { relayerKey } = chain
  const rpc = openRpc(egress, chain.url)
  const official = localFacilitator({ db: database.db, rpc, network: 'base-sepolia', relayerKey })
  const faults: TestFacilitator['faults'] = { '/verify': 'none', '/settle': 'none' }
  const asked = { '/verify': 0, '/settle': 0 }
  // The caller may be gone before its answer.
  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy())
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/supported') {
      const { kinds } = facilitator
      if (kinds === null) request.socket.destroy()
      else response.end(JSON.stringify({ kinds, extensions: [], signers: {} }))
      return
    }
    const path = request.url === '/verify' ? '/verify' : '/settle'
    asked[path]++
    const fault = faults[path]
    if (fault === 'request lost') {
      request.socket.destroy()
      return
    }
    if (fault === 'error') {
      response
        .writeHead(500)
        .end(JSON.stringify({ error: indiscretion, errorReason: indiscretion }))
      return
    }
    if (fault === 'false claim') {
      response.end(JSON.stringify({ success: true, transaction: facilitator.claimed }))
      return
    }
    if (fault === 'failed transaction') {
      const errorReason = 'invalid_exact_evm_transaction_failed'
      const { claimed: transaction } = facilitator
      response.end(JSON.stringify({ success: false, errorReason, transaction }))
      return
    }
    const { paymentPayload, paymentRequirements } = JSON.parse(await textOf(request))
    const result =
      path === '/verify'
        ? await official.verify(paymentPayload, paymentRequirements)
        : await official.settle(paymentPayload, paymentRequirements)
    await (path === '/verify' ? facilitator.onVerified : facilitator.onSettled)?.()
    if (fault === 'answer lost') request.socket.destroy()
    else response.end(JSON.stringify(fault === 'nulls' ? { ...nulls, ...result } : result))
  }
  const stop = async (): Promise<void> => {
    close(server)
    await egress.close()
  }
  const kinds = [{ x402Version: 2, scheme: 'exact', network: 'eip155:84532' }]
  const url = await listening(server)
  const facilitator: TestFacilitator = { url, faults, asked, claimed: '', kinds, stop }
  return facilitator
}

export interface TestNode {
  url: string
  down: boolean
  /** If set, runs after the chain has answered and before the node passes the answer on. */
  onAnswered?: ((question: string) => Promise<void>) | undefined
  stop(): void
}

/** Starts a node in front of the chain. */
export async function startNode({ chain }: PaidLoop): Promise<TestNode> {
  const node: TestNode = { url: '', down: false, stop: () => close(server) }
  const server = createServer((request, response) => {
    forward(request, response).catch(() => request.socket.destroy())
  })
  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (node.down) {
      response.writeHead(502).end(indiscretion)
      return
    }
    const question = await textOf(request)
    const answer = await fetch(chain.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: question,
    })
    const text = await answer.text()
    await node.onAnswered?.(question)
    response.end(text)
  }
  node.url = await listening(server)
  return node
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function close(server: Server): void {
  server.close()
  server.closeAllConnections()
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

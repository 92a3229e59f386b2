/**
 * The payment loop with faults: every connection between the server and the chain can fail, and a
 * test moves the clock of the servers.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { X402Settings } from '../../../src/billing/x402/settlement/open.ts'
import { type Clock, systemClock } from '../../../src/platform/clock.ts'
import { sql } from '../../../src/platform/db/db.ts'
import { readBase64Json } from '../build/payments.ts'
import { assertError, type PaidLoop, startLoopServer, startPaidLoop } from '../start/paid-loop.ts'
import type { PaidServer, PaidServerOptions } from '../start/paid-server.ts'
import {
  startFacilitator,
  startNode,
  type TestFacilitator,
  type TestNode,
} from '../start/test-facilitator.ts'

export interface FaultyLoop extends PaidLoop {
  facilitator: TestFacilitator
  node: TestNode
  /**
   * Starts a server that settles through `facilitator`. It reads the chain through `node`, unless
   * `blind` is set.
   */
  start(options?: Partial<PaidServerOptions> & { blind?: boolean }): Promise<PaidServer>
  /**
   * Runs `work` with the clocks of all servers moved ahead. The clock of the chain does not move.
   */
  later(seconds: number, work: () => Promise<void>): Promise<void>
  /** Runs `work` while the named parts fail, and repairs them afterwards. */
  broken<Result>(what: Broken, work: () => Promise<Result>): Promise<Result>
  /** Runs `work`, and runs `meanwhile` between verification and settlement of its payment. */
  verifiedThen<Result>(
    meanwhile: () => Promise<unknown>,
    work: () => Promise<Result>,
  ): Promise<Result>
  /** Returns the stored state of a payment. */
  stateOf(header: string): Promise<string | undefined>
}

type Broken = Partial<TestFacilitator['faults']> & { node?: boolean }

export async function startFaultyLoop(): Promise<FaultyLoop> {
  const loop = await startPaidLoop()
  const facilitator = await startFacilitator(loop)
  const node = await startNode(loop)
  const secrets = [randomBytes(32).toString('hex')] as const
  let aheadMs = 0
  const clock: Clock = () => new Date(systemClock().getTime() + aheadMs)
  const servers: PaidServer[] = []
  return {
    ...loop,
    facilitator,
    node,
    async start({ blind = false, ...options } = {}) {
      const rpcUrl = blind ? null : node.url
      const remote = { kind: 'remote', url: facilitator.url, authorization: null, rpcUrl } as const
      const settings: Partial<X402Settings> = { secrets, facilitator: remote }
      const server = await startLoopServer(loop, { settings, clock, ...options })
      servers.push(server)
      return server
    },
    async later(seconds, work) {
      aheadMs = seconds * 1_000
      try {
        await work()
      } finally {
        aheadMs = 0
      }
    },
    async broken({ node: isNodeDown = false, ...faults }, work) {
      Object.assign(facilitator.faults, faults)
      node.down = isNodeDown
      try {
        return await work()
      } finally {
        Object.assign(facilitator.faults, { '/verify': 'none', '/settle': 'none' })
        node.down = false
      }
    },
    async verifiedThen(meanwhile, work) {
      facilitator.onVerified = async () => void (await meanwhile())
      try {
        return await work()
      } finally {
        facilitator.onVerified = undefined
      }
    },
    async stateOf(header) {
      const { payload } = readBase64Json(header) as {
        payload: { authorization: { nonce: string } }
      }
      const [row] = await loop.database.db.rows<{ state: string }>(sql`
        select state from x402_payments where auth_nonce = ${payload.authorization.nonce}`)
      return row?.state
    },
    async stop() {
      for (const server of servers) await server.stop()
      await facilitator.stop()
      node.stop()
      await loop.stop()
    },
  }
}

export function assertPending(reply: Parameters<typeof assertError>[0]): void {
  assertError(reply, 503, 'payment_settlement_pending')
  assert.equal(reply.headers['retry-after'], '1')
  assert.equal(reply.headers['payment-required'], undefined)
}

/** Payers, a chain and paid servers: the setup of the x402 flows. */
import assert from 'node:assert/strict'
import { type TestFn, test } from 'node:test'
import { type Abi, encodeFunctionData, parseSignature } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Authorization } from '../../../src/billing/x402/protocol/payload.ts'
import {
  base64Json,
  payloadV1,
  readBase64Json,
  type SignedAuthorization,
  signAuthorization,
  testTerms,
  testWallet,
} from '../build/payments.ts'
import { ask, type Reply } from './ask.ts'
import { anvilBinary, startChain, type TestChain } from './chain/anvil.ts'
import { type TestDatabase, testDatabase } from './database.ts'
import { type PaidServer, payTo, startPaidServer } from './paid-server.ts'

export const terms = { ...testTerms, payTo }

const missing =
  anvilBinary() === null ? 'NO CHAIN HERE: anvil has no program for this platform' : false

/** Registers a test that needs a chain. It is skipped with a reason on platforms without anvil. */
export function chainTest(name: string, run: TestFn): void {
  void test(name, { skip: missing }, run)
}

export interface PaidLoop {
  chain: TestChain
  database: TestDatabase
  /** Creates a payer with a million atomic units. */
  richWallet(): Promise<PrivateKeyAccount>
  /** Returns how many of them the payer has spent. */
  spent(wallet: PrivateKeyAccount): Promise<number>
  /** Cancels an authorization on the chain, as its payer. */
  cancel(wallet: PrivateKeyAccount, nonce: string): Promise<void>
  /** Sends an authorization to the chain, as a third party can. */
  broadcast(signed: SignedAuthorization): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts chain and database. Without anvil, every call of the chain rejects; `chainTest` skips the
 * tests that need one.
 */
export async function startPaidLoop(): Promise<PaidLoop> {
  const chain = missing === false ? await startChain() : noChain
  const database = await testDatabase()
  return {
    chain,
    database,
    async richWallet() {
      const wallet = testWallet()
      await chain.setBalance(wallet.address, 1_000_000n)
      return wallet
    },
    spent: async ({ address }) => 1_000_000 - Number(await chain.balanceOf(address)),
    cancel: (wallet, nonce) => cancel(chain, wallet, nonce),
    broadcast: (signed) => broadcast(chain, signed),
    async stop() {
      await database.drop()
      await chain.stop()
    },
  }
}

const noChain: TestChain = {
  url: 'http://127.0.0.1:1',
  relayerKey: `0x${'1'.repeat(64)}`,
  balanceOf: () => Promise.reject(new Error('no chain')),
  setBalance: () => Promise.reject(new Error('no chain')),
  setPaused: () => Promise.reject(new Error('no chain')),
  call: () => Promise.reject(new Error('no chain')),
  stop: () => Promise.resolve(),
}

export function startLoopServer(
  { chain, database }: PaidLoop,
  options: Partial<Parameters<typeof startPaidServer>[0]> = {},
): Promise<PaidServer> {
  return startPaidServer({ chain, db: database.db, ...options })
}

/** Returns the header of a version 1 payment, built by hand. */
export async function signedHeader(
  wallet: PrivateKeyAccount,
  changes: Partial<Authorization> = {},
): Promise<string> {
  return base64Json(payloadV1(await signAuthorization(wallet, terms, changes), terms))
}

export function pay(
  server: PaidServer,
  header: string,
  more: { path?: string; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const headers = { 'X-PAYMENT': header, ...more.headers }
  return ask(server.base, { path: more.path ?? '/things/1', headers })
}

export function receiptOf({ headers }: Reply): Record<string, unknown> {
  return readBase64Json(headers['payment-response'])
}

/** Asserts that the payment was settled and returns the transaction of the receipt. */
export function assertPaid(reply: Reply): string {
  assert.equal(reply.status, 200, reply.body.toString())
  assert.equal(reply.headers['payment-response'], reply.headers['x-payment-response'])
  const receipt = receiptOf(reply)
  assert.equal(receipt['success'], true)
  assert.match(String(receipt['transaction']), /^0x[0-9a-f]{64}$/)
  return String(receipt['transaction'])
}

export function assertRefused(reply: Reply, reason: string): void {
  assert.equal(reply.status, 402, reply.body.toString())
  assert.ok(reply.headers['payment-required'] !== undefined)
  const { success, errorReason } = receiptOf(reply)
  assert.deepEqual({ success, errorReason }, { success: false, errorReason: reason })
}

export function assertError(reply: Reply, status: number, error: string): void {
  assert.equal(reply.status, status, reply.body.toString())
  assert.equal(JSON.parse(reply.body.toString()).error, error)
}

async function cancel(chain: TestChain, wallet: PrivateKeyAccount, nonce: string): Promise<void> {
  const signature = await wallet.signTypedData({
    domain: {
      name: terms.assetName,
      version: terms.assetVersion,
      chainId: terms.chainId,
      verifyingContract: terms.asset as `0x${string}`,
    },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: wallet.address, nonce: nonce as `0x${string}` },
  })
  const { v, r, s } = parseSignature(signature)
  const types = ['address', 'bytes32', 'uint8', 'bytes32', 'bytes32']
  const abi = abiOf('cancelAuthorization', types)
  await send(chain, encodeFunctionData({ abi, args: [wallet.address, nonce, Number(v), r, s] }))
}

async function broadcast(
  chain: TestChain,
  { authorization, signature }: SignedAuthorization,
): Promise<void> {
  const types = ['address', 'address', 'uint256', 'uint256', 'uint256', 'bytes32', 'bytes']
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const args = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signature]
  const abi = abiOf('transferWithAuthorization', types)
  await send(chain, encodeFunctionData({ abi, args }))
}

function abiOf(name: string, types: readonly string[]): Abi {
  const inputs = types.map((type) => ({ type }))
  return [{ type: 'function', name, stateMutability: 'nonpayable', outputs: [], inputs }]
}

/**
 * Sends a transaction from an account of the chain, resolves once it is mined, and returns its hash.
 * With `gas` it is sent without an estimate, so it may be reverted.
 */
async function send(chain: TestChain, data: string, gas?: string): Promise<string> {
  const [, sender] = (await chain.call('eth_accounts')) as string[]
  const sent = { from: sender, to: terms.asset, data, ...(gas === undefined ? {} : { gas }) }
  const hash = await chain.call('eth_sendTransaction', [sent])
  for (let receipt: unknown = null; receipt === null; )
    receipt = await chain.call('eth_getTransactionReceipt', [hash])
  return String(hash)
}

/** Returns the hash of a transaction that the token has reverted. */
export function sendReverted(chain: TestChain): Promise<string> {
  return send(chain, '0x00000000', '0x30d40')
}

/**
 * The official facilitator code in this process, with the operator's relayer key. Imported with the
 * first payment: it brings 50 MB of code that a server without payments never needs.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, custom, defineChain, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { NetworkName } from '../../../edge/http/payment-challenge.ts'
import { sha256 } from '../../../platform/crypto/bytes.ts'
import type { Db, Tx } from '../../../platform/db/db.ts'
import { deadlineMs } from '../../../platform/deadlines.ts'
import { UnavailableError } from '../../../platform/errors.ts'
import { networks } from '../protocol/terms.ts'
import type { Rpc } from './chain.ts'
import type { OfficialFacilitator } from './facilitator.ts'
import { findPendingTransaction, keepPendingTransaction, lockRelayer } from './store.ts'

export interface LocalFacilitator {
  db: Db
  rpc: Rpc
  network: NetworkName
  /** 0x and 64 hex characters. */
  relayerKey: string
}

const pollMs = 500
const turnMs = 20

export function localFacilitator(options: LocalFacilitator): OfficialFacilitator {
  const { db, rpc, network, relayerKey } = options
  const { chainId, caip2 } = networks[network]
  const account = privateKeyToAccount(relayerKey as `0x${string}`)
  const client = createWalletClient({
    account,
    chain: defineChain({
      id: chainId,
      name: network,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [] } },
    }),
    transport: custom(
      {
        request: ({ method, params }: { method: string; params?: readonly unknown[] }) =>
          rpc(method, params ?? []),
      },
      { retryCount: 0 },
    ),
    pollingInterval: pollMs,
  }).extend(publicActions)
  const inTurn = turns(db, account.address)
  const signer = toFacilitatorEvmSigner(
    {
      address: account.address,
      readContract: (args) => client.readContract({ ...args, args: args.args ?? [] }),
      // The official type is less precise about the parts of a signature than viem's; the values
      // are the same.
      verifyTypedData: (args) =>
        client.verifyTypedData(args as Parameters<typeof client.verifyTypedData>[0]),
      writeContract: (args) => inTurn(() => client.writeContract(args)),
      sendTransaction: (args) => inTurn(() => client.sendTransaction(args)),
      waitForTransactionReceipt: (args) => client.waitForTransactionReceipt(args),
      getCode: (args) => client.getCode(args),
    },
    { confirmationTimeoutMs: deadlineMs('chainReceipt') },
  )
  const facilitator = new x402Facilitator()
  facilitator.register(
    caip2,
    // A transfer that the node refuses now is not sent, so its payer need not wait for
    // `validBefore`.
    new ExactEvmScheme(signer, {
      pendingSettlementStore: pendingTransactions(db),
      simulateInSettle: true,
    }),
  )
  return facilitator
}

/**
 * Numbers and sends one transaction of the relayer at a time: in this process by a chain of
 * promises, among processes under a lock of the database. Two transactions with one number would
 * replace each other. The holder asks the node several questions, which may take longer than the
 * statement timeout, so other processes try the lock again and again.
 */
function turns(db: Db, address: string) {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(send: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(() =>
      db.transaction(async (tx) => {
        await ourTurn(tx, address)
        return send()
      }),
    )
    last = turn.catch(() => undefined)
    return turn
  }
}

async function ourTurn(tx: Tx, address: string): Promise<void> {
  const deadline = performance.now() + deadlineMs('relayerTurn')
  while (!(await lockRelayer(tx, address))) {
    if (performance.now() >= deadline) throw new UnavailableError('the relayer is busy')
    await pause(turnMs)
  }
}

/**
 * Pending transactions by signature, in the ledger: another process that settles the same payment
 * waits for this transaction and sends none.
 */
function pendingTransactions(db: Db) {
  return {
    get: (signature: string) => findPendingTransaction(db, sha256(signature)),
    set: (signature: string, txHash: string) =>
      keepPendingTransaction(db, sha256(signature), txHash),
    /** The transaction of a payment stays a fact; it is read only while the payment is open. */
    delete: () => Promise.resolve(),
  }
}

/**
 * The official facilitator code in this process, with a relayer's key of the operator. Imported only when the first payment comes: it
 * brings 50 MB of code that a server without payments never needs.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, custom, defineChain, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { UnavailableError } from '../../platform/http/errors.ts'
import { type NetworkName, networks } from '../protocol/terms.ts'
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

const receiptMsMax = 10_000
const pollMs = 500
/** How long others are waited for: within the time that a settlement may take. */
const turnMsMax = 10_000
const turnMs = 20

export function localFacilitator({
  db,
  rpc,
  network,
  relayerKey,
}: LocalFacilitator): OfficialFacilitator {
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
      // The official type says less of a signature's parts than viem's; they are the same.
      verifyTypedData: (args) =>
        client.verifyTypedData(args as Parameters<typeof client.verifyTypedData>[0]),
      writeContract: (args) => inTurn(() => client.writeContract(args)),
      sendTransaction: (args) => inTurn(() => client.sendTransaction(args)),
      waitForTransactionReceipt: (args) => client.waitForTransactionReceipt(args),
      getCode: (args) => client.getCode(args),
    },
    { confirmationTimeoutMs: receiptMsMax },
  )
  const facilitator = new x402Facilitator()
  facilitator.register(
    caip2,
    // A transfer that the node refuses now is not sent: its payer need not wait for `validBefore`.
    new ExactEvmScheme(signer, {
      pendingSettlementStore: pendingTransactions(db),
      simulateInSettle: true,
    }),
  )
  return facilitator
}

/**
 * One transaction of the relayer is numbered and sent at a time: in this process by a chain of promises, among processes under a lock of
 * the database. Two that took the same number would replace one another. Who has the turn asks the node several things, which may take
 * longer than a statement may wait: so the others ask for the lock again and again.
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
  const deadline = performance.now() + turnMsMax
  while (!(await lockRelayer(tx, address))) {
    if (performance.now() >= deadline) throw new UnavailableError('the relayer is busy')
    await pause(turnMs)
  }
}

/** By signature, in the ledger: another process that settles the same payment again waits for this transaction and sends none. */
function pendingTransactions(db: Db) {
  return {
    get: (signature: string) => findPendingTransaction(db, sha256(signature)),
    set: (signature: string, txHash: string) =>
      keepPendingTransaction(db, sha256(signature), txHash),
    /** The transaction of a payment remains a fact; it is looked for only while the payment is open. */
    delete: () => Promise.resolve(),
  }
}

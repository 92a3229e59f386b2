/**
 * Reads the fate of an authorization from a chain node of the operator. A used nonce proves
 * nothing, because a payer can cancel it. The proof is the log of its use with the transfer to us
 * in the same transaction.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from '@x402/core/schemas'
import { deadlineMs, withDeadline } from '../../../platform/deadlines.ts'
import type { Egress } from '../../../platform/egress/client.ts'
import { failureText } from '../../../platform/egress/failures.ts'
import type { Authorization } from '../protocol/payload.ts'
import type { Price } from '../protocol/terms.ts'

export type Fate =
  | { fate: 'paid'; transaction: string }
  /** Used or cancelled without paying us. */
  | { fate: 'void' }
  /** Unused, and too late now. */
  | { fate: 'expired' }
  /** Unused so far. */
  | { fate: 'open' }
  /** The node did not answer. */
  | { fate: 'unclear' }

export interface Chain {
  fateOf(authorization: Authorization, price: Price, since: Date): Promise<Fate>
  /**
   * Returns whether this transaction used the authorization and paid us. Waits a few seconds for a
   * node that does not have the transaction yet. False if the node does not answer.
   */
  shows(transaction: string, authorization: Authorization, price: Price): Promise<boolean>
  /**
   * Returns whether this transaction was reverted, so that it moved nothing. Waits like `shows`.
   * False if the node does not answer.
   */
  isReverted(transaction: string): Promise<boolean>
}

/** One JSON-RPC call. Rejects if the node does not answer or answers with an error. */
export type Rpc = (method: string, params: readonly unknown[]) => Promise<unknown>

export function chainOf(rpc: Rpc): Chain {
  return {
    fateOf: (authorization, price, since) =>
      fateOf(rpc, { authorization, price, since }).catch((): Fate => ({ fate: 'unclear' })),
    shows: (transaction, authorization, price) =>
      // The payer may have paid us by another authorization in that transaction: ours must be used
      // in it.
      ofReceipt(
        rpc,
        transaction,
        (receipt) =>
          isUsedIn(receipt, { authorization, price }) &&
          isTransferred(receipt, { authorization, price }),
      ),
    isReverted: (transaction) => ofReceipt(rpc, transaction, ({ status }) => status === '0x0'),
  }
}

interface Question {
  authorization: Authorization
  price: Price
  since: Date
}

/** The block that ends the time of an authorization may still be replaced. */
export const finalitySeconds = 60

async function fateOf(rpc: Rpc, question: Question): Promise<Fate> {
  const { authorization, price } = question
  const latest = block.parse(await rpc('eth_getBlockByNumber', ['latest', false]))
  const call = { to: price.asset, data: authorizationStateCall(authorization) }
  const used = word.parse(await rpc('eth_call', [call, latest.number]))
  if (BigInt(used) !== 0n) return fateOfUsed(rpc, question, latest)
  const isOver =
    BigInt(latest.timestamp) > BigInt(authorization.validBefore) + BigInt(finalitySeconds)
  return { fate: isOver ? 'expired' : 'open' }
}

/** Nodes return logs of a few thousand blocks at a time. */
const blocksPerQuestion = 2_000
const questionsMax = 50
/**
 * The networks make a block every two seconds. Twice as many blocks are searched, because clocks
 * differ.
 */
const blocksPerSecond = 1

async function fateOfUsed(
  rpc: Rpc,
  { authorization, price, since }: Question,
  latest: z.infer<typeof block>,
): Promise<Fate> {
  const newest = Number(latest.number)
  const ageSeconds = Math.max(0, Number(latest.timestamp) - since.getTime() / 1_000)
  const oldest = newest - blocksPerQuestion - Math.ceil(ageSeconds * blocksPerSecond)
  let asked = 0
  for (let to = newest; to >= Math.max(0, oldest) && asked < questionsMax; asked++) {
    const from = Math.max(0, to - blocksPerQuestion + 1)
    const [found] = logs.parse(
      await rpc('eth_getLogs', [
        {
          address: price.asset,
          fromBlock: `0x${from.toString(16)}`,
          toBlock: `0x${to.toString(16)}`,
          topics: [[usedTopic, canceledTopic], topicOf(authorization.from), authorization.nonce],
        },
      ]),
    )
    if (found !== undefined)
      return found.topics[0] === usedTopic
        ? paidIn(rpc, found.transactionHash, { authorization, price })
        : { fate: 'void' }
    to = from - 1
  }
  return { fate: 'unclear' }
}

async function paidIn(
  rpc: Rpc,
  transaction: string,
  { authorization, price }: Omit<Question, 'since'>,
): Promise<Fate> {
  const receipt = receiptOf.parse(await rpc('eth_getTransactionReceipt', [transaction]))
  return isTransferred(receipt, { authorization, price })
    ? { fate: 'paid', transaction }
    : { fate: 'void' }
}

const behindPollMs = 200

/** Returns false if the node has no receipt of the transaction in time, or does not answer. */
function ofReceipt(
  rpc: Rpc,
  transaction: string,
  holds: (receipt: Receipt) => boolean,
): Promise<boolean> {
  const asked = receiptInTime(rpc, transaction).then(
    (receipt) => receipt !== null && holds(receipt),
    () => false,
  )
  return withDeadline(asked, 'chainShows', () => false)
}

async function receiptInTime(rpc: Rpc, transaction: string): Promise<Receipt | null> {
  const deadline = performance.now() + deadlineMs('chainBehind')
  for (;;) {
    const answer = await rpc('eth_getTransactionReceipt', [transaction])
    const receipt = receiptOf.nullable().parse(answer)
    if (receipt !== null || performance.now() >= deadline) return receipt
    await pause(behindPollMs)
  }
}

function isUsedIn({ logs }: Receipt, { authorization, price }: Omit<Question, 'since'>): boolean {
  return logs.some(
    ({ address, topics }) =>
      address === price.asset.toLowerCase() &&
      topics[0] === usedTopic &&
      topics[1] === topicOf(authorization.from) &&
      topics[2] === authorization.nonce.toLowerCase(),
  )
}

function isTransferred(
  { logs }: Receipt,
  { authorization, price }: Omit<Question, 'since'>,
): boolean {
  return logs.some(
    ({ address, topics, data }) =>
      address === price.asset.toLowerCase() &&
      topics[0] === transferTopic &&
      topics[1] === topicOf(authorization.from) &&
      topics[2] === topicOf(price.payTo) &&
      BigInt(data) === BigInt(authorization.value),
  )
}

/**
 * Keccak-256 of the signatures `AuthorizationUsed(address,bytes32)` (EIP-3009), the matching
 * cancellation, and `Transfer` (ERC-20).
 */
const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const canceledTopic = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** Call data of `authorizationState(address,bytes32)`. */
function authorizationStateCall({ from, nonce }: Authorization): string {
  return `0xe94a0102${topicOf(from).slice(2)}${nonce.slice(2)}`
}

function topicOf(address: string): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
}

const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,16}$/)
const word = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .toLowerCase()
const block = z.object({ number: quantity, timestamp: quantity })
const log = z.object({
  address: z.string().toLowerCase(),
  topics: z.array(word),
  data: z.string().regex(/^0x[0-9a-fA-F]*$/),
  transactionHash: word,
})
const logs = z.array(log)
const receiptOf = z.object({
  status: z.string().nullish(),
  logs: z.array(log.extend({ data: z.string() })),
})
type Receipt = z.infer<typeof receiptOf>

/**
 * The node's error for a call; `data` is the result of a contract. Shaped as the official code
 * expects from a provider.
 */
class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor(message: string, { code, data }: { code: number; data: unknown }) {
    super(message)
    this.code = code
    this.data = data
  }
}

const answerBytesMax = 1_048_576

/** JSON-RPC to a chain node. The URL often contains a key, so no error message shows it. */
export function openRpc(egress: Egress, url: string): Rpc {
  let id = 0
  return async (method, params) => {
    const answer = await egress.send({
      method: 'POST',
      url,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }),
      answerBytesMax,
      totalMs: deadlineMs('chainCall'),
    })
    if ('failure' in answer)
      throw new Error(`the node gave no answer: ${failureText(answer.failure, answer.error)}`)
    const parsed = rpcAnswer.safeParse(jsonOf(answer.body))
    if (!parsed.success) throw new Error(`the node answered with status ${answer.status}`)
    const { error, result } = parsed.data
    if (error !== undefined)
      throw new RpcError(error.message, { code: error.code, data: error.data })
    return result
  }
}

const rpcAnswer = z.object({
  result: z.unknown(),
  error: z
    .object({ code: z.number(), message: z.string(), data: z.unknown() })
    .nullish()
    .transform((error) => error ?? undefined),
})

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
}

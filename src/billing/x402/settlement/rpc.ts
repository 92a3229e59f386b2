/** JSON-RPC to a chain node. The URL often contains a key, so no error message shows it. */
import { z } from '@x402/core/schemas'
import { deadlineMs } from '../../../platform/deadlines.ts'
import type { Egress } from '../../../platform/egress/client.ts'
import { failureText } from '../../../platform/egress/failures.ts'
import type { Rpc } from './chain.ts'

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

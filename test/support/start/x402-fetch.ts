/** Runs the official x402 client, version 1, in its own process (`test/clients/x402-fetch`). */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** One request of the client. */
export interface ClientStep {
  url: string
  /** The header X-PAYMENT of the request. */
  payment: string | null
  status: number
  headers: Record<string, string>
  body: string
}

export interface ClientOrder {
  url: string
  /** 0x and 64 hex characters. */
  privateKey: string
  purchaseId: string
}

export interface ClientPurchase {
  steps: ClientStep[]
  /** The receipt as the client decodes it. */
  receipt: Record<string, unknown>
}

const program = join(import.meta.dirname, '../../clients/x402-fetch/pay.mjs')

/** Pays with the client. Throws with its output if the purchase fails. */
export async function payWithX402Fetch(order: ClientOrder): Promise<ClientPurchase> {
  const client = spawn(process.execPath, [program])
  client.stdin.end(JSON.stringify(order))
  const [out, err] = await Promise.all([text(client.stdout), text(client.stderr)])
  const said = out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  const { receipt } = said.pop() ?? {}
  if (receipt === undefined) throw new Error(`x402-fetch did not pay:\n${out}${err}`)
  return { steps: said, receipt }
}

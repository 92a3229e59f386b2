/** The paid servers of `x402.ts` in their own processes, and payments for each. */
import type { ChildProcess } from 'node:child_process'
import {
  base64Json,
  payloadV2,
  signAuthorization,
  testTerms,
  testWallet,
} from '../test/support/build/payments.ts'
import { forkBench } from './children.ts'
import { fetchAnswer, onceMessage, startService, type Target } from './serving.ts'
import type { BareOrder } from './x402-bare.ts'

export const scoreId = 'ada0'.repeat(16)
export const path = `/api/v1/scores/${scoreId}`
const payTo = '0x00000000000000000000000000000000000000aa'
const terms = { ...testTerms, payTo }
export const wallet = testWallet()
export interface Contestant extends Target {
  name: string
  /** Returns the header of an unused payment. */
  payment(): Promise<string>
  stop(): unknown
}

const ownPayment = async (): Promise<string> =>
  base64Json(payloadV2(await signAuthorization(wallet, terms), terms))

export interface OwnOrder {
  name: string
  databaseUrl: string
  dataDir: string
  facilitator: string
  rpcUrl: string
}

export async function startOurs({ name, ...order }: OwnOrder): Promise<Contestant> {
  const service = await startService({
    DATABASE_URL: order.databaseUrl,
    ASSAY_DATA_DIR: order.dataDir,
    LOG_LEVEL: 'warn',
    KEY_CALLS_PER_MINUTE: '60000',
    KEY_CALLS_PER_DAY: '10000000',
    X402_FACILITATOR: 'remote',
    X402_FACILITATOR_URL: order.facilitator,
    X402_RPC_URL: order.rpcUrl,
    X402_PAY_TO: payTo,
    X402_SECRETS: 'a secret of at least thirty-two characters',
  })
  return { ...service, name, payment: ownPayment }
}

export async function startChild(
  file: string,
  order: object,
): Promise<Target & { child: ChildProcess }> {
  const child = forkBench(file, order)
  const [{ port }] = (await onceMessage(child)) as [{ port: number }]
  return { port, pids: [child.pid as number], child }
}

/** A payment repeats the server's terms, so they are fetched once. */
export async function startExpress(facilitator: string, body: string): Promise<Contestant> {
  const { asset: address, assetName, assetVersion, amount } = terms
  const asset = { address, name: assetName, version: assetVersion }
  const order = { facilitator, payTo, amount, asset, path, body }
  const { child, ...target } = await startChild('peers/x402-express/peer.mjs', order)
  const { head } = await fetchAnswer(target.port, { method: 'GET', path })
  const challenge = Buffer.from(String(head.headers['payment-required']), 'base64').toString()
  const [accepted] = JSON.parse(challenge).accepts
  const payment = async (): Promise<string> => {
    const payload = await signAuthorization(wallet, terms)
    return base64Json({ x402Version: 2, accepted, payload })
  }
  return { ...target, name: 'Express', payment, stop: () => child.disconnect() }
}

export async function startBare(order: BareOrder): Promise<Contestant> {
  const { child, ...target } = await startChild('x402-bare.ts', order)
  return { ...target, name: 'bare', payment: ownPayment, stop: () => child.disconnect() }
}

export async function buy({ name, port }: Contestant, header: string): Promise<number> {
  const headers = { 'PAYMENT-SIGNATURE': header }
  const began = performance.now()
  const { head, body } = await fetchAnswer(port, { method: 'GET', path, headers })
  const ms = performance.now() - began
  if (head.statusCode !== 200) throw new Error(`${name}: ${head.statusCode} ${body.toString()}`)
  return ms
}

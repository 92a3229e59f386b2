/**
 * Opens the payments of one process from its settings. Opening makes no request; the heavy code is
 * loaded with the first payment.
 */
import { readFile } from 'node:fs/promises'
import { z } from '@x402/core/schemas'
import type { MeterName } from '../../../edge/http/callers.ts'
import type { NetworkName } from '../../../edge/http/payment-challenge.ts'
import type { PaymentPort } from '../../../edge/http/payments.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Db } from '../../../platform/db/db.ts'
import { deadlineMs, withDeadline } from '../../../platform/deadlines.ts'
import { type Egress, openEgress } from '../../../platform/egress/client.ts'
import { operatorRules } from '../../../platform/egress/rules.ts'
import type { Metrics } from '../../../platform/observability/metrics.ts'
import { RecentMap } from '../../../platform/recent-map.ts'
import type { HeaderVersion } from '../protocol/challenge.ts'
import { addressOf, networks } from '../protocol/terms.ts'
import { paymentPort } from './answer.ts'
import { chainOf, openRpc, type Rpc } from './chain.ts'
import {
  type Facilitator,
  facilitatorOf,
  noFacilitator,
  type OfficialFacilitator,
  type RemoteFacilitator,
  remoteFacilitator,
  shownByChain,
} from './facilitator.ts'
import type { PaymentContext } from './order.ts'
import { paymentMeter, timed } from './payment-metrics.ts'
import { priceHistory } from './price-store.ts'
import { reconcilePayments } from './resolve.ts'
import { countOpenPayments, sweepPayments } from './store.ts'

export interface X402Settings {
  network: NetworkName
  payTo: string
  /** Atomic units. */
  amounts: Readonly<Record<MeterName, string>>
  maxTimeoutSeconds: number
  headerVersion: HeaderVersion
  secrets: readonly [string, ...string[]]
  facilitator: /** Challenges are made, and payments are not taken. */
    | { kind: 'none'; rpcUrl: string | null }
    | { kind: 'remote'; url: string; authorization: string | null; rpcUrl: string | null }
    | { kind: 'local'; rpcUrl: string; relayerKeyFile: string }
}

export interface X402Options {
  settings: X402Settings
  publicUrl: string
  db: Db
  clock: Clock
  metrics: Metrics
  onTrouble: PaymentContext['onTrouble']
}

export interface X402 {
  port: PaymentPort
  /** Resolves payments that were left open. */
  reconcile(): Promise<void>
  /** Deletes old payments that came to nothing. */
  sweep(): Promise<unknown>
  /** Asks facilitator and node whether payments can be taken. */
  examine(): Promise<void>
  /** Returns the result of the last examination. */
  fitness(): Fitness
  /** Counts open payments and reads the relayer's balance, for metrics of the scraped process. */
  survey(): Promise<void>
  close(): Promise<void>
}

/** Payments that were presented recently, to recognise one that comes again. */
const shownMax = 4_096

/** Throws with a message for the operator if the relayer's key cannot be read. */
export async function openX402(options: X402Options): Promise<X402> {
  const { settings, publicUrl, clock, onTrouble } = options
  const db = withDeadlines(options.db)
  const { facilitator, network } = settings
  const egress = openEgress({ rules: operatorRules })
  const rpc = facilitator.rpcUrl === null ? null : openRpc(egress, facilitator.rpcUrl)
  const chain = rpc === null ? null : chainOf(rpc)
  const relayerKey =
    facilitator.kind === 'local' ? await readRelayerKey(facilitator.relayerKeyFile) : null
  const relayer = relayerKey && addressOf(relayerKey)
  const meter = paymentMeter(options.metrics)
  const { chainId, asset } = networks[network]
  const counter = { chainId, asset: asset.toLowerCase(), payTo: settings.payTo.toLowerCase() }
  const { amounts: prices, maxTimeoutSeconds } = settings
  const underWay = new Set<Promise<unknown>>()
  const meanwhile: PaymentContext['meanwhile'] = (work) => {
    const ended = work.catch(() => {}).finally(() => underWay.delete(ended))
    underWay.add(ended)
  }
  const chosen = (): Facilitator => {
    if (facilitator.kind === 'none') return noFacilitator
    if (facilitator.kind === 'local')
      return facilitatorOf('local', localOf(options, relayerKey, rpc))
    const remote = facilitatorOf('remote', remoteFacilitator(egress, facilitator))
    return chain === null ? remote : shownByChain(remote, chain)
  }
  const payments: PaymentContext = {
    ...settings,
    shown: new RecentMap(shownMax),
    priceHistory: priceHistory({ ...counter, db, clock, prices, maxTimeoutSeconds }),
    facilitator: timed(chosen(), meter),
    meter,
    chain,
    publicUrl,
    db,
    dbWithoutDeadline: options.db,
    clock,
    meanwhile,
    onTrouble,
  }
  const gas = async (): Promise<bigint | null> =>
    rpc === null || relayer === null ? null : balanceWei(rpc, relayer)
  const ask = async (): Promise<Fitness> => {
    if (facilitator.kind === 'none') return 'no facilitator is set'
    const node = rpc === null ? 'ok' : await nodeFitness(rpc, network)
    if (node !== 'ok') return node
    if (facilitator.kind === 'remote') return remoteFitness(egress, facilitator, network)
    return (await gas()) === 0n ? 'the relayer has no ether for gas' : 'ok'
  }
  let fitness: Fitness = facilitator.kind === 'none' ? 'no facilitator is set' : 'not asked yet'
  return {
    port: paymentPort(payments),
    fitness: () => fitness,
    async examine() {
      const found = await ask()
      if (found !== fitness && found !== 'ok') onTrouble('payments cannot be taken', { why: found })
      fitness = found
    },
    survey: async () => meter.surveyed(await countOpenPayments(options.db, chainId), await gas()),
    reconcile: () => reconcilePayments({ ...payments, db: options.db }),
    sweep: () => sweepPayments(options.db, new Date(clock().getTime() - keptMs)),
    async close() {
      while (underWay.size > 0) await Promise.all(underWay)
      await egress.close()
    },
  }
}

const keptMs = 30 * 24 * 3_600_000

/** For statements that a payer waits for. A statement that exceeds its deadline may take effect. */
function withDeadlines(db: Db): Db {
  return {
    ...db,
    rows: (statement) => withDeadline(db.rows(statement), 'databaseAnswer'),
    run: (statement) => withDeadline(db.run(statement), 'databaseAnswer'),
    transaction: (work) => withDeadline(db.transaction(work), 'databaseAnswer'),
  }
}

function localOf(
  { settings, db }: X402Options,
  relayerKey: string | null,
  rpc: ReturnType<typeof openRpc> | null,
): OfficialFacilitator {
  if (rpc === null || relayerKey === null)
    throw new Error('a local facilitator needs a node of the chain and a relayer')
  const { network } = settings
  return whenAsked(async () => {
    const { localFacilitator } = await import('./local.ts')
    return localFacilitator({ db, rpc, network, relayerKey })
  })
}

async function readRelayerKey(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const key = /^(?:0x)?([0-9a-fA-F]{64})\s*$/.exec(text)?.[1]
  if (key === undefined)
    throw new Error('X402_RELAYER_KEY_FILE must name a file with a private key: 64 hex characters.')
  return `0x${key}`
}

function whenAsked(load: () => Promise<OfficialFacilitator>): OfficialFacilitator {
  let loading: Promise<OfficialFacilitator> | undefined
  const loaded = (): Promise<OfficialFacilitator> => (loading ??= load())
  return {
    verify: async (...asked) => (await loaded()).verify(...asked),
    settle: async (...asked) => (await loaded()).settle(...asked),
  }
}

/**
 * Whether payments can be taken now, by the self-reports of facilitator and node. For the operator
 * only: the result is seconds old, so a payment is always tried.
 */
type Fitness =
  | 'ok'
  | 'not asked yet'
  | 'no facilitator is set'
  | 'the facilitator does not answer'
  | 'the facilitator does not take such payments'
  | 'the node does not answer'
  | 'the node is of another chain'
  | 'the relayer has no ether for gas'

/** Official facilitators list the kinds they accept at /supported; this service uses version 2. */
async function remoteFitness(
  egress: Egress,
  { url, authorization }: RemoteFacilitator,
  network: NetworkName,
): Promise<Fitness> {
  const answer = await egress.send({
    method: 'GET',
    url: `${url}/supported`,
    headers: authorization === null ? {} : { Authorization: authorization },
    totalMs: deadlineMs('facilitatorKinds'),
  })
  if ('failure' in answer || answer.status !== 200 || answer.isCut)
    return 'the facilitator does not answer'
  const { caip2 } = networks[network]
  const isTaken = kindsOf(answer.body).some(
    ({ x402Version, scheme, network: named }) =>
      x402Version === 2 && scheme === 'exact' && (named === caip2 || named === 'eip155:*'),
  )
  return isTaken ? 'ok' : 'the facilitator does not take such payments'
}

const kind = z.object({ x402Version: z.number(), scheme: z.string(), network: z.string() })
const supported = z.object({ kinds: z.array(z.unknown()) })

function kindsOf(body: Buffer): z.infer<typeof kind>[] {
  try {
    const { kinds } = supported.parse(JSON.parse(body.toString('utf8')))
    return kinds.flatMap((one) => kind.safeParse(one).data ?? [])
  } catch {
    return []
  }
}

async function nodeFitness(rpc: Rpc, network: NetworkName): Promise<Fitness> {
  try {
    const chainId = BigInt(quantity.parse(await rpc('eth_chainId', [])))
    return chainId === BigInt(networks[network].chainId) ? 'ok' : 'the node is of another chain'
  } catch {
    return 'the node does not answer'
  }
}

/** Returns null if the node does not answer. */
async function balanceWei(rpc: Rpc, address: string): Promise<bigint | null> {
  try {
    return BigInt(quantity.parse(await rpc('eth_getBalance', [address, 'latest'])))
  } catch {
    return null
  }
}

const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,64}$/)

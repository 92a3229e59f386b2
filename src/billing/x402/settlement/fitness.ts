/**
 * Checks whether payments can be taken now, by the self-reports of facilitator and node. For the
 * operator only: the result is seconds old, so a payment is always tried.
 */
import { z } from '@x402/core/schemas'
import type { NetworkName } from '../../../edge/http/payment-challenge.ts'
import { deadlineMs } from '../../../platform/deadlines.ts'
import type { Egress } from '../../../platform/egress/client.ts'
import { networks } from '../protocol/terms.ts'
import type { Rpc } from './chain.ts'
import type { RemoteFacilitator } from './remote.ts'

export type Fitness =
  | 'ok'
  | 'not asked yet'
  | 'no facilitator is set'
  | 'the facilitator does not answer'
  | 'the facilitator does not take such payments'
  | 'the node does not answer'
  | 'the node is of another chain'
  | 'the relayer has no ether for gas'

/** Official facilitators list the kinds they accept at /supported; this service uses version 2. */
export async function remoteFitness(
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

export async function nodeFitness(rpc: Rpc, network: NetworkName): Promise<Fitness> {
  try {
    const chainId = BigInt(quantity.parse(await rpc('eth_chainId', [])))
    return chainId === BigInt(networks[network].chainId) ? 'ok' : 'the node is of another chain'
  } catch {
    return 'the node does not answer'
  }
}

/** Returns null if the node does not answer. */
export async function balanceWei(rpc: Rpc, address: string): Promise<bigint | null> {
  try {
    return BigInt(quantity.parse(await rpc('eth_getBalance', [address, 'latest'])))
  } catch {
    return null
  }
}

const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,64}$/)

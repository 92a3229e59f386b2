/** Pure: what one paid read costs, to whom and in which coin (spec §2.8). Everything the challenge says and a payment must match. */
import { sha256 } from '../../platform/crypto/bytes.ts'
import type { MeterName } from '../../platform/http/callers.ts'

interface Network {
  chainId: number
  /** CAIP-2, the name in version 2 of the protocol. */
  caip2: string
  /** The USDC contract: official clients pay in no other coin unless told to. */
  asset: string
  /** Name and version in the contract's EIP-712 domain. They differ by network; a wrong one makes every signature invalid. */
  assetName: string
  assetVersion: string
}

export const networks = {
  base: {
    chainId: 8453,
    caip2: 'eip155:8453',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    assetName: 'USD Coin',
    assetVersion: '2',
  },
  'base-sepolia': {
    chainId: 84532,
    caip2: 'eip155:84532',
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    assetName: 'USDC',
    assetVersion: '2',
  },
} as const satisfies Record<string, Network>

export type NetworkName = keyof typeof networks

/** What a payment is held against, by us and by a facilitator. */
export interface Price extends Network {
  network: NetworkName
  /** 0x and 40 hex characters. */
  payTo: string
  /** Atomic units of the asset, in decimal digits: 10000 is 0.01 USDC. */
  amount: string
  maxTimeoutSeconds: number
}

export interface Terms extends Price {
  /** What is bought; of the same name as the credit meter. */
  endpoint: MeterName
  /** Absolute URL, of PUBLIC_URL alone (decision D3), its parameters in one order. */
  resource: string
  description: string
}

/** One URL for everything that asks for the same: path values percent-encoded, query in the order of the names. */
export function resourceUrl(
  publicUrl: string,
  path: string,
  parameters: { path: Readonly<Record<string, string>>; query: Readonly<Record<string, string>> },
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(parameters.path[name] ?? ''),
  )
  const query = Object.entries(parameters.query)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `${publicUrl}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`
}

/** How the ledger names a resource: what somebody searched for is nobody's business. */
export function resourceKey(resource: string): Buffer {
  return sha256(resource)
}

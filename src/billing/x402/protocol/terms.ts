/**
 * Pure: the terms of one paid read: amount, payee and coin. The challenge states them and a payment
 * must match them.
 */
import type { MeterName } from '../../../edge/http/callers.ts'
import type { NetworkName } from '../../../edge/http/payment-challenge.ts'
import { sha256 } from '../../../platform/crypto/bytes.ts'

interface Network {
  chainId: number
  /** Name of the network in version 2 of the protocol (CAIP-2). */
  caip2: string
  /** The USDC contract. Official clients pay in no other coin by default. */
  asset: string
  /**
   * Name and version in the contract's EIP-712 domain. They differ by network, and a wrong one
   * makes every signature invalid.
   */
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
} as const satisfies Record<NetworkName, Network>

/** The terms with which this service and a facilitator compare a payment. */
export interface Price extends Network {
  network: NetworkName
  /** 0x and 40 hex characters. */
  payTo: string
  /** Atomic units of the asset, in decimal digits: 10000 is 0.01 USDC. */
  amount: string
  maxTimeoutSeconds: number
}

export interface Terms extends Price {
  /** The purchased read, with the name of its credit meter. */
  endpoint: MeterName
  /** Absolute URL, made from PUBLIC_URL alone (decision D3), with its parameters in one order. */
  resource: string
  description: string
}

/**
 * Returns one URL for all requests of the same thing: path values percent-encoded, query sorted by
 * name.
 */
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

/** Returns the digest by which the ledger names a resource, so that it stores no search text. */
export function resourceKey(resource: string): Buffer {
  return sha256(resource)
}

/**
 * Pure: the terms of one paid read: amount, payee and coin. The challenge states them and a payment
 * must match them. Also the addresses of the chain: their checksum, and that of a private key.
 */
import { createECDH } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
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

/** Returns the address with capitals as EIP-55 sets them, by the hash of its lower-case form. */
export function checksummed(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString('hex')
  const written = Array.from(digits, (digit, i) =>
    Number.parseInt(hash[i] ?? '0', 16) >= 8 ? digit.toUpperCase() : digit,
  )
  return `0x${written.join('')}`
}

/**
 * Returns false if small and capital letters are mixed in another way than the checksum requires:
 * then a character is wrong. An address in one case says nothing.
 */
export function mayBeRight(address: string): boolean {
  const digits = address.slice(2)
  const isMixed = /[a-f]/.test(digits) && /[A-F]/.test(digits)
  return !isMixed || address === checksummed(address)
}

/**
 * Returns the address in lower case. `privateKey` is 0x and 64 hex characters. Throws if it is no
 * key of the curve.
 */
export function addressOf(privateKey: string): string {
  const curve = createECDH('secp256k1')
  curve.setPrivateKey(privateKey.slice(2), 'hex')
  return addressOfKey(curve.getPublicKey())
}

/** Returns the address in lower case. `publicKey` has 65 bytes, uncompressed. */
export function addressOfKey(publicKey: Uint8Array): string {
  return `0x${Buffer.from(keccak_256(publicKey.subarray(1))).toString('hex', 12)}`
}

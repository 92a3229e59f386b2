/**
 * Pure: decides which client network a request is counted against (decision D11). Only configured
 * proxies are trusted. The right-most address that they forward and that is not a trusted proxy
 * counts: the caller can write everything to its left.
 */
import type ipaddr from 'ipaddr.js'
import {
  type Address,
  isWithin,
  type Network,
  parseAddress,
  parseNetwork,
} from '../platform/networks.ts'
import type { ClientNetwork } from './rate-limit/limiter.ts'

export type TrustedProxies = readonly Network[]

/**
 * Parses ranges such as `10.0.0.0/8` and `2001:db8::/32`, and single addresses. Throws on anything
 * else and on a range that would trust every address.
 */
export function trustedProxies(ranges: readonly string[]): TrustedProxies {
  return ranges.map((range) => {
    const network = parseNetwork(range)
    if (network === null)
      throw new Error(`trusted proxy ${JSON.stringify(range)} is not an address or a CIDR range`)
    if (network[1] === 0)
      throw new Error(`trusted proxy ${range} would let every caller choose its own address`)
    return network
  })
}

/**
 * Returns the client network. `peer` is the address of the connection; `forwardedFor` is the
 * X-Forwarded-For header as the HTTP parser joined it.
 */
export function clientNetwork(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trusted: TrustedProxies,
): ClientNetwork {
  let client = parseAddress(peer ?? '')
  if (client === null) return { buckets: [{ key: 'unknown', factor: 1 }] }
  if (forwardedFor !== undefined && isWithin(client, trusted)) {
    for (const hop of forwardedFor.split(',').toReversed()) {
      const address = parseAddress(withoutPort(hop.trim()))
      if (address === null) break
      client = address
      if (!isWithin(client, trusted)) break
    }
  }
  return { address: client.toString(), buckets: bucketsOf(client) }
}

/** Removes the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const match = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(hop)
  return match?.[1] ?? match?.[2] ?? hop
}

function bucketsOf(address: Address): ClientNetwork['buckets'] {
  if (address.kind() === 'ipv4') return [{ key: address.toString(), factor: 1 }]
  const parts = (address as ipaddr.IPv6).parts.map((part) => part.toString(16))
  return [
    { key: `${parts.slice(0, 4).join(':')}::/64`, factor: 1 },
    { key: `${parts.slice(0, 3).join(':')}::/48`, factor: 10 },
  ]
}

/** Returns whether a proxy has handled the request, as far as its headers say. */
export function isForwarded(headers: Readonly<Record<string, unknown>>): boolean {
  return ['forwarded', 'x-forwarded-for', 'via'].some((name) => headers[name] !== undefined)
}

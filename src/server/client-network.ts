/**
 * Pure: who is calling, as far as a limit is concerned (decision D11). Only configured proxies are believed, and of what they forward
 * only the right-most address that is not itself one of them: everything to its left is the caller's own text.
 */
import type ipaddr from 'ipaddr.js'
import {
  type Address,
  isWithin,
  type Network,
  parseAddress,
  parseNetwork,
} from '../platform/http/networks.ts'
import type { ClientNetwork } from '../platform/rate-limit/limiter.ts'

export type TrustedProxies = readonly Network[]

/** Reads `10.0.0.0/8`, `2001:db8::/32` or a single address. Throws on anything else, and on a list that would trust everybody. */
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

/** `peer` is the other end of the connection, `forwardedFor` the X-Forwarded-For header as joined by the HTTP parser. */
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

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
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

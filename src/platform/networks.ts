/** Pure: addresses and their networks. */
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** An address and the number of its first bits that count. */
export type Network = readonly [Address, number]

/**
 * Parses strict decimal IPv4 and IPv6. An IPv4 address inside IPv6 (`::ffff:192.0.2.1`) gives that
 * IPv4 address.
 */
export function parseAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!ipaddr.IPv6.isValid(text)) return null
  const address = ipaddr.IPv6.parse(text)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address. Returns null for anything else. */
export function parseNetwork(text: string): Network | null {
  // A malformed length must not be read as 0, which is every address.
  const [, base = '', length] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? []
  const address = parseAddress(base)
  if (address === null) return null
  const bits = address.kind() === 'ipv4' ? 32 : 128
  const prefix = length === undefined ? bits : Number(length)
  return prefix <= bits ? [address, prefix] : null
}

export function isWithin(address: Address, networks: readonly Network[]): boolean {
  return networks.some(
    ([base, prefix]) => base.kind() === address.kind() && address.match(base, prefix),
  )
}

/** Returns the /24 of an IPv4 address, or the /48 of an IPv6 address. */
export function coarseNetwork(address: string | undefined): string {
  const parsed = parseAddress(address ?? '')
  if (parsed === null) return 'unknown network'
  const bytes = parsed.toByteArray()
  if (parsed.kind() === 'ipv4') return `${bytes.slice(0, 3).join('.')}.0/24`
  const word = (i: number) => (((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)).toString(16)
  return `${word(0)}:${word(2)}:${word(4)}::/48`
}

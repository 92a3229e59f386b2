/** Pure: the networks from which a key may be used. */
import { isWithin, parseAddress, parseNetwork } from '../../platform/networks.ts'

/**
 * Returns the stored form of a network, its first address and its length: `192.0.2.0/24`. Returns
 * null if the text is no network.
 */
export function networkText(text: string): string | null {
  const network = parseNetwork(text)
  if (network === null) return null
  const [address, prefix] = network
  const bits = address.toByteArray()
  const masked = bits.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, prefix - 8 * i))))
  return `${shown(masked)}/${prefix}`
}

function shown(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.')
  const parts = Array.from({ length: 8 }, (_, i) =>
    (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),
  )
  return parts.join(':')
}

/**
 * Returns whether the key may be used from `address`. `allowed` holds networks, or is null for any
 * address. An undefined `address` is allowed only for null.
 */
export function isAllowedFrom(
  allowed: readonly string[] | null,
  address: string | undefined,
): boolean {
  if (allowed === null) return true
  const from = parseAddress(address ?? '')
  return (
    from !== null &&
    isWithin(
      from,
      allowed.map(parseNetwork).filter((network) => network !== null),
    )
  )
}

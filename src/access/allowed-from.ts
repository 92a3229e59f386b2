/** Pure: where a key may be used from. */
import { isWithin, type Network, parseAddress, parseNetwork } from '../platform/http/networks.ts'
import { RecentMap } from '../platform/recent-map.ts'

export const allowedNetworksMax = 20

/** As they are kept: the address of the network and its length, `192.0.2.0/24`; null for what is none. */
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

const parsed = new RecentMap<readonly Network[]>(1_000)

/** `allowed`: networks, separated by spaces; null: anywhere. `address`: undefined where it is not known. */
export function isAllowedFrom(allowed: string | null, address: string | undefined): boolean {
  if (allowed === null) return true
  const from = parseAddress(address ?? '')
  return from !== null && isWithin(from, networksOf(allowed))
}

function networksOf(text: string): readonly Network[] {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const networks = text.split(' ').flatMap((one) => {
    const network = parseNetwork(one)
    return network === null ? [] : [network]
  })
  parsed.set(text, networks)
  return networks
}

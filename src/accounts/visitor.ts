/** Pure: short names of browsers and networks, by which users recognise their sessions. */
import { parseAddress } from '../platform/http/networks.ts'

const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chromium/', 'Chromium'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const

const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

/** Returns a text such as `Firefox on Linux`. It contains no part of the header. */
export function browserName(userAgent: string | undefined): string {
  const named = (table: readonly (readonly [string, string])[]) =>
    table.find(([mark]) => userAgent?.includes(mark))?.[1]
  const browser = named(browsers) ?? 'Unknown browser'
  const system = named(systems)
  return system === undefined ? browser : `${browser} on ${system}`
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

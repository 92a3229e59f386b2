/** Pure: short names of browsers, by which users recognise their sessions. */

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

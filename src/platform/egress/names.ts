/**
 * Resolves names to addresses. Names from strangers are resolved by a resolver of our own: the
 * system's runs on four threads, so four names that hang would stop every look-up of the process.
 * Of the hosts file it reads only names in networks that the operator allows. Answers are cached
 * for their TTL (5 to 60 seconds), failures for five seconds.
 */
import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isWithin, type Network, parseAddress } from '../networks.ts'
import { RecentMap } from '../recent-map.ts'
import { EgressError, failureCause } from './failures.ts'
import { type EgressRules, mayDial } from './rules.ts'

/**
 * Returns all addresses of a name, at least one. Throws if the name has none or the deadline
 * passes.
 */
export type Resolve = (name: string) => Promise<readonly string[]>

interface Found {
  addresses: readonly string[]
  ttlSeconds: number
}

const keptSecondsMin = 5
const keptSecondsMax = 60
const namesMax = 10_000

/**
 * Opens a resolver. `deadlineMs` bounds one look-up with all its queries. `servers`
 * (`ADDRESS:PORT`) replaces the name servers of this machine.
 */
export function ownResolver({
  deadlineMs,
  servers,
}: {
  deadlineMs: number
  servers?: readonly string[]
}): Resolve {
  const resolver = new Resolver({ timeout: deadlineMs, tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  return remembering((name) => lookUp(resolver, name, deadlineMs))
}

/**
 * Returns `resolve`, preceded by the names of the hosts file whose addresses are in one of
 * `networks`. The file is read at each look-up, so that a change takes effect at once.
 */
export function withHostsFile(
  resolve: Resolve,
  { networks, file = '/etc/hosts' }: { networks: readonly Network[]; file?: string },
): Resolve {
  return async (name) => {
    const addresses = hostAddresses(await textOf(file), name).filter((text) => {
      const address = parseAddress(text)
      return address !== null && isWithin(address, networks)
    })
    return addresses.length > 0 ? addresses : resolve(name)
  }
}

/** Returns the addresses of a name in the text of a hosts file. */
function hostAddresses(text: string, name: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return names.includes(name.toLowerCase()) ? [address] : []
  })
}

/** A machine without the file has no such names. */
async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

/** Resolves like the machine does, hosts file included. For names from the settings. */
export const systemResolver: Resolve = async (name) => {
  const found = await lookup(name, { all: true, order: 'ipv4first' })
  return found.map(({ address }) => address)
}

/** Caches look-ups. Concurrent look-ups of one name share one query. */
function remembering(lookUp: (name: string) => Promise<Found>): Resolve {
  const kept = new RecentMap<{ found: Promise<Found>; until: number }>(namesMax)
  return async (name) => {
    const known = kept.get(name)
    if (known !== undefined && performance.now() < known.until) return (await known.found).addresses
    const entry = { found: lookUp(name), until: Number.POSITIVE_INFINITY }
    kept.set(name, entry)
    try {
      const { addresses, ttlSeconds } = await entry.found
      entry.until = after(Math.min(Math.max(ttlSeconds, keptSecondsMin), keptSecondsMax))
      return addresses
    } catch (error) {
      entry.until = after(keptSecondsMin)
      throw error
    }
  }
}

function after(seconds: number): number {
  return performance.now() + seconds * 1_000
}

/**
 * Returns IPv4 addresses first, because every network has IPv4. If only one family answers in time,
 * the other counts as empty.
 */
async function lookUp(resolver: Resolver, name: string, deadlineMs: number): Promise<Found> {
  const deadline = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const late = new Error(`no answer within ${deadlineMs} ms`)
    deadline.reject(Object.assign(late, { code: 'ETIMEOUT' }))
  }, deadlineMs)
  const answers = await Promise.allSettled([
    Promise.race([resolver.resolve4(name, { ttl: true }), deadline.promise]),
    Promise.race([resolver.resolve6(name, { ttl: true }), deadline.promise]),
  ])
  clearTimeout(timer)
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const failed = answers.find((answer) => answer.status === 'rejected')
  if (found.length === 0) throw new Error(`${name} has no address`, { cause: failed?.reason })
  return {
    addresses: found.map(({ address }) => address),
    ttlSeconds: Math.min(...found.map(({ ttl }) => ttl)),
  }
}

export interface NameCheck {
  /** In the order in which they are tried. */
  addresses: { address: string; isAllowed: boolean }[]
  /** Why there is no address, in words. */
  problem: string | null
}

/**
 * Returns the addresses of a host, or the reason why there are none. An address stands for itself.
 * It asks the DNS as the client does before it connects, and dials nothing.
 */
export async function checkName(
  host: string,
  { rules, resolve }: { rules: EgressRules; resolve: Resolve },
): Promise<NameCheck> {
  const name = host.replace(/^\[|\]$/g, '')
  try {
    const found = parseAddress(name) === null ? await resolve(name) : [name]
    const addresses = found.map((text) => {
      const address = parseAddress(text)
      return { address: text, isAllowed: address !== null && mayDial(address, rules) }
    })
    return { addresses, problem: null }
  } catch (error) {
    const failed = new EgressError('dns_error', `no address of ${name}`, error)
    const problem = failureCause('dns_error', failed) ?? 'the name has no address'
    return { addresses: [], problem }
  }
}

/**
 * Names to addresses. For strangers' names by a resolver of our own: the system's runs on four threads, and four names that hang would stop every look-up of
 * the process. The hosts file is not read. Answers are kept for as long as they say, failures for five seconds.
 */
import { lookup, Resolver } from 'node:dns/promises'
import { RecentMap } from '../recent-map.ts'

/** All addresses of a name, at least one. Throws where it has none or does not answer in time. */
export type Resolve = (name: string) => Promise<readonly string[]>

interface Found {
  addresses: readonly string[]
  ttlSeconds: number
}

const keptSecondsMin = 5
const keptSecondsMax = 60
const namesMax = 10_000

/** `deadlineMs` bounds one look-up, with all its questions. `servers`: `ADDRESS:PORT` in place of those of this machine. */
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

/** As the machine resolves names, its hosts file included: for names from the settings. */
export const systemResolver: Resolve = async (name) => {
  const found = await lookup(name, { all: true, order: 'ipv4first' })
  return found.map(({ address }) => address)
}

/** One look-up at a time for each name. */
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

/** IPv4 first: it is what every network has. A family that does not answer in time counts as empty where the other one did. */
async function lookUp(resolver: Resolver, name: string, deadlineMs: number): Promise<Found> {
  const deadline = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => deadline.reject(new Error(`no answer within ${deadlineMs} ms`)),
    deadlineMs,
  )
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

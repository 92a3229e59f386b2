/** Asks the DNS for a host as the client does before it connects, and dials nothing. */
import { parseAddress } from '../networks.ts'
import { EgressError, failureCause } from './failures.ts'
import type { Resolve } from './names.ts'
import { type EgressRules, mayDial } from './rules.ts'

export interface NameCheck {
  /** In the order in which they are tried. */
  addresses: { address: string; isAllowed: boolean }[]
  /** Why there is no address, in words. */
  problem: string | null
}

/** Returns the addresses of a host, or the reason why there are none. An address stands for itself. */
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

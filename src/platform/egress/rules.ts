/**
 * Decides which URLs and addresses this service connects to. Pure. A URL from a stranger must not
 * lead into the operator's own networks (SSRF). Its text is checked when it is submitted, and each
 * address of its name is checked whenever it is dialled.
 */
import ipaddr from 'ipaddr.js'
import { type Address, isWithin, type Network, parseAddress, parseNetwork } from '../networks.ts'

export interface EgressRules {
  /** The source of the URLs. The operator's own settings may name any host, address and port. */
  urlsOf: 'strangers' | 'operator'
  allowHttp: boolean
  ports: readonly number[] | 'any'
  /** Networks that may be reached although they are not public. */
  allow: readonly Network[]
  /** Networks that are never reached. Takes precedence over `allow`. */
  deny: readonly Network[]
}

/** The rules for URLs from the settings. */
export const operatorRules: EgressRules = {
  urlsOf: 'operator',
  allowHttp: true,
  ports: 'any',
  allow: [],
  deny: [],
}

/**
 * Returns the rules for URLs that callers send: https to public addresses. Throws if a text is not
 * a network.
 */
export function strangerRules(
  settings: {
    allowHttp?: boolean
    ports?: readonly number[] | 'any'
    allowCidrs?: readonly string[]
    denyCidrs?: readonly string[]
  } = {},
): EgressRules {
  return {
    urlsOf: 'strangers',
    allowHttp: settings.allowHttp ?? false,
    ports: settings.ports ?? [443],
    allow: (settings.allowCidrs ?? []).map(networkOf),
    deny: (settings.denyCidrs ?? []).map(networkOf),
  }
}

function networkOf(text: string): Network {
  const network = parseNetwork(text)
  if (network === null) throw new Error(`${JSON.stringify(text)} is not an address or a network`)
  return network
}

/**
 * Special-use names that lead into a private network or nowhere (RFC 6761, RFC 6762, RFC 8375;
 * ICANN reserves `internal`).
 */
const privateName = /(^|\.)(arpa|internal|local|localhost|test)$/
/** Special-use names that no name server may resolve (RFC 6761, RFC 7686, RFC 9476). */
const unresolvableName = /(^|\.)(alt|invalid|onion)$/
/** Letters, digits and inner hyphens (RFC 1123): certificates hold no other names. */
const hostLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** Maximum length of a host name as text, without the final dot (RFC 1035). */
const hostLengthMax = 253

/**
 * Returns the URL, or its fault in words for its author. Checks the text before parsing, because
 * the parser repairs: it folds `https:\\host`, drops tabs and line breaks, and turns `0x7f.1` and
 * full-width digits into 127.0.0.1.
 */
export function vetUrl(text: string, rules: EgressRules): { url: URL } | { fault: string } {
  const match = /^(https?):\/\/([^/?#\\]*)/.exec(text)
  if (match === null || (match[1] === 'http' && !rules.allowHttp))
    return fault(
      rules.allowHttp ? 'must start with https:// or http://' : 'must start with https://',
    )
  if (/[\p{Cc}\s\\]/u.test(text))
    return fault('must hold no white space, control character or backslash')
  if (!URL.canParse(text)) return fault('is not a URL')
  const url = new URL(text)
  if (rules.urlsOf === 'operator') return { url }
  if (url.username !== '' || url.password !== '' || match[2]?.includes('@'))
    return fault('must hold no user name or password')
  if (text.includes('#')) return fault('must hold no fragment')
  return hostFault(match[2] as string, url, rules) ?? portFault(url, rules) ?? { url }
}

function hostFault(written: string, url: URL, rules: EgressRules): { fault: string } | undefined {
  const { hostname } = url
  // A host that is written differently from its parsed form is a disguise, or has a port with
  // leading zeros.
  const plain = written.toLowerCase().replace(/:\d{1,5}$/, '')
  if (plain !== hostname) return fault('must name its host plainly, in ASCII')
  const address = parseAddress(hostname.replace(/^\[|\]$/g, ''))
  if (address !== null)
    return isWithin(address, rules.allow) ? undefined : fault('must name a host, not an address')
  if (hostname.endsWith('.')) return fault('must not end its host with a dot')
  if (hostname.length > hostLengthMax)
    return fault(`must name a host of at most ${hostLengthMax} characters`)
  if (!hostname.split('.').every((label) => hostLabel.test(label)))
    return fault('must name its host in labels of 1 to 63 letters, digits and inner hyphens')
  if (unresolvableName.test(hostname)) return fault('must name a public host')
  // A deployment for its own network may name hosts there. Their addresses are vetted like all
  // others.
  if (rules.allow.length > 0) return undefined
  return !hostname.includes('.') || privateName.test(hostname)
    ? fault('must name a public host')
    : undefined
}

function portFault(url: URL, { ports }: EgressRules): { fault: string } | undefined {
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  if (port !== 0 && (ports === 'any' || ports.includes(port))) return undefined
  return fault(ports === 'any' ? 'must name a port' : `must use port ${ports.join(' or ')}`)
}

function fault(text: string): { fault: string } {
  return { fault: text }
}

/**
 * Global unicast. All other IPv6 ranges are blocked, including IPv4-compatible addresses such as
 * ::7f00:1.
 */
const globalIpv6: readonly Network[] = [[ipaddr.IPv6.parse('2000::'), 3]]
/** A public address that serves the metadata of each machine at one cloud provider. */
const cloudMetadata: readonly Network[] = [[ipaddr.IPv4.parse('168.63.129.16'), 32]]

/** Tells whether a connection to this address may be opened. */
export function mayDial(address: Address, rules: EgressRules): boolean {
  if (isWithin(address, rules.deny)) return false
  if (rules.urlsOf === 'operator' || isWithin(address, rules.allow)) return true
  if (address.range() !== 'unicast' || isWithin(address, cloudMetadata)) return false
  return address.kind() === 'ipv4' || isWithin(address, globalIpv6)
}

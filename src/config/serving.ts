/** Settings of serving: addresses, processes and connection limits. */
import {
  contactUrl,
  host,
  integer,
  list,
  networks,
  oneOf,
  originUrl,
  type Reading,
  readerOf,
  type SettingTable,
} from './setting.ts'

export const servingSettings = {
  PORT: {
    default: '8080',
    unit: 'TCP port',
    effect: 'Port the service listens on; 0 takes any free port.',
    parse: integer(0, 65_535),
  },
  HOST: {
    default: '127.0.0.1',
    unit: 'address',
    effect: 'Interface the service listens on; 0.0.0.0 means all of them.',
    parse: host,
  },
  PUBLIC_URL: {
    default: 'http://localhost:PORT',
    unit: 'origin',
    effect: 'The origin of all absolute URLs and of the issuer; a change makes a new issuer.',
    parse: originUrl,
  },
  FORMER_PUBLIC_URLS: {
    default: '',
    unit: 'origins, comma-separated',
    effect: 'Earlier values of PUBLIC_URL; their credentials still verify.',
    parse: (text) => list(text).map(originUrl),
  },
  PROCESSES: {
    default: '1',
    unit: 'processes',
    effect: 'Serving processes that share the port; set one for each core.',
    parse: integer(1, 64),
  },
  NODES: {
    default: '1',
    unit: 'servers',
    effect:
      'Servers that share the database; each allows its share of the limits while the database does not answer.',
    parse: integer(1, 1_000),
  },
  TRUSTED_PROXIES: {
    default: '',
    unit: 'addresses or CIDR networks, comma-separated',
    effect:
      'Proxies with a trusted X-Forwarded-For; without it all clients behind a proxy share one limit.',
    parse: networks,
  },
  OPERATOR_PORT: {
    default: '',
    unit: 'TCP port',
    effect:
      'Port of the operator API and the console alone; without it, they are on PORT for OPERATOR_ALLOW_FROM.',
    parse: integer(0, 65_535),
  },
  OPERATOR_HOST: {
    default: '127.0.0.1',
    unit: 'address',
    effect: 'Interface that OPERATOR_PORT listens on.',
    parse: host,
  },
  OPERATOR_URL: {
    default: 'PUBLIC_URL',
    unit: 'origin',
    effect: 'Origin of the operator API and the console; must be set if OPERATOR_PORT is set.',
    parse: originUrl,
  },
  OPERATOR_ALLOW_FROM: {
    default: '127.0.0.0/8,::1',
    unit: 'addresses or CIDR networks, comma-separated',
    effect:
      'Callers of the operator API and the console without OPERATOR_PORT; others get 404, as does a request through a proxy that TRUSTED_PROXIES does not name.',
    parse: networks,
  },
  CONNECTIONS_MAX: {
    default: '10000',
    unit: 'connections a process',
    effect: 'Further connections are refused.',
    parse: integer(1, 1_000_000),
  },
  CONNECTIONS_PER_ADDRESS_MAX: {
    default: '256',
    unit: 'connections a process',
    effect: 'Further connections from one address are refused; trusted proxies are exempt.',
    parse: integer(1, 1_000_000),
  },
  TIMEOUT_MULTIPLIER: {
    default: '1',
    unit: 'factor',
    effect: 'Multiplies the deadlines of the machine and its database; raise it if they are slow.',
    parse: integer(1, 100),
  },
  OPERATOR_NAME: {
    default: '',
    unit: 'text of at most 80 characters',
    effect: 'Names the operator on pages, beside the host; without it the host stands alone.',
    parse: operatorName,
  },
  SECURITY_CONTACT: {
    default: '',
    unit: 'URL, https: or mailto:',
    effect: 'Named in /.well-known/security.txt; without it there is no such file.',
    parse: contactUrl,
  },
  PROFILE_INDEXING: {
    default: 'off',
    unit: 'on or off',
    effect: 'With on, search engines may list the public profiles of workers.',
    parse: (text) => oneOf('on', 'off')(text) === 'on',
  },
  DRAIN_DELAY_SECONDS: {
    default: '5',
    unit: 'seconds',
    effect:
      'After SIGTERM the service is not ready and still serves for this long, so that load balancers can react.',
    parse: integer(0, 300),
  },
} as const satisfies SettingTable

export function readServing(reading: Reading) {
  const { read, readOr } = readerOf(servingSettings, reading)
  const port = readOr('PORT')
  const publicUrl = read('PUBLIC_URL')
  if (port === 0 && publicUrl === undefined)
    reading.problems.push(
      'PUBLIC_URL must be set if PORT is 0, because the port is not known in advance',
    )
  const current = publicUrl ?? `http://localhost:${port}`
  const formerPublicUrls = readOr('FORMER_PUBLIC_URLS').filter((url) => url !== current)
  for (const host of repeated([current, ...formerPublicUrls].map((url) => new URL(url).host)))
    reading.problems.push(
      `FORMER_PUBLIC_URLS: two addresses have the host ${host}. An issuer is named by its host alone: list one of them.`,
    )
  const operatorPort = read('OPERATOR_PORT')
  const operatorUrl = read('OPERATOR_URL')
  if (operatorPort !== undefined && operatorUrl === undefined)
    reading.problems.push('OPERATOR_URL must be set if OPERATOR_PORT is set')
  if (operatorUrl !== undefined && !isSafeOrigin(operatorUrl))
    reading.problems.push('OPERATOR_URL must be https, except for localhost: a token is sent to it')
  return {
    operator:
      operatorPort === undefined ? null : { port: operatorPort, host: readOr('OPERATOR_HOST') },
    operatorUrl: operatorUrl ?? current,
    operatorAllowFrom: readOr('OPERATOR_ALLOW_FROM'),
    port,
    host: readOr('HOST'),
    publicUrl: current,
    formerPublicUrls,
    processes: readOr('PROCESSES'),
    nodes: readOr('NODES'),
    trustedProxies: readOr('TRUSTED_PROXIES'),
    connectionsMax: readOr('CONNECTIONS_MAX'),
    connectionsPerAddressMax: readOr('CONNECTIONS_PER_ADDRESS_MAX'),
    timeoutMultiplier: readOr('TIMEOUT_MULTIPLIER'),
    operatorName: read('OPERATOR_NAME') ?? null,
    securityContact: read('SECURITY_CONTACT') ?? null,
    areProfilesIndexed: readOr('PROFILE_INDEXING'),
    drainDelaySeconds: readOr('DRAIN_DELAY_SECONDS'),
  }
}

/** Pages, mails and previews show it on one line. */
function operatorName(text: string): string {
  if (!/^[^\p{Cc}]{1,80}$/u.test(text))
    throw new Error('a name of at most 80 characters on one line')
  return text
}

function isSafeOrigin(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}

/** Returns each text that occurs more than once. */
function repeated(texts: readonly string[]): Set<string> {
  return new Set(texts.filter((text, place) => texts.indexOf(text) !== place))
}

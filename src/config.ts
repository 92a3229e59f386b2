/**
 * Every setting: unit, default and consequence, in one table. `docs/operate.md` is generated from it. All errors are told at once,
 * before anything is opened.
 */
import { join, resolve } from 'node:path'
import { meters, type Prices } from './payments/meters.ts'
import { x402SettingsOf } from './payments-config.ts'
import type { MeterName } from './platform/callers.ts'
import { type EgressRules, strangerRules } from './platform/egress-rules.ts'
import { type Keyring, parseKeyring } from './platform/keyring.ts'
import { parseNetwork } from './platform/networks.ts'
import { parseRetryWaits } from './webhooks/retry.ts'
import { mayBeRight } from './x402/address.ts'
import type { X402Settings } from './x402/open.ts'

interface Setting<Value> {
  /** As shown to the operator; empty when there is none. */
  default: string
  unit: string
  /** What the setting does and what follows from it. */
  effect: string
  /** Throws an `Error` that says what is expected. */
  parse(text: string): Value
}

const setting = <Value>(row: Setting<Value>): Setting<Value> => row

function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max)) throw new Error(`a whole number from ${min} to ${max}`)
    return value
  }
}

function oneOf<Choice extends string>(...choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text)
    if (choice === undefined) throw new Error(`one of ${choices.join(', ')}`)
    return choice
  }
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function originUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.origin !== text.replace(/\/$/, '')
  )
    throw new Error('an origin such as https://scores.example.org, without path or query')
  return url.origin
}

function networks(text: string): string[] {
  const items = list(text)
  for (const item of items) {
    if (parseNetwork(item) === null)
      throw new Error('addresses or CIDR networks, separated by commas')
    if (item.endsWith('/0'))
      throw new Error('networks you run: to trust everyone lets callers choose their address')
  }
  return items
}

function address(text: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new Error('0x and 40 hex characters')
  if (!mayBeRight(text)) throw new Error('right in every character: its capitals (EIP-55) are not')
  return text.toLowerCase()
}

function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.hash !== '')
    throw new Error('an http or https URL')
  return text.replace(/\/$/, '')
}

function price(what: string): Setting<string> {
  return {
    default: '10000',
    unit: 'atomic units of the coin',
    effect: `${what}, paid on the spot. 10000 is 0.01 USDC; above 100000 older payers refuse by default.`,
    parse: (text) => String(integer(1, 999_999_999)(text)),
  }
}

function creditPrice(meter: MeterName): Setting<number> {
  const { meaning, defaultPrice } = meters[meter]
  return {
    default: String(defaultPrice),
    unit: 'credits',
    effect: `${meaning} 0: free. What was charged before stays as it was.`,
    parse: integer(0, 1_000_000),
  }
}

/** What may hold a password or a key is not told back. */
const confidential: ReadonlySet<string> = new Set([
  'SECRETS_KEYRING',
  'DATABASE_URL',
  'WEBHOOK_PROXY_URL',
  'API_KEY_PEPPERS',
  'X402_SECRETS',
  'X402_FACILITATOR_URL',
  'X402_FACILITATOR_AUTHORIZATION',
  'X402_RPC_URL',
])

export const settings = {
  PORT: setting({
    default: '8080',
    unit: 'TCP port',
    effect: 'Where the service listens. 0 takes any free port.',
    parse: integer(0, 65_535),
  }),
  HOST: setting({
    default: '127.0.0.1',
    unit: 'address',
    effect:
      'Which interface the service listens on. 0.0.0.0 for all: put a proxy with TLS in front.',
    parse: (text) => text,
  }),
  PUBLIC_URL: setting({
    default: 'http://localhost:PORT',
    unit: 'origin',
    effect:
      'The only source of absolute URLs: issuer, key ids, status and context URLs are made from it. A change makes a new issuer: list the old one in FORMER_PUBLIC_URLS.',
    parse: originUrl,
  }),
  FORMER_PUBLIC_URLS: setting({
    default: '',
    unit: 'origins, comma-separated',
    effect: 'Earlier values of PUBLIC_URL. Credentials issued under them keep verifying here.',
    parse: (text) => list(text).map(originUrl),
  }),
  DATABASE_URL: setting({
    default: 'the embedded PostgreSQL',
    unit: 'postgres:// URL',
    effect:
      'PostgreSQL 15 to 18. Without it an embedded PostgreSQL 18 runs in the data directory, for one machine.',
    parse: (text) => {
      if (!/^postgres(ql)?:\/\//.test(text)) throw new Error('a postgres:// URL')
      return text
    },
  }),
  DATABASE_CONNECTIONS_MAX: setting({
    default: '10',
    unit: 'connections a process',
    effect: 'Calls beyond it wait half a second for a connection and are then answered with 503.',
    parse: integer(2, 1_000),
  }),
  ASSAY_DATA_DIR: setting({
    default: './.data, for root /var/lib/assay',
    unit: 'folder',
    effect: 'Signing keys, the embedded database and the demo live here. Back it up.',
    parse: (text) => resolve(text),
  }),
  SIGNING_KEYS_DIR: setting({
    default: 'keys in the data directory',
    unit: 'folder',
    effect:
      'PEM files of the private signing keys, one a key. Every process that issues or publishes lists needs it; a server that only verifies does not. A key that is not sound stops the start.',
    parse: (text) => resolve(text),
  }),
  CREDENTIAL_VALIDITY_DAYS: setting({
    default: '365',
    unit: 'days',
    effect: 'How long a credential is valid from its issue. Changes nothing for those issued.',
    parse: integer(1, 3_650),
  }),
  SUPERSEDE_REVOKES: setting({
    default: 'false',
    unit: 'true or false',
    effect:
      'true: a newer credential of the same person revokes the older one. false: the older one stays true of its date, and verification notes that it is superseded.',
    parse: (text) => oneOf('true', 'false')(text) === 'true',
  }),
  SCORE_EVIDENCE_MIN: setting({
    default: '3',
    unit: 'items',
    effect:
      'A person with fewer items of evidence that count has no score. A change has every score computed again.',
    parse: integer(1, 100),
  }),
  SCORE_GROUPS_MIN: setting({
    default: '2',
    unit: 'groups of sources',
    effect:
      'A person whose evidence comes from fewer independent groups has no score. A change has every score computed again.',
    parse: integer(1, 100),
  }),
  DISPUTE_DUE_DAYS: setting({
    default: '30',
    unit: 'days',
    effect:
      'When a dispute is due, from its opening. One that is late is shown as overdue; nothing else happens.',
    parse: integer(1, 365),
  }),
  DISPUTE_RESTRICTS: setting({
    default: 'true',
    unit: 'true or false',
    effect:
      'Whether the public score of a person is hidden while a dispute of theirs is open, unless `--restrict` or `--no-restrict` says so at its opening.',
    parse: (text) => oneOf('true', 'false')(text) === 'true',
  }),
  PROCESSES: setting({
    default: '1',
    unit: 'processes',
    effect: 'Serving processes that share the port; one a core.',
    parse: integer(1, 64),
  }),
  NODES: setting({
    default: '1',
    unit: 'servers',
    effect:
      'How many servers share the database. Limits are exact on any number; this divides them only while the database does not answer and each server counts alone.',
    parse: integer(1, 1_000),
  }),
  TRUSTED_PROXIES: setting({
    default: '',
    unit: 'addresses or CIDR networks, comma-separated',
    effect:
      'Whose X-Forwarded-For is believed. Without it the peer is the client, and behind a proxy all clients share one limit.',
    parse: networks,
  }),
  CONNECTIONS_MAX: setting({
    default: '10000',
    unit: 'connections a process',
    effect: 'Further connections are refused.',
    parse: integer(1, 1_000_000),
  }),
  CONNECTIONS_PER_ADDRESS_MAX: setting({
    default: '256',
    unit: 'connections a process',
    effect: 'Further connections from one address are refused; trusted proxies are exempt.',
    parse: integer(1, 1_000_000),
  }),
  API_KEY_PEPPERS: setting({
    default: 'the file api-key-peppers in the data directory',
    unit: 'kid:key pairs, comma-separated; each key 32 bytes in base64',
    effect:
      'What API keys are digested with; never in the database. The first is for new keys, all are for checking: take one away when no key rests on it any more. The first key that is made makes the file. Every process needs the same; back it up, or all keys must be replaced.',
    parse: parseKeyring,
  }),
  METERING: setting({
    default: 'on',
    unit: 'on or off',
    effect:
      'off: reads with an API key are free, and nobody can pay on the spot: callers without a key get 401.',
    parse: (text) => oneOf('on', 'off')(text) === 'on',
  }),
  CREDITS_PER_SCORE_LOOKUP: setting(creditPrice('score_lookup')),
  CREDITS_PER_CANDIDATE_LOOKUP: setting(creditPrice('candidate_lookup')),
  CREDITS_PER_CANDIDATE_SEARCH: setting(creditPrice('candidate_search')),
  KEY_CALLS_PER_MINUTE: setting({
    default: '600',
    unit: 'calls a minute',
    effect: 'Of one API key to one route. One more is answered with 429.',
    parse: integer(1, 60_000),
  }),
  KEY_CALLS_PER_DAY: setting({
    default: '100000',
    unit: 'calls a day',
    effect: 'Of one API key to one route. One more is answered with 429.',
    parse: integer(1, 100_000_000),
  }),
  KEY_MISSES_PER_MINUTE: setting({
    default: '60',
    unit: 'answers a minute',
    effect:
      'How often one API key may be answered that there is no such thing: it bounds guessing at ids. Then all its calls are answered with 429 for the rest of the minute.',
    parse: integer(1, 60_000),
  }),
  FAILED_KEYS_PER_MINUTE: setting({
    default: '30',
    unit: 'calls a minute',
    effect:
      'With API keys that are not valid, from one address. One more is answered with 429 in place of 401; a valid key is served whatever its address.',
    parse: integer(1, 60_000),
  }),
  SECRETS_KEYRING: setting({
    default: 'with the embedded database a file in the data directory',
    unit: 'kid:key pairs, comma-separated; each key 32 bytes in base64',
    effect:
      'Seals the signing secrets of webhooks: the first key seals, all open. Every process that shares the database needs the same ones. To replace a key put a new one first, restart everything, run `assay webhooks rewrap`, then take the old one out. Without any, no webhook endpoint can be created. A key that is lost takes the secrets with it: keep it apart from the backups of the database.',
    parse: parseKeyring,
  }),
  WEBHOOK_ENDPOINTS_MAX: setting({
    default: '20',
    unit: 'endpoints an account',
    effect: 'Active webhook endpoints; the creation of one more is answered with 409.',
    parse: integer(1, 1_000),
  }),
  AGENT_REPORTING_DEFAULT: setting({
    default: 'locked',
    unit: 'locked or unlocked',
    effect:
      'Whether an account may report agent decisions about which the operator has said nothing. See `assay reports unlock` and `lock`.',
    parse: oneOf('locked', 'unlocked'),
  }),
  AGENT_REPORTS_PER_DAY: setting({
    default: '5000',
    unit: 'reports a day',
    effect: 'Of one API key. One more is answered with 429.',
    parse: integer(1, 100_000_000),
  }),
  AGENT_REPORTS_DAYS: setting({
    default: '730',
    unit: 'days',
    effect:
      'How long agent decision reports are kept. Older ones are deleted; their Idempotency-Keys stay used for ever.',
    parse: integer(1, 36_500),
  }),
  METRICS_PORT: setting({
    default: '0',
    unit: 'TCP port, or off',
    effect: 'Where /metrics is served, on METRICS_HOST. 0 takes any free port and logs it.',
    parse: (text) => (text === 'off' ? null : integer(0, 65_535)(text)),
  }),
  METRICS_HOST: setting({
    default: '127.0.0.1',
    unit: 'address',
    effect: 'Which interface /metrics is served on. It has no authentication: keep it private.',
    parse: (text) => text,
  }),
  WEBHOOK_PORTS: setting({
    default: '443',
    unit: 'TCP ports, comma-separated, or any',
    effect: 'Ports that the URL of a webhook endpoint may name.',
    parse: (text) => (text === 'any' ? 'any' : list(text).map(integer(1, 65_535))),
  }),
  WEBHOOK_ALLOW_CIDRS: setting({
    default: '',
    unit: 'addresses or CIDR networks, comma-separated',
    effect:
      'Networks of yours that webhooks may be sent to. Without it only public addresses are dialled: whoever creates endpoints must not reach into your network.',
    parse: networks,
  }),
  WEBHOOK_DENY_CIDRS: setting({
    default: '',
    unit: 'addresses or CIDR networks, comma-separated',
    effect: 'Networks that webhooks are never sent to, such as your own public addresses.',
    parse: networks,
  }),
  WEBHOOK_ALLOW_HTTP: setting({
    default: 'false',
    unit: 'true or false',
    effect: 'true: deliveries to http URLs go out, readable on the way. The API takes none anyway.',
    parse: (text) => oneOf('true', 'false')(text) === 'true',
  }),
  WEBHOOK_PROXY_URL: setting({
    default: 'none',
    unit: 'http or https URL',
    effect:
      'A CONNECT proxy that webhooks leave through. It then resolves names and says which addresses may be reached.',
    parse: httpUrl,
  }),
  WEBHOOK_CA_FILE: setting({
    default: 'none',
    unit: 'PEM file',
    effect: 'Certificates that receivers may show beside those this machine trusts.',
    parse: (text) => resolve(text),
  }),
  WEBHOOK_RETRY_SCHEDULE: setting({
    default: '5,300,1800,7200,18000,36000,50400,72000,86400',
    unit: 'seconds, comma-separated',
    effect:
      'Waits before the second attempt and those after it, each a fifth shorter or longer by chance. After the last one a delivery is given up.',
    parse: parseRetryWaits,
  }),
  LOG_LEVEL: setting({
    default: 'info',
    unit: 'debug, info, warn, error or silent',
    effect: 'info writes one JSON line a request to standard output; warn only what needs a look.',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
  }),
  DRAIN_DELAY_SECONDS: setting({
    default: '5',
    unit: 'seconds',
    effect:
      'On SIGTERM the service reports that it is not ready and serves on for this long, so that load balancers look away first. SIGINT does not wait.',
    parse: integer(0, 300),
  }),
  X402_FACILITATOR: setting({
    default: 'off',
    unit: 'off, remote or local',
    effect:
      'Whether callers without a key can pay on the spot, and who sends their payments to the chain: a service of others, or this one. Off: such callers get 401.',
    parse: oneOf('off', 'remote', 'local'),
  }),
  X402_NETWORK: setting({
    default: 'base-sepolia',
    unit: 'base or base-sepolia',
    effect: 'The chain, and with it the coin: its USDC. base-sepolia is a test network.',
    parse: oneOf('base', 'base-sepolia'),
  }),
  X402_PAY_TO: setting({
    default: '',
    unit: 'address: 0x and 40 hex characters',
    effect:
      'Whom payers pay. Nobody but its owner can move what arrives there: check every character. Written with the capitals of its checksum (EIP-55), a slip stops the start.',
    parse: address,
  }),
  X402_PRICE_SCORE_LOOKUP: setting(price('One score')),
  X402_PRICE_CANDIDATE_LOOKUP: setting(price('One candidate')),
  X402_PRICE_CANDIDATE_SEARCH: setting(price('One search')),
  X402_MAX_TIMEOUT_SECONDS: setting({
    default: '300',
    unit: 'seconds',
    effect:
      'How long a challenge may be paid at its price, and how long the authorizations are valid that payers sign. Short times fail payers whose clocks are wrong.',
    parse: integer(30, 3_600),
  }),
  X402_HEADER_VERSION: setting({
    default: '1',
    unit: '1 or 2',
    effect:
      'Of the challenge in PAYMENT-REQUIRED. 1: the same as the body. 2: payers that know only version 2 of the protocol can pay; the body stays version 1.',
    parse: (text) => (oneOf('1', '2')(text) === '1' ? 1 : 2),
  }),
  X402_SECRETS: setting({
    default: '',
    unit: 'texts of at least 32 characters, comma-separated',
    effect:
      'The first signs quotes and encrypts open payments; the others still read what they made. To rotate, put a new one first. Every process needs the same.',
    parse: (text) => {
      const items = list(text)
      if (items.length === 0 || items.some((item) => item.length < 32))
        throw new Error('texts of at least 32 characters, separated by commas')
      return items
    },
  }),
  X402_FACILITATOR_URL: setting({
    default: '',
    unit: 'URL',
    effect: 'Of the remote facilitator, without /verify and /settle. There is no default.',
    parse: httpUrl,
  }),
  X402_FACILITATOR_AUTHORIZATION: setting({
    default: '',
    unit: 'header value',
    effect: 'What the remote facilitator wants in Authorization.',
    parse: (text) => {
      if (!/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(text)) throw new Error('a header value')
      return text
    },
  }),
  X402_RPC_URL: setting({
    default: '',
    unit: 'URL',
    effect:
      'JSON-RPC of a node of the chain. A local facilitator needs it. With a remote one it tells what became of a payment whose answer was lost; without it such a payment waits for the operator.',
    parse: httpUrl,
  }),
  X402_RELAYER_KEY_FILE: setting({
    default: '',
    unit: 'file',
    effect:
      'Private key, 64 hex characters, of the account by which a local facilitator sends payments and pays their gas. It needs little ether and no coin.',
    parse: (text) => resolve(text),
  }),
} as const satisfies Record<string, Setting<unknown>>

type Name = keyof typeof settings
type Value<N extends Name> = ReturnType<(typeof settings)[N]['parse']>

export interface Config {
  port: Value<'PORT'>
  host: string
  publicUrl: string
  formerPublicUrls: string[]
  /** Undefined: the embedded database. */
  databaseUrl: string | undefined
  databaseConnectionsMax: number
  dataDir: string
  signingKeysDir: string
  credentialValidityDays: number
  supersedeRevokes: boolean
  scoreEvidenceMin: number
  scoreGroupsMin: number
  disputeDueDays: number
  disputeRestricts: boolean
  processes: number
  nodes: number
  trustedProxies: string[]
  connectionsMax: number
  connectionsPerAddressMax: number
  /** Undefined: those of the file. */
  apiKeyPeppers: Keyring | undefined
  metering: boolean
  prices: Prices
  /** Of one API key to one route. */
  keyLimits: { perMinute: number; perDay: number }
  missLimits: { perMinute: number; perDay: number }
  failedKeyLimits: { perMinute: number; perDay: number }
  /** Undefined: from the file in the data directory, where there is one. */
  secretsKeyring: Keyring | undefined
  webhookEndpointsMax: number
  agentReportingDefault: Value<'AGENT_REPORTING_DEFAULT'>
  agentReportsPerDay: number
  agentReportsDays: number
  /** Null: no metrics server. */
  metricsPort: number | null
  metricsHost: string
  webhooks: WebhookSettings
  logLevel: Value<'LOG_LEVEL'>
  drainDelaySeconds: number
  /** Null: nobody can pay on the spot. */
  x402: X402Settings | null
}

/** A limit a minute that may be used for an hour or two of each day. */
function forTheWholeDay(perMinute: number): { perMinute: number; perDay: number } {
  return { perMinute, perDay: perMinute * 100 }
}

export interface WebhookSettings {
  /** What a URL of an endpoint may be, and which addresses are dialled. */
  rules: EgressRules
  proxyUrl: string | undefined
  caFile: string | undefined
  retryWaitsSeconds: readonly number[]
}

/** All that is wrong with the settings, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: string[]

  constructor(problems: string[]) {
    super(`The settings are not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** Reads the settings. Throws `ConfigError` with every problem at once. An empty variable counts as absent. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const problems: string[] = []

  function read<N extends Name>(name: N): Value<N> | undefined {
    const text = env[name]
    return text === undefined || text === '' ? undefined : parse(name, text)
  }
  function readOr<N extends Name>(name: N): Value<N> {
    return read(name) ?? (settings[name].parse(settings[name].default) as Value<N>)
  }
  function parse<N extends Name>(name: N, text: string): Value<N> | undefined {
    try {
      return settings[name].parse(text) as Value<N>
    } catch (error) {
      const is = confidential.has(name) ? '' : `; it is ${JSON.stringify(text)}`
      problems.push(`${name} must be ${(error as Error).message}${is}`)
      return undefined
    }
  }

  const port = readOr('PORT')
  const dataDir =
    read('ASSAY_DATA_DIR') ?? (process.getuid?.() === 0 ? '/var/lib/assay' : resolve('.data'))
  const metricsPort = read('METRICS_PORT')
  const publicUrl = read('PUBLIC_URL')
  if (port === 0 && publicUrl === undefined)
    problems.push('PUBLIC_URL must be set where PORT is 0: nobody could know the address before')
  const config: Config = {
    port,
    host: readOr('HOST'),
    publicUrl: publicUrl ?? `http://localhost:${port}`,
    formerPublicUrls: readOr('FORMER_PUBLIC_URLS'),
    databaseUrl: read('DATABASE_URL'),
    databaseConnectionsMax: readOr('DATABASE_CONNECTIONS_MAX'),
    dataDir,
    signingKeysDir: read('SIGNING_KEYS_DIR') ?? join(dataDir, 'keys'),
    credentialValidityDays: readOr('CREDENTIAL_VALIDITY_DAYS'),
    supersedeRevokes: readOr('SUPERSEDE_REVOKES'),
    scoreEvidenceMin: readOr('SCORE_EVIDENCE_MIN'),
    scoreGroupsMin: readOr('SCORE_GROUPS_MIN'),
    disputeDueDays: readOr('DISPUTE_DUE_DAYS'),
    disputeRestricts: readOr('DISPUTE_RESTRICTS'),
    processes: readOr('PROCESSES'),
    nodes: readOr('NODES'),
    trustedProxies: readOr('TRUSTED_PROXIES'),
    connectionsMax: readOr('CONNECTIONS_MAX'),
    connectionsPerAddressMax: readOr('CONNECTIONS_PER_ADDRESS_MAX'),
    apiKeyPeppers: read('API_KEY_PEPPERS'),
    metering: readOr('METERING'),
    prices: {
      score_lookup: readOr('CREDITS_PER_SCORE_LOOKUP'),
      candidate_lookup: readOr('CREDITS_PER_CANDIDATE_LOOKUP'),
      candidate_search: readOr('CREDITS_PER_CANDIDATE_SEARCH'),
    },
    keyLimits: { perMinute: readOr('KEY_CALLS_PER_MINUTE'), perDay: readOr('KEY_CALLS_PER_DAY') },
    missLimits: forTheWholeDay(readOr('KEY_MISSES_PER_MINUTE')),
    failedKeyLimits: forTheWholeDay(readOr('FAILED_KEYS_PER_MINUTE')),
    secretsKeyring: read('SECRETS_KEYRING'),
    webhookEndpointsMax: readOr('WEBHOOK_ENDPOINTS_MAX'),
    agentReportingDefault: readOr('AGENT_REPORTING_DEFAULT'),
    agentReportsPerDay: readOr('AGENT_REPORTS_PER_DAY'),
    agentReportsDays: readOr('AGENT_REPORTS_DAYS'),
    metricsPort: metricsPort === undefined ? 0 : metricsPort,
    metricsHost: readOr('METRICS_HOST'),
    webhooks: {
      rules: strangerRules({
        ports: readOr('WEBHOOK_PORTS'),
        allowCidrs: readOr('WEBHOOK_ALLOW_CIDRS'),
        denyCidrs: readOr('WEBHOOK_DENY_CIDRS'),
        allowHttp: readOr('WEBHOOK_ALLOW_HTTP'),
      }),
      proxyUrl: read('WEBHOOK_PROXY_URL'),
      caFile: read('WEBHOOK_CA_FILE'),
      retryWaitsSeconds: readOr('WEBHOOK_RETRY_SCHEDULE'),
    },
    logLevel: readOr('LOG_LEVEL'),
    drainDelaySeconds: readOr('DRAIN_DELAY_SECONDS'),
    x402: x402SettingsOf(
      {
        metering: readOr('METERING'),
        facilitator: readOr('X402_FACILITATOR'),
        network: readOr('X402_NETWORK'),
        payTo: read('X402_PAY_TO'),
        amounts: {
          score_lookup: readOr('X402_PRICE_SCORE_LOOKUP'),
          candidate_lookup: readOr('X402_PRICE_CANDIDATE_LOOKUP'),
          candidate_search: readOr('X402_PRICE_CANDIDATE_SEARCH'),
        },
        maxTimeoutSeconds: readOr('X402_MAX_TIMEOUT_SECONDS'),
        headerVersion: readOr('X402_HEADER_VERSION'),
        secrets: read('X402_SECRETS'),
        facilitatorUrl: read('X402_FACILITATOR_URL'),
        facilitatorAuthorization: read('X402_FACILITATOR_AUTHORIZATION'),
        rpcUrl: read('X402_RPC_URL'),
        relayerKeyFile: read('X402_RELAYER_KEY_FILE'),
      },
      problems,
    ),
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

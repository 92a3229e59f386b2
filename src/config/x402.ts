/** Settings of x402 payments by callers without an API key. */
import { mayBeRight } from '../billing/x402/protocol/terms.ts'
import type { X402Settings } from '../billing/x402/settlement/open.ts'
import { networkNames } from '../edge/http/payment-challenge.ts'
import {
  httpUrl,
  integer,
  list,
  oneOf,
  path,
  type Reading,
  readerOf,
  type Setting,
  type SettingTable,
} from './setting.ts'

export const x402Settings = {
  X402_FACILITATOR: {
    default: 'none',
    unit: 'none, remote or local',
    effect:
      'Sends payments to the chain: another operator’s service (remote), this server (local), or none.',
    parse: oneOf('none', 'remote', 'local'),
  },
  X402_NETWORK: {
    default: 'base-sepolia',
    unit: networkNames.join(' or '),
    effect: 'The chain of the payments in USDC; base-sepolia is a test network.',
    parse: oneOf(...networkNames),
  },
  X402_PAY_TO: {
    default: '',
    unit: 'address: 0x and 40 hex characters',
    effect:
      'The wallet that receives payments; without it, a caller without a key gets 402 and no payment challenge.',
    parse: address,
  },
  X402_PRICE_SCORE_LOOKUP: price('One score'),
  X402_PRICE_CANDIDATE_LOOKUP: price('One candidate'),
  X402_PRICE_CANDIDATE_SEARCH: price('One search'),
  X402_MAX_TIMEOUT_SECONDS: {
    default: '300',
    unit: 'seconds',
    effect:
      'How long a quoted price can be paid; with a short time, payers with wrong clocks fail.',
    parse: integer(30, 3_600),
  },
  X402_HEADER_VERSION: {
    default: '1',
    unit: '1 or 2',
    effect:
      'Protocol version of the header PAYMENT-REQUIRED; with 2, payers that know only version 2 can pay.',
    parse: (text) => (oneOf('1', '2')(text) === '1' ? 1 : 2),
  },
  X402_SECRETS: {
    default: '',
    unit: 'texts of at least 32 characters, comma-separated',
    effect:
      'Secrets that sign quotes and encrypt open payments: the first one signs, all of them read.',
    confidential: true,
    parse: (text) => {
      const items = list(text)
      if (items.length === 0 || items.some((item) => item.length < 32))
        throw new Error('texts of at least 32 characters, separated by commas')
      return items
    },
  },
  X402_FACILITATOR_URL: {
    default: '',
    unit: 'URL',
    effect: 'Base URL of the remote facilitator, without /verify and /settle.',
    confidential: true,
    parse: httpUrl,
  },
  X402_FACILITATOR_AUTHORIZATION: {
    default: '',
    unit: 'header value',
    effect: 'The Authorization header for the remote facilitator.',
    confidential: true,
    parse: (text) => {
      if (!/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(text)) throw new Error('a header value')
      return text
    },
  },
  X402_RPC_URL: {
    default: '',
    unit: 'URL',
    effect:
      'JSON-RPC URL of a chain node that shows which payments were made; a local facilitator needs it.',
    confidential: true,
    parse: httpUrl,
  },
  X402_RELAYER_KEY_FILE: {
    default: '',
    unit: 'file',
    effect:
      'Private key (64 hex characters) of the account with which a local facilitator pays the gas.',
    parse: path,
  },
} as const satisfies SettingTable

export function readX402(reading: Reading, { metering }: { metering: boolean }) {
  const { read, readOr } = readerOf(x402Settings, reading)
  const values: X402Values = {
    metering,
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
  }
  return { x402: x402SettingsOf(values, reading.problems) }
}

function address(text: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new Error('0x and 40 hex characters')
  if (!mayBeRight(text)) throw new Error('right in every character: its capitals (EIP-55) are not')
  return text.toLowerCase()
}

function price(what: string): Setting<string> {
  return {
    default: '10000',
    unit: 'atomic units of the coin',
    effect: `${what}, paid with x402; 10000 is 0.01 USDC.`,
    parse: (text) => String(integer(1, 999_999_999)(text)),
  }
}

interface X402Values {
  metering: boolean
  facilitator: X402Settings['facilitator']['kind']
  network: X402Settings['network']
  payTo: string | undefined
  amounts: X402Settings['amounts']
  maxTimeoutSeconds: number
  headerVersion: X402Settings['headerVersion']
  secrets: readonly string[] | undefined
  facilitatorUrl: string | undefined
  facilitatorAuthorization: string | undefined
  rpcUrl: string | undefined
  relayerKeyFile: string | undefined
}

/**
 * Signs the quotes of a server without a facilitator if X402_SECRETS is not set. It protects
 * nothing: such a server takes no payment, so a forged quote gains nothing. It is a constant, so
 * that every process accepts the quotes of the others.
 */
const secretWithoutFacilitator = 'no payment is taken, so this need not be secret'

/**
 * Returns null if callers without a key are not challenged (decision D21). Adds conflicts between
 * settings to `problems`.
 */
function x402SettingsOf(values: X402Values, problems: string[]): X402Settings | null {
  const { metering, facilitator, payTo, secrets, rpcUrl } = values
  const isTaking = facilitator !== 'none'
  const [secret = isTaking ? undefined : secretWithoutFacilitator, ...former] = secrets ?? []
  const chosen = { none: noneOf, remote: remoteOf, local: localOf }[facilitator](values)
  if (isTaking && !metering)
    problems.push('METERING=off takes no payment: set X402_FACILITATOR=none as well')
  if (isTaking && payTo === undefined)
    problems.push(`X402_PAY_TO must be set if X402_FACILITATOR is ${facilitator}`)
  if (secret === undefined)
    problems.push(`X402_SECRETS must be set if X402_FACILITATOR is ${facilitator}`)
  if (typeof chosen === 'string') problems.push(chosen)
  if (facilitator !== 'local' && values.relayerKeyFile !== undefined)
    problems.push('X402_RELAYER_KEY_FILE is for X402_FACILITATOR=local alone')
  if (facilitator !== 'remote' && values.facilitatorUrl !== undefined)
    problems.push('X402_FACILITATOR_URL is for X402_FACILITATOR=remote alone')
  if (!metering || payTo === undefined || secret === undefined || typeof chosen === 'string')
    return null
  const { network, amounts, maxTimeoutSeconds, headerVersion } = values
  const common = { network, payTo, amounts, maxTimeoutSeconds, headerVersion }
  return { ...common, secrets: [secret, ...former], facilitator: chosen }

  function noneOf() {
    return { kind: 'none', rpcUrl: rpcUrl ?? null } as const
  }
  function remoteOf({ facilitatorUrl: url, facilitatorAuthorization }: X402Values) {
    if (url === undefined) return 'X402_FACILITATOR_URL must be set if the facilitator is remote'
    const authorization = facilitatorAuthorization ?? null
    return { kind: 'remote', url, authorization, rpcUrl: rpcUrl ?? null } as const
  }
  function localOf({ relayerKeyFile }: X402Values) {
    if (rpcUrl === undefined || relayerKeyFile === undefined)
      return 'X402_RPC_URL and X402_RELAYER_KEY_FILE must be set if the facilitator is local'
    return { kind: 'local', rpcUrl, relayerKeyFile } as const
  }
}

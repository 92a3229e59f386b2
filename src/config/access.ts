/** Settings: API keys, what their calls cost, and how many there may be. */
import { meters, type Prices } from '../credits/meters.ts'
import { type Keyring, parseKeyring } from '../platform/crypto/keyring.ts'
import type { MeterName } from '../platform/http/callers.ts'
import {
  integer,
  oneOf,
  type Reading,
  readerOf,
  type Setting,
  type SettingTable,
  setting,
} from './setting.ts'

export const accessSettings = {
  API_KEY_PEPPERS: setting({
    default: 'the file api-key-peppers in the data directory',
    unit: 'kid:key pairs, comma-separated; each key 32 bytes in base64',
    effect:
      'What API keys are digested with; never in the database. The first is for new keys, all are for checking: take one away when no key rests on it any more. The first key that is made makes the file. Every process needs the same; back it up, or all keys must be replaced.',
    confidential: true,
    parse: parseKeyring,
  }),
  METERING: setting({
    default: 'on',
    unit: 'on or off',
    effect:
      'off: reads with an API key are free, and a caller without a key gets 401. on: a caller without a key gets 402 with a payment challenge if X402_PAY_TO is set, otherwise 401.',
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
  KEY_NOT_FOUND_PER_MINUTE: setting({
    default: '60',
    unit: 'answers a minute',
    effect:
      'How often one API key, or who pays on the spot, may be answered that there is no such thing: it bounds guessing at ids. For the rest of the minute what finds nothing is answered with 429, and by the process that noticed all its calls are. A day has a hundred times as many.',
    parse: integer(1, 60_000),
  }),
  FAILED_KEYS_PER_MINUTE: setting({
    default: '30',
    unit: 'calls a minute',
    effect:
      'With API keys that are not valid, from one address. One more is answered with 429 in place of 401; a valid key is served whatever its address. A day has a hundred times as many.',
    parse: integer(1, 60_000),
  }),
} as const satisfies SettingTable

interface CallLimits {
  perMinute: number
  perDay: number
}

export interface AccessConfig {
  /** Undefined: those of the file. */
  apiKeyPeppers: Keyring | undefined
  metering: boolean
  prices: Prices
  /** Of one API key to one route. */
  keyLimits: CallLimits
  missLimits: CallLimits
  failedKeyLimits: CallLimits
}

export function readAccess(reading: Reading): AccessConfig {
  const { read, readOr } = readerOf(accessSettings, reading)
  return {
    apiKeyPeppers: read('API_KEY_PEPPERS'),
    metering: readOr('METERING'),
    prices: {
      score_lookup: readOr('CREDITS_PER_SCORE_LOOKUP'),
      candidate_lookup: readOr('CREDITS_PER_CANDIDATE_LOOKUP'),
      candidate_search: readOr('CREDITS_PER_CANDIDATE_SEARCH'),
    },
    keyLimits: { perMinute: readOr('KEY_CALLS_PER_MINUTE'), perDay: readOr('KEY_CALLS_PER_DAY') },
    missLimits: forTheWholeDay(readOr('KEY_NOT_FOUND_PER_MINUTE')),
    failedKeyLimits: forTheWholeDay(readOr('FAILED_KEYS_PER_MINUTE')),
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

/** A limit a minute that may be used for an hour or two of each day. */
function forTheWholeDay(perMinute: number): CallLimits {
  return { perMinute, perDay: perMinute * 100 }
}

/** Settings of API keys: peppers, prices and limits. */
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
      'Secrets that API keys are digested with. They are never in the database. The first pepper digests new keys, and all peppers check keys: remove one only when no key uses it. If there is none, the first new key creates the file. Every process needs the same peppers. Back them up: if they are lost, all keys must be replaced.',
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
    effect: 'Calls of one API key to one route. Further calls get 429.',
    parse: integer(1, 60_000),
  }),
  KEY_CALLS_PER_DAY: setting({
    default: '100000',
    unit: 'calls a day',
    effect: 'Calls of one API key to one route. Further calls get 429.',
    parse: integer(1, 100_000_000),
  }),
  KEY_NOT_FOUND_PER_MINUTE: setting({
    default: '60',
    unit: '404 answers a minute',
    effect:
      '404 answers to one API key or one x402 payer; it limits guessing of ids. Once they are used up, further misses get 429 for the rest of the minute, and the process that noticed answers all calls of the caller with 429. The limit of a day is a hundred times as high.',
    parse: integer(1, 60_000),
  }),
  FAILED_KEYS_PER_MINUTE: setting({
    default: '30',
    unit: 'calls a minute',
    effect:
      'Calls with invalid API keys from one address. Further ones get 429 instead of 401. Calls with a valid key are served from any address. The limit of a day is a hundred times as high.',
    parse: integer(1, 60_000),
  }),
} as const satisfies SettingTable

interface CallLimits {
  perMinute: number
  perDay: number
}

export interface AccessConfig {
  /** Undefined: read from the file in the data directory. */
  apiKeyPeppers: Keyring | undefined
  metering: boolean
  prices: Prices
  /** For each API key and route. */
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
    effect: `${meaning} 0: free. A change does not affect earlier charges.`,
    parse: integer(0, 1_000_000),
  }
}

/** Allows a hundred minutes of the full rate a day. */
function forTheWholeDay(perMinute: number): CallLimits {
  return { perMinute, perDay: perMinute * 100 }
}

/** Settings of API keys: prices and limits. */
import { meters } from '../billing/credits/meters.ts'
import type { MeterName } from '../edge/http/callers.ts'
import type { RateLimits } from '../edge/http/contract.ts'
import {
  integer,
  oneOf,
  type Reading,
  readerOf,
  type Setting,
  type SettingTable,
} from './setting.ts'

export const accessSettings = {
  METERING: {
    default: 'on',
    unit: 'on or off',
    effect: 'With off, reads with an API key are free and a caller without a key gets 401.',
    parse: (text) => oneOf('on', 'off')(text) === 'on',
  },
  CREDITS_PER_SCORE_LOOKUP: creditPrice('score_lookup'),
  CREDITS_PER_CANDIDATE_LOOKUP: creditPrice('candidate_lookup'),
  CREDITS_PER_CANDIDATE_SEARCH: creditPrice('candidate_search'),
  KEY_CALLS_PER_MINUTE: {
    default: '600',
    unit: 'calls a minute',
    effect: 'Calls of one API key to one route; further calls get 429.',
    parse: integer(1, 1_000_000),
  },
  KEY_CALLS_PER_DAY: {
    default: '100000',
    unit: 'calls a day',
    effect: 'Calls of one API key to one route; further calls get 429.',
    parse: integer(1, 100_000_000),
  },
  KEY_NOT_FOUND_PER_MINUTE: {
    default: '60',
    unit: '404 answers a minute',
    effect:
      '404 answers to one API key or one payer, so that ids cannot be guessed; a day has a hundred times as many.',
    parse: integer(1, 60_000),
  },
  FAILED_KEYS_PER_MINUTE: {
    default: '30',
    unit: 'calls a minute',
    effect:
      'Calls with invalid API keys from one address; further ones get 429 instead of 401, valid keys are still served.',
    parse: integer(1, 60_000),
  },
} as const satisfies SettingTable

export function readAccess(reading: Reading) {
  const { readOr } = readerOf(accessSettings, reading)
  return {
    metering: readOr('METERING'),
    prices: {
      score_lookup: readOr('CREDITS_PER_SCORE_LOOKUP'),
      candidate_lookup: readOr('CREDITS_PER_CANDIDATE_LOOKUP'),
      candidate_search: readOr('CREDITS_PER_CANDIDATE_SEARCH'),
    },
    keyLimits: { perMinute: readOr('KEY_CALLS_PER_MINUTE'), perDay: readOr('KEY_CALLS_PER_DAY') },
    notFoundLimits: forTheWholeDay(readOr('KEY_NOT_FOUND_PER_MINUTE')),
    failedKeyLimits: forTheWholeDay(readOr('FAILED_KEYS_PER_MINUTE')),
  }
}

function creditPrice(meter: MeterName): Setting<number> {
  const { meaning, defaultPrice } = meters[meter]
  return {
    default: String(defaultPrice),
    unit: 'credits',
    effect: meaning,
    parse: integer(0, 1_000_000),
  }
}

/** Allows a hundred minutes of the full rate a day. */
function forTheWholeDay(perMinute: number): RateLimits {
  return { perMinute, perDay: perMinute * 100 }
}

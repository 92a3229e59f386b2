/** Finds settings that are meant only for development. Pure. */
import { isWithin, parseAddress } from '../platform/networks.ts'
import type { Config } from './config.ts'

interface DevelopmentSetting {
  /** The setting in the words of the operator's file. */
  setting: string
  isUsed(config: Config): boolean
  consequence: string
}

const loopback = ['127.0.0.1', '::1'].map(parseAddress).filter((address) => address !== null)

const developmentSettings: readonly DevelopmentSetting[] = [
  {
    setting: 'PUBLIC_URL with http',
    isUsed: ({ publicUrl }) => publicUrl.startsWith('http://'),
    consequence:
      'did:web requires https, so no other verifier finds your keys, and the session cookie lacks Secure',
  },
  {
    setting: 'LOG_LEVEL=debug',
    isUsed: ({ logLevel }) => logLevel === 'debug',
    consequence: 'the log holds stack traces',
  },
  {
    setting: 'WEBHOOK_ALLOW_HTTP=true',
    isUsed: ({ webhooks }) => webhooks.rules.allowHttp,
    consequence: 'webhooks to http URLs are sent unencrypted',
  },
  {
    setting: 'WEBHOOK_PORTS=any',
    isUsed: ({ webhooks }) => webhooks.rules.ports === 'any',
    consequence: 'endpoints may name the port of any service',
  },
  {
    setting: 'WEBHOOK_ALLOW_CIDRS with loopback',
    isUsed: ({ webhooks }) => loopback.some((address) => isWithin(address, webhooks.rules.allow)),
    consequence: 'endpoints reach services of this machine',
  },
  {
    setting: 'X402_NETWORK=base-sepolia',
    isUsed: ({ x402 }) => x402?.network === 'base-sepolia',
    consequence: 'payments are made in coins of a test network, which are worth nothing',
  },
]

/** Returns a sentence for each setting that is meant only for development. */
export function developmentWarnings(config: Config): string[] {
  return developmentSettings
    .filter(({ isUsed }) => isUsed(config))
    .map(({ setting, consequence }) => `${setting} is for development: ${consequence}.`)
}

/** Settings: where webhooks may go, how they leave, and what seals their secrets. */

import { type Keyring, parseKeyring } from '../platform/crypto/keyring.ts'
import { type EgressRules, strangerRules } from '../platform/egress/rules.ts'
import { parseRetryWaits } from '../webhooks/delivery/retry.ts'
import {
  flag,
  httpUrl,
  integer,
  list,
  networks,
  path,
  type Reading,
  readerOf,
  type SettingTable,
  setting,
} from './setting.ts'

export const webhooksSettings = {
  SECRETS_KEYRING: setting({
    default: 'with the embedded database a file in the data directory',
    unit: 'kid:key pairs, comma-separated; each key 32 bytes in base64',
    effect:
      'Seals the signing secrets of webhooks: the first key seals, all open. Every process that shares the database needs the same ones. To replace a key put a new one first, restart everything, run `assay webhooks rewrap`, then take the old one out. Without any, no webhook endpoint can be created. A key that is lost takes the secrets with it: keep it apart from the backups of the database.',
    confidential: true,
    parse: parseKeyring,
  }),
  WEBHOOK_ENDPOINTS_MAX: setting({
    default: '20',
    unit: 'endpoints an account',
    effect: 'Active webhook endpoints; the creation of one more is answered with 409.',
    parse: integer(1, 1_000),
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
    effect:
      'For development. true: endpoints that you create with `assay webhooks create` may have http URLs, readable on the way. The API refuses them.',
    parse: flag,
  }),
  WEBHOOK_PROXY_URL: setting({
    default: 'none',
    unit: 'http or https URL',
    effect:
      'A CONNECT proxy that webhooks leave through. It then resolves names and says which addresses may be reached.',
    confidential: true,
    parse: httpUrl,
  }),
  WEBHOOK_CA_FILE: setting({
    default: 'none',
    unit: 'PEM file',
    effect: 'Certificates that receivers may show beside those this machine trusts.',
    parse: path,
  }),
  WEBHOOK_RETRY_SCHEDULE: setting({
    default: '5,300,1800,7200,18000,36000,50400,72000,86400',
    unit: 'seconds, comma-separated',
    effect:
      'Waits before the second attempt and those after it, each a fifth shorter or longer by chance. After the last one a delivery is given up.',
    parse: parseRetryWaits,
  }),
} as const satisfies SettingTable

export interface WebhooksConfig {
  /** Undefined: from the file in the data directory, where there is one. */
  secretsKeyring: Keyring | undefined
  webhookEndpointsMax: number
  webhooks: {
    /** What a URL of an endpoint may be, and which addresses are dialled. */
    rules: EgressRules
    proxyUrl: string | undefined
    caFile: string | undefined
    retryWaitsSeconds: readonly number[]
  }
}

export function readWebhooks(reading: Reading): WebhooksConfig {
  const { read, readOr } = readerOf(webhooksSettings, reading)
  return {
    secretsKeyring: read('SECRETS_KEYRING'),
    webhookEndpointsMax: readOr('WEBHOOK_ENDPOINTS_MAX'),
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
  }
}

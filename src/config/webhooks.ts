/**
 * Settings of webhooks: allowed destinations, the outgoing connection, and the keys that encrypt
 * secrets.
 */
import { parseKeyring } from '../platform/crypto/keyring.ts'
import { strangerRules } from '../platform/egress/rules.ts'
import { parseRetryWaits, retryWaitsSeconds } from '../webhooks/delivery/retry.ts'
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
} from './setting.ts'

export const webhooksSettings = {
  SECRETS_KEYRING: {
    default: 'with the embedded database a file in the data directory',
    unit: 'kid:key pairs, comma-separated; each key 32 bytes in base64',
    effect:
      'Keys that encrypt the signing secrets of webhooks: the first one encrypts, all of them decrypt.',
    confidential: true,
    parse: parseKeyring,
  },
  WEBHOOK_ENDPOINTS_MAX: {
    default: '20',
    unit: 'endpoints an account',
    effect: 'Active webhook endpoints; the creation of a further one gets 409.',
    parse: integer(1, 1_000),
  },
  WEBHOOK_PORTS: {
    default: '443',
    unit: 'TCP ports, comma-separated, or any',
    effect: 'Ports that the URL of a webhook endpoint may name.',
    parse: (text) => (text === 'any' ? 'any' : list(text).map(integer(1, 65_535))),
  },
  WEBHOOK_ALLOW_CIDRS: {
    default: '',
    unit: 'addresses or CIDR networks, comma-separated',
    effect:
      'Your own networks that webhooks may be sent to, also by names of `/etc/hosts`; otherwise only public addresses are called.',
    parse: networks,
  },
  WEBHOOK_DENY_CIDRS: {
    default: '',
    unit: 'addresses or CIDR networks, comma-separated',
    effect: 'Networks that webhooks are never sent to, such as your own public addresses.',
    parse: networks,
  },
  WEBHOOK_ALLOW_HTTP: {
    default: 'false',
    unit: 'true or false',
    effect:
      'For development: with true, `assay webhooks create` takes http URLs, which are sent unencrypted.',
    parse: flag,
  },
  WEBHOOK_PROXY_URL: {
    default: 'none',
    unit: 'http or https URL',
    effect:
      'A CONNECT proxy for webhooks, which then resolves names and decides which addresses may be reached.',
    confidential: true,
    parse: httpUrl,
  },
  WEBHOOK_CA_FILE: {
    default: 'none',
    unit: 'PEM file',
    effect: 'Certificate authorities to trust for receivers, in addition to those of this machine.',
    parse: path,
  },
  WEBHOOK_RETRY_SCHEDULE: {
    default: retryWaitsSeconds.join(','),
    unit: 'seconds, comma-separated',
    effect:
      'Waits before the second and further attempts, each varied by up to a fifth; then the delivery is given up.',
    parse: parseRetryWaits,
  },
} as const satisfies SettingTable

export function readWebhooks(reading: Reading) {
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

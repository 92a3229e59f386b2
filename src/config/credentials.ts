/** Settings: who signs credentials, and for how long they count. */
import { join } from 'node:path'
import {
  flag,
  integer,
  path,
  type Reading,
  readerOf,
  type SettingTable,
  setting,
} from './setting.ts'

export const credentialsSettings = {
  SIGNING_KEYS_DIR: setting({
    default: 'keys in the data directory',
    unit: 'folder',
    effect:
      'PEM files of the private signing keys, one a key. Every process that issues or publishes lists needs it; a server that only verifies does not. A key that is not sound stops the start.',
    parse: path,
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
    parse: flag,
  }),
} as const satisfies SettingTable

export interface CredentialsConfig {
  signingKeysDir: string
  credentialValidityDays: number
  supersedeRevokes: boolean
}

export function readCredentials(
  reading: Reading,
  { dataDir }: { dataDir: string },
): CredentialsConfig {
  const { read, readOr } = readerOf(credentialsSettings, reading)
  return {
    signingKeysDir: read('SIGNING_KEYS_DIR') ?? join(dataDir, 'keys'),
    credentialValidityDays: readOr('CREDENTIAL_VALIDITY_DAYS'),
    supersedeRevokes: readOr('SUPERSEDE_REVOKES'),
  }
}

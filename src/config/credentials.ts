/** Settings of credentials: signing keys and validity. */
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
      'PEM files of the private signing keys, one key a file. Every process that issues credentials or publishes status lists needs them; a server that only verifies does not. A damaged key stops the start.',
    parse: path,
  }),
  CREDENTIAL_VALIDITY_DAYS: setting({
    default: '365',
    unit: 'days',
    effect:
      'How long a credential is valid after it is issued. A change does not affect issued credentials.',
    parse: integer(1, 3_650),
  }),
  SUPERSEDE_REVOKES: setting({
    default: 'false',
    unit: 'true or false',
    effect:
      'true: a new credential of a worker revokes the older one. false: the older one stays valid for its date, and verification reports that it is superseded.',
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

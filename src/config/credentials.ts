/** Settings of credentials: signing keys and validity. */
import { join } from 'node:path'
import { flag, integer, path, type Reading, readerOf, type SettingTable } from './setting.ts'

export const credentialsSettings = {
  SIGNING_KEYS_DIR: {
    default: 'keys in the data directory',
    unit: 'folder',
    effect: 'PEM files of the private signing keys; a process that only verifies needs none.',
    parse: path,
  },
  CREDENTIAL_VALIDITY_DAYS: {
    default: '365',
    unit: 'days',
    effect: 'How long a new credential is valid; issued credentials keep their dates.',
    parse: integer(1, 3_650),
  },
  SUPERSEDE_REVOKES: {
    default: 'false',
    unit: 'true or false',
    effect:
      'With true, a new credential of a worker revokes the older one, which otherwise stays valid for its date.',
    parse: flag,
  },
} as const satisfies SettingTable

export function readCredentials(reading: Reading, { dataDir }: { dataDir: string }) {
  const { read, readOr } = readerOf(credentialsSettings, reading)
  return {
    signingKeysDir: read('SIGNING_KEYS_DIR') ?? join(dataDir, 'keys'),
    credentialValidityDays: readOr('CREDENTIAL_VALIDITY_DAYS'),
    supersedeRevokes: readOr('SUPERSEDE_REVOKES'),
  }
}

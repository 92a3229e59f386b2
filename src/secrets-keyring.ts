/** The ring that seals webhook secrets: from the settings, else, where the database is the embedded one, from a file beside it. */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { type Keyring, keyringFile } from './platform/keyring.ts'

/**
 * Null where there is none. A database that other machines may share gets no key that only this one has; a file that is there is used,
 * for a serving child does not know that its database is the embedded one.
 */
export async function openSecretsKeyring({
  secretsKeyring,
  databaseUrl,
  dataDir,
}: Pick<Config, 'secretsKeyring' | 'databaseUrl' | 'dataDir'>): Promise<Keyring | null> {
  if (secretsKeyring !== undefined) return secretsKeyring
  const file = join(dataDir, 'webhook-secrets.keys')
  return databaseUrl === undefined || (await isThere(file)) ? keyringFile(file) : null
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

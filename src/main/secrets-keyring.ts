/** Reads the keyring that encrypts webhook secrets, from the settings or the data directory. */
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { type Keyring, keyringFile, readKeyringFile } from '../platform/crypto/keyring.ts'

type KeyringConfig = Pick<Config, 'secretsKeyring' | 'databaseUrl' | 'dataDir'>

/**
 * Returns the keyring, or null. Creates a keyring file only with the embedded database: other
 * machines that share a database would lack the key. Always uses an existing file, because a
 * serving child gets the embedded database as a plain URL.
 */
export async function openSecretsKeyring(config: KeyringConfig): Promise<Keyring | null> {
  const ring = await readSecretsKeyring(config)
  return ring === null && config.databaseUrl === undefined ? keyringFile(fileIn(config)) : ring
}

/** Returns null if neither the settings nor the file hold a keyring. */
export async function readSecretsKeyring(config: KeyringConfig): Promise<Keyring | null> {
  return config.secretsKeyring ?? readKeyringFile(fileIn(config))
}

function fileIn({ dataDir }: KeyringConfig): string {
  return join(dataDir, 'webhook-secrets.keys')
}

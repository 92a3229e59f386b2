/** The ring that seals webhook secrets: from the settings, else, where the database is the embedded one, from a file beside it. */
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { type Keyring, keyringFile, readKeyringFile } from '../platform/crypto/keyring.ts'

type Place = Pick<Config, 'secretsKeyring' | 'databaseUrl' | 'dataDir'>

/**
 * Null where there is none. A database that other machines may share gets no key that only this one has; a file that is there is used,
 * for a serving child does not know that its database is the embedded one.
 */
export async function openSecretsKeyring(place: Place): Promise<Keyring | null> {
  const here = await secretsKeyringHere(place)
  return here === null && place.databaseUrl === undefined ? keyringFile(fileIn(place)) : here
}

/** Null: neither settings nor file hold one yet. */
export async function secretsKeyringHere(place: Place): Promise<Keyring | null> {
  return place.secretsKeyring ?? readKeyringFile(fileIn(place))
}

function fileIn({ dataDir }: Place): string {
  return join(dataDir, 'webhook-secrets.keys')
}

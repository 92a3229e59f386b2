/** The peppers of API keys: of the settings, else of a file. */
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { type Keyring, keyringFile, readKeyringFile } from '../platform/crypto/keyring.ts'

type PepperSettings = Pick<Config, 'apiKeyPeppers' | 'dataDir'>

/** Where the peppers of API keys are unless the settings hold them. */
function pepperFile(dataDir: string): string {
  return join(dataDir, 'api-key-peppers')
}

/** Null: neither settings nor file hold any yet. */
export async function peppersHere({
  apiKeyPeppers,
  dataDir,
}: PepperSettings): Promise<Keyring | null> {
  return apiKeyPeppers ?? readKeyringFile(pepperFile(dataDir))
}

/** Those of the settings, else of the file, which the first key of all makes. */
export function peppersMade({ apiKeyPeppers, dataDir }: PepperSettings): Promise<Keyring> {
  return apiKeyPeppers === undefined
    ? keyringFile(pepperFile(dataDir))
    : Promise.resolve(apiKeyPeppers)
}

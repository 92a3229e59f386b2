/** Reads the peppers of API keys from the settings, or else from a file in the data directory. */
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { type Keyring, keyringFile, readKeyringFile } from '../platform/crypto/keyring.ts'

type PepperSettings = Pick<Config, 'apiKeyPeppers' | 'dataDir'>

function pepperFile(dataDir: string): string {
  return join(dataDir, 'api-key-peppers')
}

/** Returns null if neither the settings nor the file hold peppers. */
export async function readPeppers({
  apiKeyPeppers,
  dataDir,
}: PepperSettings): Promise<Keyring | null> {
  return apiKeyPeppers ?? readKeyringFile(pepperFile(dataDir))
}

/** Creates the file if neither the settings nor the file hold peppers. */
export function readOrCreatePeppers({ apiKeyPeppers, dataDir }: PepperSettings): Promise<Keyring> {
  return apiKeyPeppers === undefined
    ? keyringFile(pepperFile(dataDir))
    : Promise.resolve(apiKeyPeppers)
}

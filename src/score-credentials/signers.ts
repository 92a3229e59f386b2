/**
 * The private keys that this process can sign with. For an unknown kid the folder is read again, so
 * a key that is created while the process runs is found.
 */
import { readSigners } from './key-files.ts'
import type { Signer } from './signing-key.ts'

export interface Signers {
  /**
   * Returns the signer of a key, or undefined if its file is not on this machine. Throws
   * `KeyRefused` if a file in the folder is not a sound key.
   */
  of(kid: string): Promise<Signer | undefined>
}

/** Reads the folder. Throws `KeyRefused` if a file is not a sound key. */
export async function openSigners(folder: string): Promise<Signers> {
  let signers = await readSigners(folder)
  return {
    async of(kid) {
      if (!signers.has(kid)) signers = await readSigners(folder)
      return signers.get(kid)
    },
  }
}

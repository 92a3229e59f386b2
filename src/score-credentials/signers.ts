/**
 * The private keys a process can sign with. A key made while the process runs is found when it becomes active: the folder is read again
 * for a kid that is not known yet.
 */
import { readSigners } from './key-files.ts'
import type { Signer } from './signing-key.ts'

export interface Signers {
  /** The signer of a key, or undefined where its file is not on this machine. Throws `KeyRefused` for a file that is not sound. */
  of(kid: string): Promise<Signer | undefined>
}

/** Reads the folder. Throws `KeyRefused` for a file that is not sound. */
export async function openSigners(folder: string): Promise<Signers> {
  let signers = await readSigners(folder)
  return {
    async of(kid) {
      if (!signers.has(kid)) signers = await readSigners(folder)
      return signers.get(kid)
    },
  }
}

/** Converts credentials to the proof form that the operator asks for. */
import {
  type Credential,
  convertProof,
  type ProofConversion,
} from '../credentials/convert-proof.ts'
import type { ProofForm } from '../credentials/proof.ts'
import { failure } from './fail.ts'

/** Calls `convertProof`. Throws `Failure` if the private key that signed is not on this machine. */
export async function convertProofOrFail(
  credential: Credential,
  form: ProofForm,
  conversion: ProofConversion,
): Promise<Credential> {
  const made = await convertProof(credential, form, conversion)
  if ('credential' in made) return made.credential
  throw failure(
    `${String(credential.id)} was signed by ${made.cannotSignAs}, and its private key is not on this machine. Use --proof native.`,
  )
}

/** The flag `--proof` of every command that gives out credentials. */
import {
  type Credential,
  convertProof,
  type ProofConversion,
} from '../score-credentials/convert-proof.ts'
import { type ProofForm, proofForms } from '../score-credentials/proof.ts'
import { failure, usageError } from './fail.ts'

export function proofFormOf(text: string): ProofForm {
  const form = proofForms.find((candidate) => candidate === text)
  if (form === undefined) throw usageError(`--proof must be one of ${proofForms.join(', ')}`)
  return form
}

/** Calls `convertProof`. Throws `Failure` if the private key that signed is not on this machine. */
export async function convertProofOrFail(
  credential: Credential,
  form: ProofForm,
  forming: ProofConversion,
): Promise<Credential> {
  const made = await convertProof(credential, form, forming)
  if ('credential' in made) return made.credential
  throw failure(
    `${String(credential.id)} was signed by ${made.cannotSignAs}, whose private key is not here: ask for --proof native.`,
  )
}

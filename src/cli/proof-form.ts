/** The flag `--proof` of every command that gives out credentials. */
import { type Credential, type Forming, inForm } from '../score-credentials/in-form.ts'
import { type ProofForm, proofForms } from '../score-credentials/proof.ts'
import { CommandError, UsageError } from './run.ts'

export function proofFormOf(text: string): ProofForm {
  const form = proofForms.find((candidate) => candidate === text)
  if (form === undefined) throw new UsageError(`--proof must be one of ${proofForms.join(', ')}`)
  return form
}

/** As `inForm`. Throws `CommandError` where the key that signed is not on this machine. */
export async function inFormGiven(
  credential: Credential,
  form: ProofForm,
  forming: Forming,
): Promise<Credential> {
  const made = await inForm(credential, form, forming)
  if ('credential' in made) return made.credential
  throw new CommandError(
    `${String(credential.id)} was signed by ${made.cannotSignAs}, whose private key is not here: ask for --proof native.`,
  )
}

/** A credential of ours in another form of proof: the same payload, and so the same digest and status. */
import { originOf } from '../score-credentials/payload.ts'
import { makeProof, type ProofForm, proofForms } from '../score-credentials/proof.ts'
import type { Signers } from '../score-credentials/signers.ts'
import { vcSha256Of } from '../score-credentials/trust.ts'
import type { Credential } from './issue-batch.ts'
import { CommandError, UsageError } from './run.ts'

export function proofFormOf(text: string): ProofForm {
  const form = proofForms.find((candidate) => candidate === text)
  if (form === undefined) throw new UsageError(`--proof must be one of ${proofForms.join(', ')}`)
  return form
}

/** Signed by the key that signed it before. Throws `CommandError` where its file is not on this machine. */
export async function inForm(
  credential: Credential,
  form: ProofForm,
  { publicUrl, signers }: { publicUrl: string; signers: Signers },
): Promise<Credential> {
  if (form === 'native') return credential
  const { proof, ...payload } = credential
  const { created, verificationMethod } = proof as { created: string; verificationMethod: string }
  const kid = verificationMethod.slice(verificationMethod.indexOf('#') + 1)
  const signer = await signers.of(kid)
  if (signer === undefined)
    throw new CommandError(
      `${String(credential.id)} was signed by ${kid}, whose private key is not here: ask for --proof native.`,
    )
  const signed = {
    document: payload,
    shape: originOf(publicUrl).shape,
    jcsSha256: vcSha256Of(payload),
  }
  return { ...payload, proof: makeProof(signed, { form, created, verificationMethod }, signer) }
}

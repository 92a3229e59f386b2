/** A credential of ours in another form of proof: the same payload, and so the same digest and status. */
import type { Origin } from './payload.ts'
import { makeProof, type ProofForm } from './proof.ts'
import type { Signers } from './signers.ts'
import { vcSha256Of } from './trust.ts'

export type Credential = Record<string, unknown>

export type ConvertedCredential = { credential: Credential } | { cannotSignAs: string }

export interface ProofConversion {
  /** Of this deployment, now and before. */
  origins: readonly Pick<Origin, 'issuer' | 'shape'>[]
  signers: Signers
}

/**
 * Takes a credential with its native proof, and signs with the key that signed it before. Gives that key's kid where its file is not on
 * this machine or the issuer is none of `origins`. Throws `KeyRefused` for a file that is not sound.
 */
export async function convertProof(
  credential: Credential,
  form: ProofForm,
  { origins, signers }: ProofConversion,
): Promise<ConvertedCredential> {
  if (form === 'native') return { credential }
  const { proof, ...payload } = credential
  const { created, verificationMethod } = proof as { created: string; verificationMethod: string }
  const kid = verificationMethod.slice(verificationMethod.indexOf('#') + 1)
  const origin = origins.find(({ issuer }) => issuer === credential.issuer)
  const signer = await signers.of(kid)
  if (origin === undefined || signer === undefined) return { cannotSignAs: kid }
  const signed = { document: payload, shape: origin.shape, jcsSha256: vcSha256Of(payload) }
  return {
    credential: {
      ...payload,
      proof: makeProof(signed, { form, created, verificationMethod }, signer),
    },
  }
}

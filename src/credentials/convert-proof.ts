/**
 * Converts a credential of this deployment to another form of proof. Payload, digest and status
 * stay the same.
 */
import type { Origin } from './payload.ts'
import { makeProof, type ProofForm } from './proof.ts'
import type { Signers } from './signers.ts'
import { vcSha256Of } from './trust.ts'

export type Credential = Record<string, unknown>

export type ConvertedCredential = { credential: Credential } | { cannotSignAs: string }

export interface ProofConversion {
  /** The present and former origins of this deployment. */
  origins: readonly Pick<Origin, 'issuer' | 'shape'>[]
  signers: Signers
}

/**
 * Returns the credential with a proof of the given form, signed with the key that signed it before.
 * `credential` must carry its native proof. Returns that key's kid in `cannotSignAs` if its file is
 * not on this machine, or if the issuer is none of `origins`. Throws `KeyRefused` for a key file
 * that is not sound.
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

/**
 * The private keys that this process can sign with. For an unknown kid the folder is read again, so
 * a key that is created while the process runs is found.
 */
import type { Queryable } from '../platform/db/db.ts'
import { readSigners } from './key-files.ts'
import { findKeys } from './key-store.ts'
import type { Origin } from './payload.ts'
import { makeProof, type ProofForm } from './proof.ts'
import type { Signer } from './signing-key.ts'
import { vcSha256Of } from './trust.ts'

export interface Signers {
  /**
   * Returns the signer of a key, or undefined if its file is not on this machine. Throws
   * `KeyRefused` if a file in the folder is not a sound key.
   */
  of(kid: string): Promise<Signer | undefined>
}

/** The signers of the key files in a folder. */
export interface KeyFolder extends Signers {
  readonly folder: string
}

/** Reads the folder. Throws `KeyRefused` if a file is not a sound key. */
export async function openSigners(folder: string): Promise<KeyFolder> {
  let signers = await readSigners(folder)
  return {
    folder,
    async of(kid) {
      if (!signers.has(kid)) signers = await readSigners(folder)
      return signers.get(kid)
    },
  }
}

/** Thrown with the next step for the operator if this process cannot sign with the active key. */
export class SignerMissing extends Error {
  override readonly name = 'SignerMissing'
}

/** Returns the signer of the active key. Throws `SignerMissing` if this process has none. */
export async function activeSigner(db: Queryable, signers: KeyFolder): Promise<Signer> {
  const active = (await findKeys(db)).find((key) => key.state === 'active')
  if (active === undefined)
    throw new SignerMissing(
      'No signing key is active. Run `assay keys create`, or `assay keys rotate` if one is pending.',
    )
  const signer = await signers.of(active.kid)
  if (signer === undefined)
    throw new SignerMissing(
      `The private key of the active key ${active.kid} is not in ${signers.folder}. Run the command where it is, or set SIGNING_KEYS_DIR.`,
    )
  return signer
}

export type Credential = Record<string, unknown>

type ConvertedCredential = { credential: Credential } | { cannotSignAs: string }

export interface ProofConversion {
  /** The present and former origins of this deployment. */
  origins: readonly Pick<Origin, 'issuer' | 'shape'>[]
  signers: Signers
}

/**
 * Returns the credential with a proof of the given form, signed with the key that signed it before.
 * Payload, digest and status stay the same.
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

/** The native and the `eddsa-jcs-2022` proof: Ed25519 over SHA-256(options) ‖ SHA-256(document). */
import { type Bytes, base58Decode, joined, sha256, utf8 } from './bytes.ts'
import { canonicalJson } from './canonical-json.ts'
import type { IssuerKey } from './keys.ts'

type Json = Record<string, unknown>

/** The operator's word on the wire. */
const brand = 'Service'
export const credentialType = `${brand}ScoreCredential`
const nativeProofType = `${brand}ScoreEd25519Signature2026`

export interface ReadProof {
  form: 'native' | 'eddsa-jcs-2022' | 'eddsa-rdfc-2022'
  type: string
  created: string
  verificationMethod: string
  /** Null if `proofValue` is not the one base58btc text of 64 bytes. */
  signature: Bytes | null
  /** Canonical JSON of the proof without `proofValue`. */
  canonicalOptions: string
}

/**
 * Reads a proof, or returns why it is not supported. Every member must be known and have the value
 * that its form requires. `nativeContext` is that of a status list, whose own context is the W3C's.
 */
export function readProof(
  proof: unknown,
  document: Json,
  nativeContext?: string,
): ReadProof | { unsupported: string } {
  if (Array.isArray(proof)) return { unsupported: 'Send one proof object, not a list of proofs.' }
  if (typeof proof !== 'object' || proof === null) return { unsupported: 'proof is not an object.' }
  const { proofValue, ...options } = proof as Json
  const { type, cryptosuite, created, verificationMethod, proofPurpose } = options
  const form = formOf(type, cryptosuite)
  if (form === null) return { unsupported: 'The proof type or cryptosuite is not one we accept.' }
  if (proofPurpose !== 'assertionMethod')
    return { unsupported: 'proofPurpose must be assertionMethod.' }
  if (
    typeof created !== 'string' ||
    typeof verificationMethod !== 'string' ||
    typeof proofValue !== 'string'
  )
    return { unsupported: 'created, verificationMethod and proofValue must be strings.' }
  const context = form === 'native' ? nativeContext : document['@context']
  const expected = {
    type,
    created,
    verificationMethod,
    proofPurpose,
    ...(form === 'native' ? {} : { cryptosuite }),
    ...(form === 'eddsa-rdfc-2022' || context === undefined ? {} : { '@context': context }),
  }
  const canonicalOptions = canonicalJson(options)
  if (canonicalOptions !== canonicalJson(expected))
    return { unsupported: 'The proof has members that its form does not have, or lacks some.' }
  const signature = signatureOf(proofValue)
  return { form, type: String(type), created, verificationMethod, signature, canonicalOptions }
}

function formOf(type: unknown, cryptosuite: unknown): ReadProof['form'] | null {
  if (type === nativeProofType) return cryptosuite === undefined ? 'native' : null
  if (type !== 'DataIntegrityProof') return null
  return cryptosuite === 'eddsa-jcs-2022' || cryptosuite === 'eddsa-rdfc-2022' ? cryptosuite : null
}

function signatureOf(proofValue: string): Bytes | null {
  if (!proofValue.startsWith('z') || proofValue.length > 89) return null
  const bytes = base58Decode(proofValue.slice(1))
  return bytes?.length === 64 ? bytes : null
}

const clockSkewMs = 300_000

/** Returns whether the proof names a time before its key was revoked, plus a tolerance. */
export function isBeforeRevocation(created: string, { revokedAt }: IssuerKey): boolean {
  const at = Date.parse(created)
  return at >= -clockSkewMs && (revokedAt === null || at <= revokedAt.getTime() + clockSkewMs)
}

export async function signatureHolds(
  { canonicalOptions, signature }: ReadProof,
  documentSha256: Bytes,
  { publicKey }: IssuerKey,
): Promise<boolean> {
  if (signature === null) return false
  const bytes = joined(await sha256(utf8(canonicalOptions)), documentSha256)
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify'])
  return crypto.subtle.verify('Ed25519', key, signature, bytes)
}

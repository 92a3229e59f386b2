/**
 * Pure: the three proof forms of one payload. Each signs SHA-256(options) ‖ SHA-256(payload), 64
 * bytes, with Ed25519. The forms differ in the canonical form of both parts and in the `type`
 * inside the options, so a signature of one form never passes as another.
 */
import { nativeProofType } from '../edge/http/identifiers.ts'
import { base58Decode, base58Encode, sha256 } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { canonicalNQuads, isIri, isPlainText, type NodeShape, proofOptionsNQuads } from './rdf.ts'
import type { Signer } from './signing-key.ts'

export const proofForms = ['native', 'eddsa-jcs-2022', 'eddsa-rdfc-2022'] as const
export type ProofForm = (typeof proofForms)[number]

export interface ProofOptions {
  form: ProofForm
  /** Time of signing, with the exact text of the proof. */
  created: string
  /** `<issuer>#<kid>`. */
  verificationMethod: string
  /**
   * The context that defines the terms of the native proof, for a document whose own context does
   * not. The W3C forms need none.
   */
  nativeContext?: string | undefined
}

/**
 * A document and the inputs of its two digests: canonical JSON, and canonical N-Quads by `shape`.
 */
export interface SignedDocument {
  document: Record<string, unknown>
  shape: NodeShape
  /** SHA-256 of the canonical JSON. For a credential this is vcSha256. */
  jcsSha256: Buffer
}

/**
 * Returns the 64 signed bytes, or null if the document has no canonical form for `options.form`.
 */
export function signedBytes(signed: SignedDocument, options: ProofOptions): Buffer | null {
  if (options.form !== 'eddsa-rdfc-2022') {
    const proof = proofMembers(options, signed.document['@context'])
    return Buffer.concat([sha256(canonicalJson(proof)), signed.jcsSha256])
  }
  const { created, verificationMethod } = options
  if (!isPlainText(created) || !isIri(verificationMethod)) return null
  const nquads = canonicalNQuads(signed.document, signed.shape)
  if (nquads === null) return null
  return Buffer.concat([sha256(proofOptionsNQuads(created, verificationMethod)), sha256(nquads)])
}

export interface Proof extends Record<string, unknown> {
  type: string
  created: string
  verificationMethod: string
  proofPurpose: 'assertionMethod'
  proofValue: string
}

/**
 * Returns the proof member of the document. Throws if the document has no canonical form; documents
 * of this deployment always have one.
 */
export function makeProof(signed: SignedDocument, options: ProofOptions, signer: Signer): Proof {
  const bytes = signedBytes(signed, options)
  if (bytes === null) throw new Error(`the document has no canonical form for ${options.form}`)
  const proofValue = `z${base58Encode(signer.sign(bytes))}`
  return { ...proofMembers(options, signed.document['@context']), proofValue } as Proof
}

/**
 * Returns the members of a proof without `proofValue`. An `eddsa-jcs-2022` proof repeats the
 * context of the document (W3C vc-di-eddsa, 3.3.5).
 */
function proofMembers(options: ProofOptions, context: unknown): Record<string, unknown> {
  const { form, created, verificationMethod, nativeContext } = options
  const shared = { created, verificationMethod, proofPurpose: 'assertionMethod' }
  if (form === 'native') {
    const members = { type: nativeProofType, ...shared }
    return nativeContext === undefined ? members : { '@context': nativeContext, ...members }
  }
  const members = { type: 'DataIntegrityProof', cryptosuite: form, ...shared }
  return form === 'eddsa-jcs-2022' ? { ...members, '@context': context } : members
}

export interface ReadProof extends ProofOptions {
  type: string
  /**
   * The 64 bytes of the signature, or null if `proofValue` is not the one base58btc text of 64
   * bytes.
   */
  signature: Uint8Array | null
}

/**
 * Reads a presented proof, or returns why it is not supported. Every member must be known and have
 * the value that its form requires. The presented text selects only the form.
 */
export function readProof(
  proof: unknown,
  document: Record<string, unknown>,
  nativeContext?: string,
): ReadProof | { unsupported: string } {
  if (Array.isArray(proof)) return { unsupported: 'Send one proof object, not a list of proofs.' }
  if (typeof proof !== 'object' || proof === null) return { unsupported: 'proof is not an object.' }
  const { type, cryptosuite, created, verificationMethod, proofPurpose, proofValue } =
    proof as Record<string, unknown>
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
  const options = { form, created, verificationMethod, nativeContext }
  const expected = proofMembers(options, document['@context'])
  const { proofValue: _, ...presented } = proof as Record<string, unknown>
  if (!sameMembers(presented, expected))
    return { unsupported: 'The proof has members that its form does not have, or lacks some.' }
  return { ...options, type: String(type), signature: signatureOf(proofValue) }
}

function formOf(type: unknown, cryptosuite: unknown): ProofForm | null {
  if (type === nativeProofType) return cryptosuite === undefined ? 'native' : null
  if (type !== 'DataIntegrityProof') return null
  return cryptosuite === 'eddsa-jcs-2022' || cryptosuite === 'eddsa-rdfc-2022' ? cryptosuite : null
}

function sameMembers(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every(
    (name) => a[name] === b[name] || canonicalJson(a[name]) === canonicalJson(b[name]),
  )
}

/**
 * Decodes `proofValue`. 64 bytes take 86 to 88 base58 characters, or fewer if they begin with
 * zeros. The decoder accepts exactly one text for each value.
 */
export function signatureOf(proofValue: string): Uint8Array | null {
  if (!proofValue.startsWith('z') || proofValue.length > 89) return null
  const bytes = base58Decode(proofValue.slice(1))
  return bytes?.length === 64 ? bytes : null
}

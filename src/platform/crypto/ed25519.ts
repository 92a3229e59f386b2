/**
 * Ed25519 verification, the most expensive step of a verdict: by libsodium, which takes less than half of OpenSSL's time, where its
 * prebuilt module runs; else by Node. Both refuse an S beyond the group order and compare R as bytes, so that under a sound key
 * they agree on every signature. Keys must have been looked at before: Node accepts points of small order.
 */
import { type KeyObject, verify } from 'node:crypto'
import { createRequire } from 'node:module'

export interface Ed25519Key {
  /** 32 bytes. */
  publicKey: Uint8Array
  /** The same, parsed once: parsing it for each call would halve Node's speed. */
  keyObject: KeyObject
}

/** Whether `signature` is the key's over `message`. */
export type Ed25519Verify = (message: Uint8Array, key: Ed25519Key, signature: Uint8Array) => boolean

interface Sodium {
  /** Throws for a signature or a key of another length. */
  crypto_sign_verify_detached(
    signature: Uint8Array,
    message: Uint8Array,
    publicKey: Uint8Array,
  ): boolean
}

export const verifyByNode: Ed25519Verify = (message, { keyObject }, signature) =>
  verify(null, message, keyObject, signature)

/** Throws where there is no prebuilt module for this platform, or it was not installed. */
function loadSodium(): Ed25519Verify {
  const sodium: Sodium = createRequire(import.meta.url)('sodium-native')
  return (message, { publicKey }, signature) =>
    sodium.crypto_sign_verify_detached(signature, message, publicKey)
}

/** Which library verifies here, and why not libsodium. */
export function ed25519Library(): { verify: Ed25519Verify; name: string; whyNotSodium?: string } {
  try {
    return { verify: loadSodium(), name: 'libsodium' }
  } catch (error) {
    const [whyNotSodium] = String(error).split('\n')
    return { verify: verifyByNode, name: 'OpenSSL', ...(whyNotSodium && { whyNotSodium }) }
  }
}

const signatureBytes = 64

let chosen: Ed25519Verify | undefined

/**
 * Verifies with the chosen library, which the first call loads: most processes verify nothing. A signature
 * of another length never reaches the library, because libsodium throws for it.
 */
export const verifyEd25519: Ed25519Verify = (message, key, signature) => {
  if (signature.length !== signatureBytes) return false
  chosen ??= ed25519Library().verify
  return chosen(message, key, signature)
}

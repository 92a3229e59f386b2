/**
 * Ed25519 verification, the most expensive step of a verdict. If libsodium's prebuilt module runs
 * here, it verifies, in less than half of OpenSSL's time; otherwise Node does. Both refuse an S
 * beyond the group order and compare R as bytes, so under a sound key they agree on every
 * signature. Check a key before use: Node accepts points of small order.
 */
import { type KeyObject, verify } from 'node:crypto'
import { createRequire } from 'node:module'

export interface Ed25519Key {
  /** 32 bytes. */
  publicKey: Uint8Array
  /** The same key, parsed once. Parsing it in each call would halve Node's speed. */
  keyObject: KeyObject
}

/** Returns whether `signature` is the signature of `key` over `message`. */
export type Ed25519Verify = (message: Uint8Array, key: Ed25519Key, signature: Uint8Array) => boolean

interface Sodium {
  /** Throws if the signature or the key has another length. */
  crypto_sign_verify_detached(
    signature: Uint8Array,
    message: Uint8Array,
    publicKey: Uint8Array,
  ): boolean
}

export const verifyByNode: Ed25519Verify = (message, { keyObject }, signature) =>
  verify(null, message, keyObject, signature)

/** Throws if there is no prebuilt module for this platform or it was not installed. */
function loadSodium(): Ed25519Verify {
  const sodium: Sodium = createRequire(import.meta.url)('sodium-native')
  return (message, { publicKey }, signature) =>
    sodium.crypto_sign_verify_detached(signature, message, publicKey)
}

/** Returns the library that verifies here, and the reason if it is not libsodium. */
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
 * Verifies with the chosen library. The first call loads it, because most processes verify nothing.
 * A signature of another length never reaches the library, because libsodium throws for it.
 */
export const verifyEd25519: Ed25519Verify = (message, key, signature) => {
  if (signature.length !== signatureBytes) return false
  chosen ??= ed25519Library().verify
  return chosen(message, key, signature)
}

/** Pure: addresses of the chain: their checksum, and the address of a private key. */
import { createECDH } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'

/** Returns the address with capitals as EIP-55 sets them, by the hash of its lower-case form. */
export function checksummed(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString('hex')
  const written = Array.from(digits, (digit, i) =>
    Number.parseInt(hash[i] ?? '0', 16) >= 8 ? digit.toUpperCase() : digit,
  )
  return `0x${written.join('')}`
}

/**
 * Returns false if small and capital letters are mixed in another way than the checksum requires:
 * then a character is wrong. An address in one case says nothing.
 */
export function mayBeRight(address: string): boolean {
  const digits = address.slice(2)
  const isMixed = /[a-f]/.test(digits) && /[A-F]/.test(digits)
  return !isMixed || address === checksummed(address)
}

/**
 * Returns the address in lower case. `privateKey` is 0x and 64 hex characters. Throws if it is no
 * key of the curve.
 */
export function addressOf(privateKey: string): string {
  const curve = createECDH('secp256k1')
  curve.setPrivateKey(privateKey.slice(2), 'hex')
  return addressOfKey(curve.getPublicKey())
}

/** Returns the address in lower case. `publicKey` has 65 bytes, uncompressed. */
export function addressOfKey(publicKey: Uint8Array): string {
  return `0x${Buffer.from(keccak_256(publicKey.subarray(1))).toString('hex', 12)}`
}

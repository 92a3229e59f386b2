/** Pure: addresses of the chain: how they are written so that a slip shows, and whose a private key is. */
import { createECDH } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'

/** Capitals as EIP-55 sets them, by the hash of the address in lower case. */
export function checksummed(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString('hex')
  const written = Array.from(digits, (digit, i) =>
    Number.parseInt(hash[i] ?? '0', 16) >= 8 ? digit.toUpperCase() : digit,
  )
  return `0x${written.join('')}`
}

/** False where small and capital letters are mixed in another way than the checksum's: a character is wrong. Of one kind alone says nothing. */
export function mayBeRight(address: string): boolean {
  const digits = address.slice(2)
  const isMixed = /[a-f]/.test(digits) && /[A-F]/.test(digits)
  return !isMixed || address === checksummed(address)
}

/** `privateKey`: 0x and 64 hex characters. Throws where it is no key of the curve. Lower case. */
export function addressOf(privateKey: string): string {
  const curve = createECDH('secp256k1')
  curve.setPrivateKey(privateKey.slice(2), 'hex')
  return addressOfKey(curve.getPublicKey())
}

/** `publicKey`: 65 bytes, uncompressed. Lower case. */
export function addressOfKey(publicKey: Uint8Array): string {
  return `0x${Buffer.from(keccak_256(publicKey.subarray(1))).toString('hex', 12)}`
}

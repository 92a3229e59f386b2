/**
 * Recovers the signer of an authorization (EIP-712). The code of the curve is imported with the
 * first payment, because a server without payments never needs it.
 */
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { SignedPayment } from './payload.ts'
import { addressOfKey, type Price } from './terms.ts'

/**
 * 65 bytes: the signature of an ordinary key. Any other length is a contract's, and only the chain
 * can verify it.
 */
const plainSignatureLength = 2 + 2 * 65

export type Signer =
  | 'payer'
  /** Another ordinary key, or the payer's key over something else. */
  | 'other'
  /** Possibly the payer, which then is a contract. */
  | 'unknown'

export async function signerOf(
  { authorization, signature }: SignedPayment,
  price: Price,
): Promise<Signer> {
  if (signature.length !== plainSignatureLength) return 'unknown'
  if (!isTakenByTheCoin(signature)) return 'other'
  const digest = digestOf(authorization, price)
  return (await addressOfSigner(digest, signature)) === authorization.from ? 'payer' : 'other'
}

/** Returns the 32 bytes that are signed (EIP-712). */
function digestOf(
  { from, to, value, validAfter, validBefore, nonce }: SignedPayment['authorization'],
  price: Price,
): Uint8Array {
  const message = [from, to, ...[value, validAfter, validBefore].map(hexOf), nonce]
  const hashed = keccak_256(Buffer.concat([messageType, ...message.map(wordOf)]))
  return keccak_256(Buffer.concat([signedDataMark, domainOf(price), hashed]))
}

/** Returns EIP-712's domain separator of the coin's contract. */
function domainOf({ assetName, assetVersion, chainId, asset }: Price): Uint8Array {
  const names = [assetName, assetVersion].map(hashOf)
  const place = [chainId.toString(16), asset].map(wordOf)
  return keccak_256(Buffer.concat([domainType, ...names, ...place]))
}

/** Converts decimal digits to hex digits. */
function hexOf(number: string): string {
  return BigInt(number).toString(16)
}

/** Converts hex digits, with or without `0x`, to a number of 256 bits. */
function wordOf(hex: string): Buffer {
  return Buffer.from(hex.replace('0x', '').padStart(64, '0'), 'hex')
}

function hashOf(text: string): Uint8Array {
  return keccak_256(Buffer.from(text))
}

/**
 * Returns 0x and 40 lower-case hex characters, or null if no key can have signed in this way. Uses
 * Bitcoin's libsecp256k1, which takes a seventh of viem's time.
 */
async function addressOfSigner(digest: Uint8Array, signature: string): Promise<string | null> {
  const { recover } = await import('tiny-secp256k1')
  const signed = Buffer.from(signature.slice(2), 'hex')
  try {
    const parity = signed[64] === 27 ? 0 : 1
    const key = recover(digest, signed.subarray(0, 64), parity, false)
    return key === null ? null : addressOfKey(key)
  } catch {
    // One of the two numbers is zero or beyond the order of the curve.
    return null
  }
}

/**
 * Every signature has two forms. The coin's contract accepts the one with `s` in the lower half of
 * the curve's order.
 */
function isTakenByTheCoin(signature: string): boolean {
  const s = signature.slice(66, 130)
  return s <= halfOrder && (signature.endsWith('1b') || signature.endsWith('1c'))
}

const halfOrder = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'

const signedDataMark = Buffer.from('1901', 'hex')
const domainType = hashOf(
  'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
)
/** Message type of EIP-3009. */
const messageType = hashOf(
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)

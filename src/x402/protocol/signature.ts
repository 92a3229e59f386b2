/** Who signed an authorization (EIP-712). The code of the curve is imported with the first payment: a server without payments never needs it. */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { addressOfKey } from './address.ts'
import type { SignedPayment } from './payload.ts'
import type { Price } from './terms.ts'

/** 65 bytes: the signature of an ordinary key. Any other is a contract's, and only the chain can tell. */
const plainSignatureLength = 2 + 2 * 65

export type Signer =
  | 'payer'
  /** Another ordinary key; or the payer's, that signed something else. */
  | 'other'
  /** Perhaps the payer, which then is a contract. */
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

/** What is signed: 32 bytes (EIP-712). */
function digestOf(
  { from, to, value, validAfter, validBefore, nonce }: SignedPayment['authorization'],
  price: Price,
): Uint8Array {
  const message = [from, to, ...[value, validAfter, validBefore].map(hexOf), nonce]
  const hashed = keccak_256(Buffer.concat([messageType, ...message.map(wordOf)]))
  return keccak_256(Buffer.concat([signedDataMark, domainOf(price), hashed]))
}

/** EIP-712's separator: where the coin's contract is, and as what it signs. */
function domainOf({ assetName, assetVersion, chainId, asset }: Price): Uint8Array {
  const names = [assetName, assetVersion].map(hashOf)
  const place = [chainId.toString(16), asset].map(wordOf)
  return keccak_256(Buffer.concat([domainType, ...names, ...place]))
}

/** Decimal digits in, hex digits out. */
function hexOf(number: string): string {
  return BigInt(number).toString(16)
}

/** Hex digits, after `0x` or not: a number of 256 bits. */
function wordOf(hex: string): Buffer {
  return Buffer.from(hex.replace('0x', '').padStart(64, '0'), 'hex')
}

function hashOf(text: string): Uint8Array {
  return keccak_256(Buffer.from(text))
}

/**
 * 0x and 40 hex characters in lower case; null where no key can have signed so. By Bitcoin's libsecp256k1, which takes a seventh of the time
 * that viem takes.
 */
async function addressOfSigner(digest: Uint8Array, signature: string): Promise<string | null> {
  const { recover } = await import('tiny-secp256k1')
  const signed = Buffer.from(signature.slice(2), 'hex')
  try {
    const parity = signed[64] === 27 ? 0 : 1
    const key = recover(digest, signed.subarray(0, 64), parity, false)
    return key === null ? null : addressOfKey(key)
  } catch {
    // A number of the two is zero, or beyond the curve's order.
    return null
  }
}

/** Of the two forms that every signature has the coin's contract takes one, with `s` in the lower half of the curve's order. */
function isTakenByTheCoin(signature: string): boolean {
  const s = signature.slice(66, 130)
  return s <= halfOrder && (signature.endsWith('1b') || signature.endsWith('1c'))
}

const halfOrder = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'

const signedDataMark = Buffer.from('1901', 'hex')
const domainType = hashOf(
  'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
)
/** EIP-3009. */
const messageType = hashOf(
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)

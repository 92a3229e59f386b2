/** Who signed an authorization (EIP-712). The code for it is imported with the first payment: a server without payments never needs it. */
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
  const digest = await digestOf(authorization, price)
  return (await addressOfSigner(digest, signature)) === authorization.from ? 'payer' : 'other'
}

/** What is signed: 32 bytes. */
async function digestOf(
  { from, to, value, validAfter, validBefore, nonce }: SignedPayment['authorization'],
  price: Price,
): Promise<Buffer> {
  const { hashTypedData } = await import('viem/utils')
  const digest = hashTypedData({
    domain: {
      name: price.assetName,
      version: price.assetVersion,
      chainId: price.chainId,
      verifyingContract: price.asset as Hex,
    },
    types: { TransferWithAuthorization: transferWithAuthorization },
    primaryType: 'TransferWithAuthorization',
    message: {
      from: from as Hex,
      to: to as Hex,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
      nonce: nonce as Hex,
    },
  })
  return Buffer.from(digest.slice(2), 'hex')
}

/**
 * 0x and 40 hex characters in lower case; null where no key can have signed so. By Bitcoin's libsecp256k1, which takes a seventh of the time
 * that viem takes.
 */
async function addressOfSigner(digest: Uint8Array, signature: string): Promise<string | null> {
  const { recover } = await import('tiny-secp256k1')
  const { keccak256 } = await import('viem/utils')
  const signed = Buffer.from(signature.slice(2), 'hex')
  try {
    const parity = signed[64] === 27 ? 0 : 1
    const key = recover(digest, signed.subarray(0, 64), parity, false)
    return key === null ? null : `0x${keccak256(key.subarray(1)).slice(-40)}`
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

/** The decoder has let nothing else through. */
type Hex = `0x${string}`

/** EIP-3009. */
const transferWithAuthorization = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

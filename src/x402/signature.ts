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
  const { recoverTypedDataAddress } = await import('viem/utils')
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  try {
    const signer = await recoverTypedDataAddress({
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
      signature: signature as Hex,
    })
    return signer.toLowerCase() === from ? 'payer' : 'other'
  } catch {
    // No point of the curve.
    return 'other'
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

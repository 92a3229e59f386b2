/** Who signed an authorization (EIP-712). The code for it is imported with the first payment: a server without payments never needs it. */
import type { SignedPayment } from './payload.ts'
import type { Price } from './terms.ts'

/** 65 bytes: the signature of an ordinary key. Any other is a contract's, and only the chain can tell. */
const plainSignatureLength = 2 + 2 * 65

/** False where an ordinary key other than the payer's has signed, or signed something else. */
export async function maySpend(
  { authorization, signature }: SignedPayment,
  price: Price,
): Promise<boolean> {
  if (signature.length !== plainSignatureLength) return true
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
    return signer.toLowerCase() === from
  } catch {
    // No point of the curve.
    return false
  }
}

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

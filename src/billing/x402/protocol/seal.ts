/**
 * Pure: seals a signed payment for the ledger while it is open. A reader of the table alone cannot
 * send it to the chain.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import type { SignedPayment } from './payload.ts'

export const sealNonceBytes = 12
const tagBytes = 16

/**
 * Seals with the first secret. `id` is the id of the row: a sealed payment opens in no other row.
 */
export function sealPayment(
  payment: SignedPayment,
  { id, secret, random }: { id: string; secret: string; random: Uint8Array },
): Buffer {
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret), random).setAAD(Buffer.from(id))
  const text = Buffer.concat([cipher.update(JSON.stringify(payment)), cipher.final()])
  return Buffer.concat([random, cipher.getAuthTag(), text])
}

/** Opens with any of the secrets. Returns null if none of them made it. */
export function openPayment(
  sealed: Uint8Array,
  { id, secrets }: { id: string; secrets: readonly string[] },
): SignedPayment | null {
  const nonce = sealed.subarray(0, sealNonceBytes)
  const tag = sealed.subarray(sealNonceBytes, sealNonceBytes + tagBytes)
  const text = sealed.subarray(sealNonceBytes + tagBytes)
  for (const secret of secrets) {
    try {
      const decipher = createDecipheriv('aes-256-gcm', keyOf(secret), nonce, {
        authTagLength: tagBytes,
      })
      decipher.setAAD(Buffer.from(id)).setAuthTag(tag)
      const opened = Buffer.concat([decipher.update(text), decipher.final()])
      // The text is authentic, so this service wrote it.
      return JSON.parse(opened.toString('utf8')) as SignedPayment
    } catch {
      // Sealed by another secret, or altered.
    }
  }
  return null
}

function keyOf(secret: string): KeyObject {
  const bytes = hkdfSync('sha256', secret, '', 'service.x402_payment.v1', 32)
  return createSecretKey(new Uint8Array(bytes))
}

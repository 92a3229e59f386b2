/** Pure: a signed payment as it lies in the ledger while it is open. Whoever reads the table alone cannot send it to the chain. */
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

/** `id` is the row's: a sealed payment opens in no other. The first secret seals; any of them opens. */
export function sealPayment(
  payment: SignedPayment,
  { id, secret, random }: { id: string; secret: string; random: Uint8Array },
): Buffer {
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret), random).setAAD(Buffer.from(id))
  const text = Buffer.concat([cipher.update(JSON.stringify(payment)), cipher.final()])
  return Buffer.concat([random, cipher.getAuthTag(), text])
}

/** Null where none of the secrets made it. */
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
      // Authentic, so of our own making.
      return JSON.parse(opened.toString('utf8')) as SignedPayment
    } catch {
      // Another secret's, or none's.
    }
  }
  return null
}

/** By secret: the few of the settings. */
const keys = new Map<string, KeyObject>()

function keyOf(secret: string): KeyObject {
  let key = keys.get(secret)
  if (key === undefined) {
    const bytes = hkdfSync('sha256', secret, '', 'service.x402_payment.v1', 32)
    key = createSecretKey(new Uint8Array(bytes))
    keys.set(secret, key)
  }
  return key
}

/**
 * Pure: signing secrets. `whsec_` and 43 characters of base64url, which stand for 32 random bytes; drawn again until neither `-` nor `_`
 * is among them, so that the libraries of Standard Webhooks, which read plain base64, take them as they are. Kept sealed (AES-256-GCM).
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto'
import type { Keyring } from '../../platform/crypto/keyring.ts'

const prefix = 'whsec_'
const prefixLength = prefix.length + 12

/** A fresh secret. About one draw in four passes. */
export function newSecret(random: (size: number) => Buffer = randomBytes): string {
  for (;;) {
    const text = random(32).toString('base64url')
    if (!/[-_]/.test(text)) return prefix + text
  }
}

/** What may be shown of it (spec §2.2). 31 characters stay unknown. */
export function secretPrefix(secret: string): string {
  return secret.slice(0, prefixLength)
}

/** The 32 bytes behind the text. */
export function secretBytes(secret: string): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64url')
}

/** Whose secret it is: a sealed secret opens in no other place. */
export interface SecretPlace {
  endpointId: string
  version: number
}

export interface SealedSecret {
  kid: string
  /** Nonce (12 bytes), tag (16), ciphertext. */
  sealed: Buffer
}

export function sealSecret(secret: string, place: SecretPlace, ring: Keyring): SealedSecret {
  const [first] = ring
  if (first === undefined) throw new Error('the key ring is empty')
  const [kid, key] = first
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(placeBytes(place))
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return { kid, sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]) }
}

/** Throws where the key is not on the ring, or the secret is not this place's. */
export function openSecret(
  { kid, sealed }: SealedSecret,
  place: SecretPlace,
  ring: Keyring,
): string {
  const key = ring.get(kid)
  if (key === undefined) throw new Error(`the key ${kid} is not on the key ring`)
  // Bytes as the key would cost eight times as much.
  const decipher = createDecipheriv('aes-256-gcm', createSecretKey(key), sealed.subarray(0, 12))
    .setAAD(placeBytes(place))
    .setAuthTag(sealed.subarray(12, 28))
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8')
}

function placeBytes({ endpointId, version }: SecretPlace): Buffer {
  return Buffer.from(`webhook_secret|${endpointId}|${version}`)
}

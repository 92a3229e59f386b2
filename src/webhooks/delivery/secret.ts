/**
 * Pure: signing secrets. A secret is `whsec_` and 43 characters of base64url, which stand for 32
 * random bytes. It is drawn again until it contains neither `-` nor `_`, because the libraries of
 * Standard Webhooks read plain base64. It is stored sealed with AES-256-GCM.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto'
import { newWebhookSecret } from '../../../packages/sdk/src/webhook-signature.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'

const prefix = 'whsec_'
const prefixLength = prefix.length + 12

/** Returns a fresh secret. `assay-client` makes its own by the same rule. */
export const newSecret = newWebhookSecret

/** Returns the part of a secret that may be shown. 31 characters stay unknown. */
export function secretPrefix(secret: string): string {
  return secret.slice(0, prefixLength)
}

/** Returns the 32 bytes behind the text. */
export function secretBytes(secret: string): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64url')
}

/** Identifies a sealed secret. The secret opens only under the id with which it was sealed. */
export interface SecretId {
  endpointId: string
  version: number
}

export interface SealedSecret {
  kid: string
  /** Nonce (12 bytes), tag (16), ciphertext. */
  sealed: Buffer
}

export function sealSecret(secret: string, secretId: SecretId, ring: Keyring): SealedSecret {
  const [first] = ring
  if (first === undefined) throw new Error('the key ring is empty')
  const [kid, key] = first
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(secretIdBytes(secretId))
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return { kid, sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]) }
}

/**
 * Opens a sealed secret. Throws if its key is not on the ring, or if it was sealed under another
 * id.
 */
export function openSecret(
  { kid, sealed }: SealedSecret,
  secretId: SecretId,
  ring: Keyring,
): string {
  const key = ring.get(kid)
  if (key === undefined) throw new Error(`the key ${kid} is not on the key ring`)
  // Passing bytes as the key would take eight times as long.
  const decipher = createDecipheriv('aes-256-gcm', createSecretKey(key), sealed.subarray(0, 12))
    .setAAD(secretIdBytes(secretId))
    .setAuthTag(sealed.subarray(12, 28))
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8')
}

function secretIdBytes({ endpointId, version }: SecretId): Buffer {
  return Buffer.from(`webhook_secret|${endpointId}|${version}`)
}

/** The secrets of an endpoint at one time. */
export interface SigningSecrets {
  /** Signs the header of the specification. */
  current: string
  /** Announced: signs from a later time. */
  next?: string
  /** Replaced: signs beside the current secret for a while. */
  previous?: string
}

export interface DatedSecret extends SealedSecret {
  endpointId: string
  version: number
  signsFrom: Date
}

/**
 * Returns the roles, or null if no secret signs. `rows` are the secrets of one endpoint that have
 * not ended, oldest first. Throws if one cannot be opened.
 */
export function signingSecrets(
  rows: readonly DatedSecret[],
  ring: Keyring,
  now: Date,
): SigningSecrets | null {
  const begun = rows.filter((row) => row.signsFrom <= now)
  const current = begun.at(-1)
  if (current === undefined) return null
  const next = rows.find((row) => row.signsFrom > now)
  const previous = begun.at(-2)
  const open = (row: DatedSecret): string => openSecret(row, row, ring)
  return {
    current: open(current),
    ...(next && { next: open(next) }),
    ...(previous && { previous: open(previous) }),
  }
}

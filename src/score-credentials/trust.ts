/**
 * Pure: whom we believe. Built from the key table and the deployment's own addresses; nothing in a presented credential adds to it.
 */
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Ed25519Key } from '../platform/crypto/ed25519.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { type Origin, originOf } from './payload.ts'
import { trustedPublicKey } from './signing-key.ts'

export type KeyState = 'pending' | 'active' | 'retired' | 'revoked'

/** A row of the key table. */
export interface SigningKey {
  kid: string
  publicKey: Uint8Array
  state: KeyState
  createdAt: Date
  activatedAt: Date | null
  retiredAt: Date | null
  revokedAt: Date | null
}

export interface TrustedKey extends SigningKey, Ed25519Key {}

export interface TrustedIssuer {
  origin: Origin
  /** Keys that sign or have signed, by verification method, `<issuer>#<kid>`. */
  keys: ReadonlyMap<string, TrustedKey>
}

/** The issuers we pin to: this deployment, and the addresses it had before. */
export type Trust = ReadonlyMap<string, TrustedIssuer>

/**
 * Builds the trust in `keys`. A pending key is left out: it is published, but it has signed nothing.
 * Throws `KeyRefused` for a stored key that is no sound Ed25519 point.
 */
export function trustOf(publicUrls: readonly string[], keys: readonly SigningKey[]): Trust {
  const trusted = keys
    .filter(({ state }) => state !== 'pending')
    .map((key) => ({ ...key, keyObject: trustedPublicKey(key.publicKey) }))
  return new Map(
    publicUrls.map(originOf).map((origin) => [
      origin.issuer,
      {
        origin,
        keys: new Map(trusted.map((key) => [`${origin.issuer}#${key.kid}`, key])),
      },
    ]),
  )
}

/** vcSha256, as bytes. */
export function vcSha256Of(payload: Record<string, unknown>): Buffer {
  return sha256(canonicalJson(payload))
}

/** `created` may stray from the key's active time by this much: clocks of issuing nodes differ. */
const clockSkewMs = 300_000

/** Whether a proof made at `created` falls into the time in which the key signed. */
export function signedWhileActive(key: SigningKey, created: string): boolean {
  const at = Date.parse(created)
  const from = key.activatedAt?.getTime() ?? Number.POSITIVE_INFINITY
  const until = (key.retiredAt ?? key.revokedAt)?.getTime() ?? Number.POSITIVE_INFINITY
  return at >= from - clockSkewMs && at <= until + clockSkewMs
}

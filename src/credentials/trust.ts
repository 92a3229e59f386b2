/**
 * Pure: the issuers and keys that this deployment trusts. Built from the key table and the
 * deployment's own addresses. Nothing in a presented credential adds to it.
 */
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Ed25519Key } from '../platform/crypto/ed25519.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { type Origin, originOf } from './payload.ts'
import { trustedPublicKey } from './signing-key.ts'

export const keyStates = ['pending', 'active', 'retired', 'revoked'] as const
export type KeyState = (typeof keyStates)[number]

/** A row of `signing_keys`. */
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
  /** Keys that sign or have signed, by verification method `<issuer>#<kid>`. */
  keys: ReadonlyMap<string, TrustedKey>
}

/** The trusted issuers by their did: the present address of this deployment and its former ones. */
export type Trust = ReadonlyMap<string, TrustedIssuer>

/**
 * Builds the trusted issuers from `keys`. Omits pending keys, because they are published but have
 * signed nothing. Throws `KeyRefused` if a stored key is not a sound Ed25519 point.
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

/** Returns vcSha256 as bytes. */
export function vcSha256Of(payload: Record<string, unknown>): Buffer {
  return sha256(canonicalJson(payload))
}

/**
 * Tolerance around the time in which a key was active, because the clocks of issuing nodes differ.
 */
const clockSkewMs = 300_000

/**
 * Returns true if `created` is within the time in which the key was active, plus or minus the
 * tolerance.
 */
export function signedWhileActive(key: SigningKey, created: string): boolean {
  const at = Date.parse(created)
  const from = key.activatedAt?.getTime() ?? Number.POSITIVE_INFINITY
  const until = (key.retiredAt ?? key.revokedAt)?.getTime() ?? Number.POSITIVE_INFINITY
  return at >= from - clockSkewMs && at <= until + clockSkewMs
}

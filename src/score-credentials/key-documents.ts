/**
 * Pure: the published documents of the public keys: the closed key document of the specification,
 * and the DID document.
 */
import { wireTime } from '../platform/clock.ts'
import { nativeProofType, schemaVersion, wellKnownPath } from '../platform/http/identifiers.ts'
import type { Origin } from './payload.ts'
import type { SigningKey } from './trust.ts'

export const publicKeyPath = wellKnownPath('score-vc-public-key')

export function publicKeyDocumentOf(origin: Origin, key: SigningKey): Record<string, unknown> {
  return {
    schemaVersion: schemaVersion('score_vc_public_key'),
    id: `${origin.url}${publicKeyPath}`,
    issuer: origin.issuer,
    proofType: nativeProofType,
    proofPurpose: 'assertionMethod',
    verificationMethod: {
      id: `${origin.issuer}#${key.kid}`,
      type: 'Ed25519VerificationKey2020',
      controller: origin.issuer,
      publicKeyBase64url: Buffer.from(key.publicKey).toString('base64url'),
    },
  }
}

/**
 * Returns the did:web document. A retired key carries no end time, because verifiers reject every
 * proof of a key that has one. A compromised key carries `revoked` and is not listed in
 * `assertionMethod` (W3C Controlled Identifiers, 2.2).
 */
export function didDocumentOf(
  origin: Origin,
  keys: readonly SigningKey[],
): Record<string, unknown> {
  const idOf = (key: SigningKey): string => `${origin.issuer}#${key.kid}`
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
    id: origin.issuer,
    verificationMethod: keys.map((key) => ({
      id: idOf(key),
      type: 'Multikey',
      controller: origin.issuer,
      publicKeyMultibase: key.kid,
      ...(key.revokedAt === null ? {} : { revoked: wireTime(key.revokedAt) }),
    })),
    assertionMethod: keys.filter((key) => key.state !== 'revoked').map(idOf),
  }
}

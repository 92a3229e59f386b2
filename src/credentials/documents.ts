/** Pure: the published documents of score credentials, except credentials and status lists. */
import type { RateLimits } from '../edge/http/contract.ts'
import { nativeProofType, schemaVersion } from '../edge/http/identifiers.ts'
import { wireTime } from '../platform/clock.ts'
import type { Origin } from './payload.ts'
import {
  anonymousVerifyLimits,
  publicKeyPath,
  verifyBodyBytesMax,
  verifyMediaTypes,
  verifyPagePath,
  verifyPath,
} from './schema.ts'
import type { SigningKey } from './trust.ts'

/** Returns the closed key document of the specification. */
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
 * Returns the did:web document. `assertionMethod` lists the keys whose signatures count: a pending
 * key joins it once it signs. A retired key carries no end time, because verifiers reject every
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
    assertionMethod: keys
      .filter(({ state }) => state === 'active' || state === 'retired')
      .map(idOf),
  }
}

/** Returns the closed status body: `revokedAt` is present only if the credential is revoked. */
export function statusDocumentOf(revokedAt: Date | null, checkedAt: Date): Record<string, unknown> {
  return {
    schemaVersion: schemaVersion('score_vc_status'),
    status: revokedAt === null ? 'active' : 'revoked',
    revoked: revokedAt !== null,
    ...(revokedAt === null ? {} : { revokedAt: wireTime(revokedAt) }),
    checkedAt: wireTime(checkedAt),
  }
}

/** Describes how to call the verifier. `perMinute` and `perDay` are the limits of an API key. */
export function verifierDescriptionOf(
  publicUrl: string,
  { perMinute, perDay }: RateLimits,
): Record<string, unknown> {
  return {
    endpoint: `${publicUrl}${verifyPath}`,
    schemaVersion: schemaVersion('score_vc_verify'),
    acceptedContentTypes: [...verifyMediaTypes],
    maxBodyBytes: verifyBodyBytesMax,
    rateLimits: {
      anonymous: anonymousVerifyLimits,
      apiKey: `With scope scores:read: ${perMinute} a minute and ${perDay} a day for each live key; a call is counted on the meter score_lookup.`,
    },
    docs: `${publicUrl}/api/v1/openapi.json`,
    humanUi: `${publicUrl}${verifyPagePath}`,
  }
}

/** Pure: examples for the contract. The signatures are placeholders of the right form. */
import { exampleUrl } from '../edge/http/contract.ts'
import { nativeProofType, schemaVersion } from '../edge/http/identifiers.ts'
import { didDocumentOf, publicKeyDocumentOf, verifierDescriptionOf } from './documents.ts'
import { credentialPayload, type Origin, originOf } from './payload.ts'
import { bitsOf, statusListPayload } from './status-list.ts'
import type { SigningKey } from './trust.ts'

const exampleOrigin = originOf(exampleUrl)
const at = new Date('2026-05-14T09:00:00Z')
const token = '1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62'
const kid = 'z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z'
const proofValue =
  'zNUiyc8TwGGHAHh6wAwhL92wnKhUqzfw5JXJT7AvHCiREPXKQsapRjucrsPvFxMyPNSXkiUrY5DEMRHbQW6pqXGP'
const key: SigningKey = {
  kid,
  publicKey: Buffer.from('6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw', 'base64url'),
  state: 'active',
  createdAt: at,
  activatedAt: at,
  retiredAt: null,
  revokedAt: null,
}
const score = {
  username: 'ada-lovelace',
  score: 742,
  scoreBand: 'strong',
  confidenceLow: 701,
  confidenceHigh: 778,
  evidenceCount: 18,
  engineVersion: '1.4.2',
  engineBinarySha256: '51a1f05af85e342e3c849b47d387086476282d5f50dc240c19216d6edfb1eb5a',
}

export function exampleCredential(origin: Origin = exampleOrigin): Record<string, unknown> {
  const payload = credentialPayload(origin, score, {
    id: '6b1f6c1e-6e0a-4a52-9a55-5f1c1b3f1c1e',
    slot: { token, listId: 'k3x7qzm2ab', index: 94_567 },
    validFrom: at,
    validUntil: new Date('2027-05-14T09:00:00Z'),
  })
  return {
    ...payload,
    proof: {
      type: nativeProofType,
      created: '2026-05-14T09:00:00Z',
      verificationMethod: `${origin.issuer}#${kid}`,
      proofPurpose: 'assertionMethod',
      proofValue,
    },
  }
}

export function exampleStatusList(origin: Origin = exampleOrigin): Record<string, unknown> {
  const facts = { listId: 'k3x7qzm2ab', bits: bitsOf([]), publishedAt: at }
  return {
    ...statusListPayload(origin, facts),
    proof: {
      type: 'DataIntegrityProof',
      cryptosuite: 'eddsa-rdfc-2022',
      created: '2026-05-14T09:00:00Z',
      verificationMethod: `${origin.issuer}#${kid}`,
      proofPurpose: 'assertionMethod',
      proofValue,
    },
  }
}

export const examples = {
  publicKey: publicKeyDocumentOf(exampleOrigin, key),
  did: didDocumentOf(exampleOrigin, [key]),
  status: {
    schemaVersion: schemaVersion('score_vc_status'),
    status: 'revoked',
    revoked: true,
    revokedAt: '2026-06-01T10:00:00Z',
    checkedAt: '2026-06-02T08:30:00Z',
  },
  verifyResult: {
    schemaVersion: schemaVersion('score_vc_verify'),
    valid: false,
    reason: 'revoked',
    message: 'The issuer revoked this credential on 2026-06-01.',
    signatureValid: true,
    issuerMatch: true,
    revocation: { checked: true, revoked: true, revokedAt: '2026-06-01T10:00:00Z' },
    credential: {
      issuer: exampleOrigin.issuer,
      subject: `${exampleOrigin.url}/u/${score.username}`,
      score: score.score,
      scoreBand: score.scoreBand,
      confidenceLow: score.confidenceLow,
      confidenceHigh: score.confidenceHigh,
      issuedAt: '2026-05-14T09:00:00Z',
      engineId: `${exampleOrigin.url}/.well-known/service-engine.json`,
      engineVersion: score.engineVersion,
      engineBinarySha256: score.engineBinarySha256,
      verificationMethod: `${exampleOrigin.issuer}#${kid}`,
    },
    presented: {
      issuer: exampleOrigin.issuer,
      proofType: nativeProofType,
      verificationMethod: `${exampleOrigin.issuer}#${kid}`,
      payloadSha256: '5198254e5730f1642c3bdf23cb57b7d642ca869c92dd949a88e491e661d8f2a2',
      optionsSha256: 'bd0fc1266ac1f48f7265bf16d3c679b0bbbe7aa6827cda44b530f18589a457a7',
    },
    notes: ['proof:native', 'status_source:live'],
  },
  verifier: verifierDescriptionOf(exampleUrl, { perMinute: 600, perDay: 100_000 }),
}

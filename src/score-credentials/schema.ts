/** Wire shapes of score credentials. */
import { type Static, Type } from 'typebox'
import { nativeProofType, schemaVersion, wellKnownPath } from '../platform/http/identifiers.ts'
import { type ProofForm, proofForms } from './proof.ts'

export const publicKeyPath = wellKnownPath('score-vc-public-key')
export const didPath = '/.well-known/did.json'
/** The status token follows. */
export const statusPath = '/standard/v1/score-vc-status/'
/** The list id follows. */
export const statusListPath = '/standard/v1/status-lists/score-vc-revocation/'
/** Page on which a browser verifies. */
export const verifyPagePath = '/verify'
export const verifyPath = '/api/v1/score-vc/verify'

export const verifyBodyBytesMax = 262_144
export const verifyMediaTypes = ['application/json', 'application/ld+json'] as const
export const anonymousVerifyLimits = { perMinute: 60, perDay: 1_000 } as const

const hex64 = { pattern: '^[0-9a-f]{64}$' }
const dateTime = { format: 'date-time' }
const closed = { additionalProperties: false }

export const statusTokenPath = Type.Object({
  statusToken: Type.String({ ...hex64, description: '64 lowercase hex characters.' }),
})
export const statusTokenQuery = Type.Object({
  vcSha256: Type.Optional(
    Type.String({
      ...hex64,
      description:
        'SHA-256 of the credential payload, 64 lowercase hex characters: asks for exactly this credential.',
    }),
  ),
})

export const credentialStatus = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('score_vc_status')),
    status: Type.Union([Type.Literal('active'), Type.Literal('revoked')]),
    revoked: Type.Boolean(),
    revokedAt: Type.Optional(Type.String({ ...dateTime, description: 'Only when revoked.' })),
    checkedAt: Type.String(dateTime),
  },
  { title: 'ScoreCredentialStatus', ...closed },
)

export const statusListPathParameters = Type.Object({
  listId: Type.String({ minLength: 1, description: 'As in statusListCredential.' }),
})

const listFormDefault: ProofForm = 'eddsa-rdfc-2022'

export const statusListQuery = Type.Object({
  proof: Type.Optional(
    Type.Union(
      proofForms.map((form) => Type.Literal(form)),
      { description: `One of ${proofForms.join(', ')}; ${listFormDefault} unless given.` },
    ),
  ),
})

export function listFormOf(query: Static<typeof statusListQuery>): ProofForm {
  return query.proof ?? listFormDefault
}

export const publicKeyQuery = Type.Object({
  kid: Type.Optional(
    Type.String({
      pattern: '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$',
      description: 'Fragment of a verification method.',
    }),
  ),
})

export const publicKeyDocument = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('score_vc_public_key')),
    id: Type.String(),
    issuer: Type.String(),
    proofType: Type.Literal(nativeProofType),
    proofPurpose: Type.Literal('assertionMethod'),
    verificationMethod: Type.Object(
      {
        id: Type.String(),
        type: Type.Literal('Ed25519VerificationKey2020'),
        controller: Type.String(),
        publicKeyBase64url: Type.String({ pattern: '^[A-Za-z0-9_-]+$' }),
      },
      closed,
    ),
  },
  closed,
)

export const didDocument = Type.Object({
  '@context': Type.Array(Type.String()),
  id: Type.String(),
  verificationMethod: Type.Array(Type.Object({})),
  assertionMethod: Type.Array(Type.String()),
})

export const statusListCredential = Type.Object(
  {
    '@context': Type.Array(Type.String()),
    type: Type.Array(Type.String()),
    issuer: Type.String(),
    validFrom: Type.String(dateTime),
    validUntil: Type.Optional(Type.String(dateTime)),
    credentialSubject: Type.Object({}),
    proof: Type.Object({}),
  },
  { title: 'StatusListCredential' },
)

/**
 * Documents the body in the contract. A missing member is a finding of the verification, never a
 * 400.
 */
export const verifyRequest = Type.Object(
  {
    '@context': Type.Array(Type.String()),
    type: Type.Array(Type.String()),
    issuer: Type.String(),
    issuanceDate: Type.Optional(Type.String(dateTime)),
    credentialSubject: Type.Object({}),
    credentialStatus: Type.Optional(Type.Object({})),
    proof: Type.Object({}),
  },
  { title: 'PresentedCredential' },
)

export const verifyResult = Type.Object({
  schemaVersion: Type.Literal(schemaVersion('score_vc_verify')),
  valid: Type.Boolean(),
  signatureValid: Type.Boolean(),
  issuerMatch: Type.Boolean(),
  revocation: Type.Object(
    {
      checked: Type.Boolean(),
      revoked: Type.Boolean(),
      revokedAt: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    },
    closed,
  ),
  credential: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  notes: Type.Array(Type.String()),
  reason: Type.Optional(Type.String()),
  message: Type.String(),
  presented: Type.Record(Type.String(), Type.Unknown()),
})
export type VerifyResult = Static<typeof verifyResult>

export const verifierDescription = Type.Object(
  {
    endpoint: Type.String(),
    schemaVersion: Type.String(),
    acceptedContentTypes: Type.Array(Type.String()),
    maxBodyBytes: Type.Integer(),
    rateLimits: Type.Optional(
      Type.Object(
        {
          anonymous: Type.Object({ perMinute: Type.Integer(), perDay: Type.Integer() }, closed),
          apiKey: Type.String(),
        },
        closed,
      ),
    ),
    docs: Type.Optional(Type.String()),
    humanUi: Type.Optional(Type.String({ description: 'The page on which a browser verifies.' })),
  },
  closed,
)

/** A score to issue a credential for: one line of `assay credentials issue --from`. */
export const scoreLine = Type.Object(
  {
    id: Type.Optional(Type.String({ format: 'uuid' })),
    username: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$' }),
    score: Type.Integer({ minimum: 0, maximum: 1000 }),
    scoreBand: Type.Optional(Type.String()),
    confidenceLow: Type.Integer({ minimum: 0, maximum: 1000 }),
    confidenceHigh: Type.Integer({ minimum: 0, maximum: 1000 }),
    evidenceCount: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    engineVersion: Type.String({ pattern: '^[0-9A-Za-z.+-]{1,64}$' }),
    engineBinarySha256: Type.String(hex64),
  },
  closed,
)

/** Wire shapes of score credentials. */
import { type Static, Type } from 'typebox'
import {
  dateTime,
  openObject,
  schemaVersionField,
  text,
  total,
  urlLengthMax,
} from '../edge/http/fields.ts'
import { nativeProofType, wellKnownPath } from '../edge/http/identifiers.ts'
import { closedObject } from '../platform/json/closed-object.ts'
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
const points = (description: string) => Type.Integer({ minimum: 0, maximum: 1000, description })

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

const checkedAt = dateTime('When the service read the status.')

/** `revokedAt` is there exactly if the credential is revoked. */
export const credentialStatus = Type.Union(
  [
    closedObject(
      {
        schemaVersion: schemaVersionField('score_vc_status'),
        status: Type.Literal('active', { description: 'The credential is not revoked.' }),
        revoked: Type.Literal(false, { description: 'The credential is not revoked.' }),
        checkedAt,
      },
      { title: 'ActiveCredentialStatus', description: 'A credential in force.' },
    ),
    closedObject(
      {
        schemaVersion: schemaVersionField('score_vc_status'),
        status: Type.Literal('revoked', { description: 'The credential is revoked.' }),
        revoked: Type.Literal(true, { description: 'The credential is revoked.' }),
        revokedAt: dateTime('When the credential was revoked.'),
        checkedAt,
      },
      { title: 'RevokedCredentialStatus', description: 'A revoked credential.' },
    ),
  ],
  { title: 'ScoreCredentialStatus', description: 'Whether a credential is revoked.' },
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

export const publicKeyDocument = closedObject({
  schemaVersion: schemaVersionField('score_vc_public_key'),
  id: text(urlLengthMax, 'The URL of this document.'),
  issuer: text(urlLengthMax, 'The did:web identifier of the owner of the key.'),
  proofType: Type.Literal(nativeProofType, { description: 'The type of native proofs.' }),
  proofPurpose: Type.Literal('assertionMethod', { description: 'The purpose of the key.' }),
  verificationMethod: closedObject(
    {
      id: text(urlLengthMax, 'Names the key in proofs.'),
      type: Type.Literal('Ed25519VerificationKey2020', { description: 'The type of the key.' }),
      controller: text(urlLengthMax, 'The did:web identifier of the owner of the key.'),
      publicKeyBase64url: Type.String({
        pattern: '^[A-Za-z0-9_-]+$',
        description: 'The 32 bytes of the key, in base64url without padding.',
      }),
    },
    { description: 'The public key.' },
  ),
})

const contexts = Type.Array(Type.String({ maxLength: urlLengthMax }), {
  description: 'The JSON-LD contexts that define the members.',
})

export const didDocument = Type.Object({
  '@context': contexts,
  id: text(urlLengthMax, 'The did:web identifier of this service.'),
  verificationMethod: Type.Array(Type.Object({}), {
    description: 'The keys that sign, have signed or will sign, as Multikey.',
  }),
  assertionMethod: Type.Array(Type.String({ maxLength: urlLengthMax }), {
    description:
      'The keys whose credentials are accepted: those that sign or have signed, unless revoked.',
  }),
})

export const statusListCredential = Type.Object(
  {
    '@context': contexts,
    type: Type.Array(Type.String({ maxLength: 80 }), { description: 'The types of the list.' }),
    issuer: text(urlLengthMax, 'The did:web identifier of the service that signed it.'),
    validFrom: dateTime('When the list begins to be valid.'),
    validUntil: Type.Optional(dateTime('When the list ends to be valid. Fetch it again then.')),
    credentialSubject: openObject('The list: one bit for each credential.'),
    proof: openObject('The signature, in the requested form.'),
  },
  { title: 'StatusListCredential', description: 'A signed list of revocations.' },
)

/**
 * Documents the body in the contract. A missing member is a finding of the verification, never a
 * 400.
 */
export const verifyRequest = Type.Object(
  {
    '@context': Type.Array(Type.String(), { description: 'As in the credential.' }),
    type: Type.Array(Type.String(), { description: 'As in the credential.' }),
    issuer: Type.String({ description: 'As in the credential.' }),
    issuanceDate: Type.Optional(dateTime('As in the credential.')),
    credentialSubject: openObject('As in the credential.'),
    credentialStatus: Type.Optional(openObject('As in the credential.')),
    proof: openObject('As in the credential. Native proofs and Data Integrity proofs are read.'),
  },
  {
    title: 'PresentedCredential',
    description: 'A credential exactly as it was issued, with every member.',
  },
)

/** The members that a genuine credential has. The object is open, as in the specification. */
const verifiedClaims = Type.Object(
  {
    issuer: Type.Optional(text(urlLengthMax, 'The did:web identifier of the service.')),
    subject: Type.Optional(text(urlLengthMax, 'The URL of the candidate.')),
    score: Type.Optional(points('The score.')),
    scoreBand: Type.Optional(text(40, 'The band of the score.')),
    confidenceLow: Type.Optional(points('The low end of the range around the score.')),
    confidenceHigh: Type.Optional(points('The high end of the range around the score.')),
    issuedAt: Type.Optional(text(40, 'When the credential was issued.')),
    engineId: Type.Optional(text(200, 'Names the engine that computed the score.')),
    engineVersion: Type.Optional(text(64, 'The version of the engine.')),
    engineBinarySha256: Type.Optional(
      Type.String({ ...hex64, description: 'SHA-256 of the file of the engine.' }),
    ),
    verificationMethod: Type.Optional(text(urlLengthMax, 'Names the key that signed.')),
  },
  {
    title: 'VerifiedClaims',
    additionalProperties: true,
    description: 'The claims of the credential. Absent unless issuer and signature are right.',
  },
)

export const verifyResult = Type.Object({
  schemaVersion: schemaVersionField('score_vc_verify'),
  valid: Type.Boolean({ description: 'Whether every check passed. Rely on this member.' }),
  signatureValid: Type.Boolean({
    description: 'Whether a key of this service signed exactly these members.',
  }),
  issuerMatch: Type.Boolean({ description: 'Whether the credential names this service.' }),
  revocation: closedObject(
    {
      checked: Type.Boolean({ description: 'Whether the status was read.' }),
      revoked: Type.Boolean({ description: 'Whether the credential is revoked.' }),
      revokedAt: Type.Optional(
        Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
          description: 'When the credential was revoked. Absent or null if it is not.',
        }),
      ),
    },
    { description: 'The status of the credential.' },
  ),
  credential: Type.Optional(verifiedClaims),
  notes: Type.Array(Type.String({ maxLength: 1_000 }), {
    description: 'Codes of further facts, such as the form of the proof or a retired key.',
  }),
  reason: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Names the first check that failed. Absent if the credential is valid.',
    }),
  ),
  message: Type.String({ description: 'Explains the verdict to a reader.' }),
  presented: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'Facts of the request that no check has confirmed, such as its digests. For finding mistakes.',
  }),
})
export type VerifyResult = Static<typeof verifyResult>

export const verifierDescription = closedObject({
  endpoint: text(urlLengthMax, 'The URL to which a credential is sent by POST.'),
  schemaVersion: text(64, 'Names the form of the verdict.'),
  acceptedContentTypes: Type.Array(Type.String({ maxLength: 80 }), {
    description: 'The media types of the request.',
  }),
  maxBodyBytes: total('The largest size of a request.'),
  rateLimits: Type.Optional(
    closedObject(
      {
        anonymous: closedObject(
          {
            perMinute: total('Calls in any minute.'),
            perDay: total('Calls in any 24 hours.'),
          },
          { description: 'The limits of each address without a key.' },
        ),
        apiKey: text(200, 'The limits of each API key, in words.'),
      },
      { description: 'The limits of callers.' },
    ),
  ),
  docs: Type.Optional(text(urlLengthMax, 'The URL of the documentation.')),
  humanUi: Type.Optional(text(urlLengthMax, 'The URL of the page on which a browser verifies.')),
})

/** A score to issue a credential for: one line of `assay credentials issue --from`. */
export const scoreLine = closedObject({
  id: Type.Optional(Type.String({ format: 'uuid' })),
  username: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$' }),
  score: Type.Integer({ minimum: 0, maximum: 1000 }),
  scoreBand: Type.Optional(Type.String()),
  confidenceLow: Type.Integer({ minimum: 0, maximum: 1000 }),
  confidenceHigh: Type.Integer({ minimum: 0, maximum: 1000 }),
  evidenceCount: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
  engineVersion: Type.String({ pattern: '^[0-9A-Za-z.+-]{1,64}$' }),
  engineBinarySha256: Type.String(hex64),
})

/** Wire shapes of the candidate reads. */
import { type Static, Type } from 'typebox'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { type ProofForm, proofForms } from '../score-credentials/proof.ts'
import { scoreBands } from '../skill-standard/bands.ts'
import { usernamePathPattern, usernamePattern } from '../workers/username.ts'

const closed = { additionalProperties: false }
const textOrNull = Type.Union([Type.String(), Type.Null()])
const count = Type.Integer({ minimum: 0 })

const candidateSkill = Type.Object(
  { name: Type.String(), verified: Type.Boolean(), level: textOrNull },
  { title: 'CandidateSkill', ...closed },
)

const candidatePreview = Type.Object(
  {
    username: Type.String({ pattern: '^[a-z0-9_][a-z0-9_.-]{0,62}$' }),
    displayName: Type.String(),
    title: textOrNull,
    avatarUrl: textOrNull,
    profilePath: Type.String({ description: '/u/ and the username.' }),
    topSkills: Type.Array(candidateSkill, {
      description: 'At most five skills, verified ones first.',
    }),
    matchedSkills: Type.Array(candidateSkill, {
      description: 'The skills that the query matches.',
    }),
    skillCount: count,
    verifiedSkillCount: count,
  },
  { title: 'CandidatePreview', ...closed },
)
export type CandidatePreview = Static<typeof candidatePreview>

export const searchResult = Type.Object(
  { query: Type.String(), candidates: Type.Array(candidatePreview), resultCount: count },
  { title: 'CandidateSearchResult', ...closed },
)
export type SearchResult = Static<typeof searchResult>

const scoreNumber = Type.Integer({ minimum: 0, maximum: 1000 })
const sha256Hex = Type.String({ pattern: '^[0-9a-f]{64}$' })
const publicUsername = Type.String({ pattern: usernamePattern })

const scoreParts = {
  score: scoreNumber,
  confidence: Type.Object(
    { low: scoreNumber, high: scoreNumber },
    { title: 'ScoreConfidence', ...closed },
  ),
  scoreBand: Type.Enum(scoreBands.map(({ band }) => band)),
  issuedAt: Type.String({ format: 'date-time' }),
  evidenceCount: count,
  engineVersion: Type.String(),
  scoreVc: Type.Union([
    Type.Object(
      { sha256: sha256Hex, statusUrl: textOrNull, statusListCredential: textOrNull },
      { title: 'ScoreCredentialReference', ...closed },
    ),
    Type.Null(),
  ]),
}

const candidateScore = Type.Object(scoreParts, { title: 'CandidateScore', ...closed })
export type CandidateScore = Static<typeof candidateScore>

export const candidateDetail = Type.Object(
  {
    username: publicUsername,
    displayName: Type.String(),
    title: textOrNull,
    bio: textOrNull,
    avatarUrl: textOrNull,
    profilePath: Type.String({ description: '/u/ and the username.' }),
    memberSince: Type.Union([Type.String({ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' }), Type.Null()]),
    skills: Type.Array(candidateSkill),
    skillCount: count,
    verifiedSkillCount: count,
    score: Type.Union([candidateScore, Type.Null()]),
  },
  { title: 'CandidateDetail', ...closed },
)
export type CandidateDetail = Static<typeof candidateDetail>

export const publicScore = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('public_score')),
    id: sha256Hex,
    ...scoreParts,
    profile: Type.Object(
      {
        username: publicUsername,
        displayName: Type.String(),
        avatarUrl: textOrNull,
        profilePath: Type.String({ description: '/u/ and the username.' }),
      },
      { title: 'ScoredProfile', ...closed },
    ),
  },
  { title: 'PublicScore', ...closed },
)
export type PublicScore = Static<typeof publicScore>

export const usernamePath = Type.Object({
  username: Type.String({
    pattern: usernamePathPattern,
    description:
      'A username, with or without a leading @: 3 to 30 characters a-z, 0-9, _ and -, first and last a letter or digit; not the word search.',
    oneSpelling: (username: string) => username.replace(/^@/, ''),
  }),
})

export const scoreIdPath = Type.Object({
  scoreId: Type.String({
    pattern: '^[0-9a-fA-F]{64}$',
    description: '64 hex characters in either case.',
    oneSpelling: (id: string) => id.toLowerCase(),
  }),
})

/** Lengths are in code points, as JSON Schema counts them. */
export const searchQuery = Type.Object({
  q: Type.String({
    minLength: 2,
    maxLength: 80,
    description:
      'The beginning of a skill, a handle, a display name or a title, 2 to 80 characters. A leading @ searches handles only.',
  }),
  limit: Type.String({
    pattern: '^([1-9]|[1-4][0-9]|50)$',
    default: '18',
    description: 'A whole number from 1 to 50, default 18.',
    published: { type: 'integer', minimum: 1, maximum: 50, default: 18 },
  }),
})

/** The credential as it was issued. Open, because its own contexts define its members. */
export const scoreCredential = Type.Object(
  {
    '@context': Type.Array(Type.String()),
    id: Type.String(),
    type: Type.Array(Type.String()),
    issuer: Type.String(),
    issuanceDate: Type.String({ format: 'date-time' }),
    validFrom: Type.String({ format: 'date-time' }),
    validUntil: Type.String({ format: 'date-time' }),
    credentialSubject: Type.Object({}),
    credentialStatus: Type.Object({}),
    proof: Type.Object({}),
  },
  { title: 'ScoreCredential' },
)

const proofFormDefault: ProofForm = 'native'

export const proofQuery = Type.Object({
  proof: Type.Union(
    proofForms.map((form) => Type.Literal(form)),
    {
      default: proofFormDefault,
      description: `The form of the proof: ${proofForms.join(', ')}; default ${proofFormDefault}.`,
    },
  ),
})

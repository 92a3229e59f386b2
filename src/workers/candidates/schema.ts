/** Wire shapes of the candidate reads. */
import { type Static, Type } from 'typebox'
import { type ProofForm, proofForms } from '../../credentials/proof.ts'
import {
  dateTime,
  hex64,
  openObject,
  schemaVersionField,
  text,
  textOrNull,
  total,
  urlLengthMax,
} from '../../edge/http/fields.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { scoreBands } from '../../standard/bands.ts'
import { profilePathForm, publicUsernameForm, usernamePathForm } from '../username.ts'

const candidateSkill = closedObject(
  {
    name: text(80, 'The name of the skill, as on the profile.'),
    verified: Type.Boolean({ description: 'Whether evidence supports the skill.' }),
    level: textOrNull(
      40,
      'The level of the skill, such as advanced. Null if the profile names none.',
    ),
  },
  { title: 'CandidateSkill', description: 'A skill of a candidate.' },
)

const displayName = text(80, 'The name that the candidate shows.')
const title = textOrNull(120, 'The professional title. Null if the candidate gives none.')
const avatarUrl = textOrNull(
  urlLengthMax,
  'The https URL of a picture. Null if the candidate gives none.',
)
const skillCount = total('Skills on the profile.')
const verifiedSkillCount = total('Skills on the profile that evidence supports.')

const candidatePreview = closedObject(
  {
    username: Type.String({
      pattern: '^[a-z0-9_][a-z0-9_.-]{0,62}$',
      description: 'Names the candidate in paths.',
    }),
    displayName,
    title,
    avatarUrl,
    profilePath: Type.String({
      pattern: '^/u/[a-z0-9_][a-z0-9_.-]{0,62}$',
      description: 'The path of the public profile: /u/ and the username.',
    }),
    topSkills: Type.Array(candidateSkill, {
      maxItems: 5,
      description: 'At most five skills, verified ones first.',
    }),
    matchedSkills: Type.Array(candidateSkill, {
      description: 'The skills that the query matches.',
    }),
    skillCount,
    verifiedSkillCount,
  },
  { title: 'CandidatePreview', description: 'A candidate in a search result.' },
)
export type CandidatePreview = Static<typeof candidatePreview>

export const searchResult = closedObject(
  {
    query: text(80, 'The words of the search.'),
    candidates: Type.Array(candidatePreview, {
      maxItems: 50,
      description: 'The best match comes first.',
    }),
    resultCount: total('Candidates in this answer.'),
  },
  { title: 'CandidateSearchResult' },
)
export type SearchResult = Static<typeof searchResult>

const scoreNumber = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 1000, description })
const publicUsername = Type.String({
  ...publicUsernameForm,
  description: 'Names the candidate in paths.',
})
const profilePath = Type.String({
  ...profilePathForm,
  description: 'The path of the public profile: /u/ and the username.',
})

const scoreParts = {
  score: scoreNumber('From 0 to 1000.'),
  confidence: closedObject(
    {
      low: scoreNumber('The low end of the range.'),
      high: scoreNumber('The high end of the range.'),
    },
    {
      title: 'ScoreConfidence',
      description: 'The range around the score. More evidence makes it narrower.',
    },
  ),
  scoreBand: Type.Enum(
    scoreBands.map(({ band }) => band),
    { description: 'The band of the score. /standard/v1/score-bands.jsonld defines the bands.' },
  ),
  issuedAt: dateTime('When the score was issued.'),
  evidenceCount: total('Items of evidence that the score rests on.'),
  engineVersion: text(64, 'The version of the engine that computed the score.'),
  scoreVc: Type.Union(
    [
      closedObject(
        {
          sha256: hex64('SHA-256 of the payload of the credential.'),
          statusUrl: textOrNull(
            urlLengthMax,
            'The URL that says whether the credential is revoked.',
          ),
          statusListCredential: textOrNull(
            urlLengthMax,
            'The URL of the signed list of revocations that covers the credential.',
          ),
        },
        { title: 'ScoreCredentialReference', description: 'The credential of the score.' },
      ),
      Type.Null(),
    ],
    { description: 'The credential of the score. Null if it has none.' },
  ),
}

const candidateScore = closedObject(scoreParts, {
  title: 'CandidateScore',
  description: 'The public score of a candidate.',
})
export type CandidateScore = Static<typeof candidateScore>

export const candidateDetail = closedObject(
  {
    username: publicUsername,
    displayName,
    title,
    bio: textOrNull(2_000, 'What the candidate writes about themselves. Null if there is none.'),
    avatarUrl,
    profilePath,
    memberSince: Type.Union([Type.String({ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' }), Type.Null()], {
      description: 'The month in which the candidate joined. Null if it is not known.',
    }),
    skills: Type.Array(candidateSkill, { description: 'The skills on the profile.' }),
    skillCount,
    verifiedSkillCount,
    score: Type.Union([candidateScore, Type.Null()], {
      description:
        'The public score. Null if there is none, or if the candidate does not share it.',
    }),
  },
  { title: 'CandidateDetail' },
)
export type CandidateDetail = Static<typeof candidateDetail>

export const publicScore = closedObject(
  {
    schemaVersion: schemaVersionField('public_score'),
    id: hex64('Names the score in paths. A recomputed score has another id.'),
    ...scoreParts,
    profile: closedObject(
      {
        username: publicUsername,
        displayName,
        avatarUrl,
        profilePath,
      },
      { title: 'ScoredProfile', description: 'The candidate of the score.' },
    ),
  },
  { title: 'PublicScore', description: 'A public score.' },
)
export type PublicScore = Static<typeof publicScore>

export const usernamePath = Type.Object({
  username: Type.String({
    ...usernamePathForm,
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
  after: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{7,100}$',
      description:
        'From the Link header with rel="next" of the page before. Each page costs as a search.',
    }),
  ),
})

/** The credential as it was issued. Open, because its own contexts define its members. */
export const scoreCredential = Type.Object(
  {
    '@context': Type.Array(Type.String({ maxLength: urlLengthMax }), {
      description: 'The JSON-LD contexts that define the members.',
    }),
    id: text(urlLengthMax, 'Names the credential.'),
    type: Type.Array(Type.String({ maxLength: 80 }), {
      description: 'The types of the credential.',
    }),
    issuer: text(urlLengthMax, 'The did:web identifier of the service that signed it.'),
    issuanceDate: dateTime('When the credential was issued.'),
    validFrom: dateTime('When it begins to be valid.'),
    validUntil: dateTime('When it ends to be valid.'),
    credentialSubject: openObject('The claims: the candidate, the score and its range.'),
    credentialStatus: openObject('The entry of the credential in the list of revocations.'),
    proof: openObject('The signature, in the requested form.'),
  },
  {
    title: 'ScoreCredential',
    description: 'A signed score. Keep it as it is: each change breaks the signature.',
  },
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

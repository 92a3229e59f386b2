/** Wire shapes of the candidate reads (spec §2.5). */
import { type Static, Type } from 'typebox'
import { usernamePattern } from '../people/username.ts'

const closed = { additionalProperties: false }
const textOrNull = Type.Union([Type.String(), Type.Null()])
const count = Type.Integer({ minimum: 0 })

export const candidateSkill = Type.Object(
  { name: Type.String(), verified: Type.Boolean(), level: textOrNull },
  { title: 'CandidateSkill', ...closed },
)

export const candidatePreview = Type.Object(
  {
    username: Type.String({ pattern: '^[a-z0-9_][a-z0-9_.-]{0,62}$' }),
    displayName: Type.String(),
    title: textOrNull,
    avatarUrl: textOrNull,
    profilePath: Type.String({ description: '/u/ and the username.' }),
    topSkills: Type.Array(candidateSkill, { description: 'Five at most, verified ones first.' }),
    matchedSkills: Type.Array(candidateSkill, { description: 'Those that the query matches.' }),
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

/** Code points, as JSON Schema counts them. */
export const searchQuery = Type.Object({
  q: Type.String({
    minLength: 2,
    maxLength: 80,
    description:
      'The beginning of a skill, a handle, a display name or a title, 2 to 80 characters. A leading @ searches handles alone.',
  }),
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9]|[1-4][0-9]|50)$',
      description: 'A whole number from 1 to 50; 18 unless given.',
    }),
  ),
})

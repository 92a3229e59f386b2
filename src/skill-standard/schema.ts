/** Wire shapes of the skill standard. */
import { type Static, Type } from 'typebox'
import { schemaVersion } from '../platform/http/identifiers.ts'

const closed = { additionalProperties: false }
const open = { additionalProperties: true }
const skillId = Type.String({ pattern: '^hss:[a-z0-9-]+$' })

export const domains = ['technical', 'creative', 'interpersonal', 'domain', 'foundational'] as const

const evidenceType = Type.Object(
  {
    type: Type.String(),
    weight: Type.Number({ minimum: 0, maximum: 1 }),
    signal: Type.String({
      description: 'The evidence to look at, and the difference between strong and weak.',
    }),
  },
  closed,
)

const proficiencyRubric = Type.Object(
  {
    novice: Type.String(),
    intermediate: Type.String(),
    advanced: Type.String(),
    expert: Type.String(),
  },
  closed,
)

export const skillRecord = Type.Object(
  {
    '@context': Type.String(),
    '@type': Type.Literal('Skill'),
    '@id': Type.String({ description: 'The absolute URL of this record.' }),
    id: skillId,
    version: Type.String(),
    label: Type.String(),
    aliases: Type.Array(Type.String()),
    domain: Type.Enum([...domains]),
    subdomain: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    category: Type.Array(Type.String()),
    description: Type.String(),
    evidence_types: Type.Array(evidenceType),
    decay_half_life_months: Type.Integer({ minimum: 0, description: '0: does not decay.' }),
    depends_on: Type.Array(Type.String()),
    related_to: Type.Array(Type.String()),
    proficiency_rubric: proficiencyRubric,
    anchored: Type.String({
      description: 'sha256: and the hex digest of the canonical JSON of the record without it.',
    }),
  },
  { title: 'Skill', ...closed },
)
export type SkillRecord = Static<typeof skillRecord>

export const skillCatalog = Type.Object(
  {
    '@context': Type.String(),
    '@type': Type.Literal('SkillCatalog'),
    version: Type.String(),
    count: Type.Integer({ minimum: 0 }),
    skills: Type.Array(skillRecord),
  },
  { title: 'SkillCatalog', ...open },
)

export const skillNotFound = Type.Object(
  { error: Type.Literal('skill_not_found'), id: skillId },
  { title: 'SkillNotFound', ...closed },
)

export const scoreBandDefinitionSet = Type.Object(
  {
    '@context': Type.String(),
    '@type': Type.Literal('ScoreBandDefinitionSet'),
    '@id': Type.String(),
    version: Type.String(),
    score_scale: Type.Object({}, open),
    bands: Type.Array(Type.Object({}, open)),
  },
  open,
)

export const skillNotes = Type.Object(
  {
    '@context': Type.String(),
    '@type': Type.Literal('SkillNotes'),
    '@id': Type.String({ description: 'The absolute URL of these notes.' }),
    about: skillId,
    about_version: Type.String({ description: 'The version of the record that the notes cover.' }),
    weights_rationale: Type.String(),
    half_life_rationale: Type.String(),
    role_note: Type.Union([Type.Null(), Type.String()], {
      description: 'The part of the rubric that describes a role instead of proficiency.',
    }),
    sources: Type.Array(
      Type.Object(
        { title: Type.String(), publisher: Type.String(), identifier: Type.String() },
        closed,
      ),
    ),
    reviews: Type.Array(
      Type.Object(
        {
          reviewer: Type.String(),
          reviewed_at: Type.String({ format: 'date' }),
          comment: Type.String(),
        },
        closed,
      ),
      { description: 'Empty until a practitioner has reviewed the record.' },
    ),
    license: Type.String(),
  },
  { title: 'SkillNotes', ...closed },
)
export type SkillNotes = Static<typeof skillNotes>

export const termsDocument = Type.Object(
  { '@context': Type.Object({}, open), '@graph': Type.Array(Type.Object({}, open)) },
  closed,
)

export const releaseList = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('skill_releases')),
    releases: Type.Array(
      Type.Object(
        {
          version: Type.String(),
          releasedAt: Type.String({ format: 'date-time' }),
          contentHash: Type.String({
            description:
              'sha256: and the hex digest of the canonical JSON of the release without addresses.',
          }),
          catalogUrl: Type.String({ format: 'uri' }),
          csvUrl: Type.String({ format: 'uri' }),
          nQuadsUrl: Type.String({ format: 'uri' }),
          crosswalkUrl: Type.String({ format: 'uri' }),
        },
        closed,
      ),
    ),
  },
  closed,
)
export type ReleaseList = Static<typeof releaseList>

export const releasePath = Type.Object({
  version: Type.String({ minLength: 1, maxLength: 32, description: 'A released version.' }),
})

export const jsonLdContext = Type.Object({ '@context': Type.Object({}, open) }, open)

export const skillPath = Type.Object({
  id: Type.String({
    minLength: 1,
    description:
      'A skill slug, a slug with the suffix .jsonld, or an id such as hss:typescript. ' +
      'A slug is lowercase letters and digits joined by single hyphens, at most 64 characters.',
  }),
})

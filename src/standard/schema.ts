/** Wire shapes of the skill standard. */
import { type Static, Type } from 'typebox'
import {
  dateTime,
  openObject,
  schemaVersionField,
  text,
  textOrNull,
  total,
  url,
  urlLengthMax,
} from '../edge/http/fields.ts'
import { closedObject, listOf } from '../platform/json/closed-object.ts'

const open = { additionalProperties: true }
const skillId = Type.String({
  pattern: '^hss:[a-z0-9-]+$',
  description: 'The id of the skill: hss: and its slug.',
})
const skillIds = (description: string) =>
  Type.Array(Type.String({ maxLength: 68 }), { description })
const context = text(urlLengthMax, 'The URL of the JSON-LD context that defines the members.')
const version = (description: string) => text(32, description)

export const domains = ['technical', 'creative', 'interpersonal', 'domain', 'foundational'] as const

const evidenceType = closedObject({
  type: text(64, 'The type of evidence, a word of the vocabulary.'),
  weight: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'How much the type counts for this skill. The weights of a skill add up to 1.',
  }),
  signal: text(240, 'The evidence to look at, and the difference between strong and weak.'),
})

const proficiencyRubric = closedObject(
  {
    novice: text(240, 'What a novice does.'),
    intermediate: text(240, 'What a worker of intermediate level does.'),
    advanced: text(240, 'What a worker of advanced level does.'),
    expert: text(240, 'What an expert does.'),
  },
  { description: 'What a worker does at each level.' },
)

export const skillRecord = closedObject(
  {
    '@context': context,
    '@type': Type.Literal('Skill', { description: 'The type of the record.' }),
    '@id': text(urlLengthMax, 'The absolute URL of this record.'),
    id: skillId,
    version: version('The version of this record.'),
    label: text(60, 'The name of the skill.'),
    aliases: Type.Array(Type.String({ maxLength: 60 }), {
      description: 'Other names of the skill.',
    }),
    domain: Type.Enum([...domains], { description: 'The domain of the skill.' }),
    subdomain: Type.Optional(
      textOrNull(64, 'The part of the domain. Null or absent if there is none.'),
    ),
    category: Type.Array(Type.String({ maxLength: 64 }), {
      description: 'The categories of the skill.',
    }),
    description: text(400, 'What the skill is.'),
    evidence_types: Type.Array(evidenceType, {
      description: 'The evidence that counts for this skill, with weights.',
    }),
    decay_half_life_months: total('Months after which evidence counts half. 0: it does not decay.'),
    depends_on: skillIds('Skills that this one builds on.'),
    related_to: skillIds('Skills that are close to this one.'),
    proficiency_rubric: proficiencyRubric,
    anchored: text(
      71,
      'sha256: and the hex digest of the canonical JSON of the record without it.',
    ),
  },
  { title: 'Skill', description: 'One skill of the standard.' },
)
export type SkillRecord = Static<typeof skillRecord>

export const skillCatalog = Type.Object(
  {
    '@context': context,
    '@type': Type.Literal('SkillCatalog', { description: 'The type of the document.' }),
    version: version('The version of the release.'),
    count: total('Skills in the catalog.'),
    skills: Type.Array(skillRecord, { description: 'Every skill of the release.' }),
  },
  { title: 'SkillCatalog', description: 'Every skill of one release.', ...open },
)

export const skillNotFound = closedObject(
  {
    error: Type.Literal('skill_not_found', { description: 'Names the error.' }),
    id: skillId,
  },
  { title: 'SkillNotFound', description: 'No skill has this id.' },
)

export const scoreBandDefinitionSet = Type.Object(
  {
    '@context': context,
    '@type': Type.Literal('ScoreBandDefinitionSet', { description: 'The type of the document.' }),
    '@id': text(urlLengthMax, 'The absolute URL of this document.'),
    version: version('The version of the definitions.'),
    score_scale: openObject('The smallest and the largest score.'),
    bands: Type.Array(Type.Object({}, open), {
      description: 'Each band with its scores and its meaning.',
    }),
  },
  open,
)

export const skillNotes = closedObject(
  {
    '@context': context,
    '@type': Type.Literal('SkillNotes', { description: 'The type of the document.' }),
    '@id': text(urlLengthMax, 'The absolute URL of these notes.'),
    about: skillId,
    about_version: version('The version of the record that the notes cover.'),
    weights_rationale: text(600, 'The reason for the weights.'),
    half_life_rationale: text(600, 'The reason for the half-life.'),
    role_note: textOrNull(
      600,
      'The part of the rubric that describes a role instead of proficiency. Null if there is none.',
    ),
    sources: listOf(
      {
        title: Type.String({ minLength: 3, description: 'The title of the source.' }),
        publisher: Type.String({ minLength: 2, description: 'The publisher of the source.' }),
        identifier: Type.String({
          minLength: 3,
          description: 'A DOI as a URL, a URL, or the number of a standard.',
        }),
      },
      { description: 'The literature that the reasons rest on.' },
    ),
    reviews: listOf(
      {
        reviewer: text(120, 'The name of the reviewer.'),
        reviewed_at: Type.String({ format: 'date', description: 'The day of the review.' }),
        comment: text(600, 'The finding of the reviewer.'),
      },
      { description: 'Empty until a practitioner has reviewed the record.' },
    ),
    license: text(urlLengthMax, 'The license of the notes.'),
  },
  { title: 'SkillNotes', description: 'The reasons for the numbers of one skill.' },
)
export type SkillNotes = Static<typeof skillNotes>

export const termsDocument = closedObject({
  '@context': openObject('The prefixes of the terms.'),
  '@graph': Type.Array(Type.Object({}, open), {
    description: 'The classes, properties and concepts.',
  }),
})

export const releaseList = closedObject({
  schemaVersion: schemaVersionField('skill_releases'),
  releases: listOf(
    {
      version: version('The version of the release.'),
      releasedAt: dateTime('When the release was published.'),
      contentHash: text(
        71,
        'sha256: and the hex digest of the canonical JSON of the release without addresses.',
      ),
      catalogUrl: url('The catalog as JSON-LD.'),
      csvUrl: url('Every skill record as a table.'),
      nQuadsUrl: url('The catalog as N-Quads.'),
      crosswalkUrl: url('Mappings to ESCO and O*NET as a table.'),
    },
    { description: 'The newest release comes first.' },
  ),
})
export type ReleaseList = Static<typeof releaseList>

export const releasePath = Type.Object({
  version: Type.String({ minLength: 1, maxLength: 32, description: 'A released version.' }),
})

export const jsonLdContext = Type.Object(
  { '@context': openObject('The terms of the standard.') },
  open,
)

export const skillPath = Type.Object({
  id: Type.String({
    minLength: 1,
    description:
      'A skill slug, a slug with the suffix .jsonld, or an id such as hss:typescript. ' +
      'A slug is lowercase letters and digits joined by single hyphens, at most 64 characters.',
  }),
})

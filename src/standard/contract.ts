/** The endpoints of the skill standard. */
import { Type } from 'typebox'
import { type Contract, documentResponses, jsonLdType } from '../edge/http/contract.ts'
import {
  exampleBands,
  exampleCatalog,
  exampleContext,
  exampleCrosswalk,
  exampleNotes,
  exampleNotesCsv,
  exampleNQuads,
  exampleReleases,
  exampleSkill,
  exampleSkillsCsv,
  exampleTerms,
} from './examples.ts'
import {
  jsonLdContext,
  releaseList,
  releasePath,
  scoreBandDefinitionSet,
  skillCatalog,
  skillNotes,
  skillNotFound,
  skillPath,
  skillRecord,
  termsDocument,
} from './schema.ts'

const shared = {
  method: 'GET',
  area: 'skill standard',
  policy: { kind: 'open' },
  document: true,
  priority: 'public',
} as const
const unknownSkill = {
  404: {
    contentType: jsonLdType,
    description: 'No skill has this id.',
    schema: skillNotFound,
    example: { error: 'skill_not_found', id: 'hss:no-such-skill' },
  },
}
const extension = { ...shared, extension: true } as const
/** A release never changes, so caches keep it for a year. */
const released = { ...extension, pathParameters: releasePath } as const
const unknownRelease = {
  404: { description: 'There is no such release.', errors: ['not_found'] },
} as const

const json = documentResponses()
const jsonLd = documentResponses({ contentType: jsonLdType })
const table = documentResponses({ contentType: 'text/csv; charset=utf-8; header=present' })
const csv = (description: string, example: string) => table(description, Type.String(), example)
const nQuads = documentResponses({ contentType: 'application/n-quads' })(
  'The statements of the catalog.',
  Type.String(),
  exampleNQuads,
)

export const skillStandardContract = {
  getSkillStandardContext: {
    ...shared,
    path: '/standard/v1/context.jsonld',
    summary: 'The JSON-LD context of skill records, catalog, score bands and score credentials',
    responses: jsonLd('The context.', jsonLdContext, exampleContext),
  },
  listSkills: {
    ...shared,
    path: '/standard/v1/skills',
    summary: 'The catalog: every skill record of the vocabulary',
    responses: jsonLd(
      'All records with the controlled lists they refer to.',
      skillCatalog,
      exampleCatalog,
    ),
  },
  getSkill: {
    ...shared,
    path: '/standard/v1/skills/{id}',
    summary: 'One skill record',
    description:
      'A deprecated id stays and names its successor in a Link header with rel="successor-version".',
    pathParameters: skillPath,
    responses: { ...jsonLd('The record.', skillRecord, exampleSkill), ...unknownSkill },
  },
  getSkillNotes: {
    ...extension,
    path: '/standard/v1/skills/{id}/notes',
    summary: 'The reasons for the weights and the half-life of one skill',
    description:
      'The notes have sources and reviews. They are no part of the record and change no score.',
    pathParameters: skillPath,
    responses: { ...jsonLd('The notes.', skillNotes, exampleNotes), ...unknownSkill },
  },
  getSkillNotesCsv: {
    ...extension,
    path: '/standard/v1/notes.csv',
    summary: 'The notes on every skill as a table',
    description: 'The notes of the current release, with the sources and the number of reviews.',
    responses: csv('One row for each skill.', exampleNotesCsv),
  },
  getSkillTerms: {
    ...extension,
    path: '/standard/v1/vocab',
    summary: 'The terms of the skill standard, as RDFS and SKOS',
    responses: jsonLd('Every term and every controlled word.', termsDocument, exampleTerms),
  },
  getSkillsCsv: {
    ...extension,
    path: '/standard/v1/skills.csv',
    summary: 'Every skill record as a table',
    responses: csv('One row for each skill.', exampleSkillsCsv),
  },
  getSkillsNQuads: {
    ...extension,
    path: '/standard/v1/skills.nq',
    summary: 'The catalog as N-Quads',
    responses: nQuads,
  },
  getSkillCrosswalk: {
    ...extension,
    path: '/standard/v1/crosswalk.csv',
    summary: 'Mappings of skills to ESCO and O*NET',
    description: 'A skill without a mapping has one row with empty cells for the scheme.',
    responses: csv('One row for each mapping.', exampleCrosswalk),
  },
  listSkillReleases: {
    ...extension,
    path: '/standard/v1/releases',
    summary: 'Every release of the skill standard',
    responses: json('The releases, newest first.', releaseList, exampleReleases),
  },
  getReleasedSkills: {
    ...released,
    path: '/standard/v1/releases/{version}/skills.jsonld',
    summary: 'The catalog of one release',
    responses: {
      ...jsonLd('The catalog as released.', skillCatalog, exampleCatalog),
      ...unknownRelease,
    },
  },
  getReleasedSkillsCsv: {
    ...released,
    path: '/standard/v1/releases/{version}/skills.csv',
    summary: 'Every skill record of one release as a table',
    responses: { ...csv('One row for each skill.', exampleSkillsCsv), ...unknownRelease },
  },
  getReleasedSkillsNQuads: {
    ...released,
    path: '/standard/v1/releases/{version}/skills.nq',
    summary: 'The catalog of one release as N-Quads',
    responses: { ...nQuads, ...unknownRelease },
  },
  getReleasedSkillCrosswalk: {
    ...released,
    path: '/standard/v1/releases/{version}/crosswalk.csv',
    summary: 'Mappings of one release to ESCO and O*NET',
    responses: { ...csv('One row for each mapping.', exampleCrosswalk), ...unknownRelease },
  },
  getScoreBands: {
    ...shared,
    path: '/standard/v1/score-bands.jsonld',
    summary: 'The meaning of each score band',
    responses: jsonLd('The bands.', scoreBandDefinitionSet, exampleBands),
  },
} satisfies Contract

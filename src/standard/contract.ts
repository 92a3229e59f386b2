/** The endpoints of the skill standard. */
import { Type } from 'typebox'
import { type Contract, commonResponses, jsonLdType } from '../edge/http/contract.ts'
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
const jsonLd = { contentType: jsonLdType }
const skillNotFoundResponse = {
  description: 'No skill has this id.',
  schema: skillNotFound,
  example: { error: 'skill_not_found', id: 'hss:no-such-skill' },
}
const extension = { ...shared, extension: true } as const
const csv = { contentType: 'text/csv; charset=utf-8; header=present', schema: Type.String() }
const nQuads = { contentType: 'application/n-quads', schema: Type.String() }
/** A release never changes, so caches keep it for a year. */
const released = { ...extension, pathParameters: releasePath } as const
const releasedResponses = {
  ...commonResponses,
  404: { description: 'There is no such release.', errors: ['not_found'] },
} as const

export const skillStandardContract = {
  getSkillStandardContext: {
    ...shared,
    path: '/standard/v1/context.jsonld',
    summary: 'The JSON-LD context of skill records, catalog, score bands and score credentials',
    responses: {
      ...commonResponses,
      200: {
        ...jsonLd,
        description: 'The context.',
        schema: jsonLdContext,
        example: exampleContext,
      },
    },
  },
  listSkills: {
    ...shared,
    path: '/standard/v1/skills',
    summary: 'The catalog: every skill record of the vocabulary',
    responses: {
      ...commonResponses,
      200: {
        ...jsonLd,
        description: 'All records with the controlled lists they refer to.',
        schema: skillCatalog,
        example: exampleCatalog,
      },
    },
  },
  getSkill: {
    ...shared,
    path: '/standard/v1/skills/{id}',
    summary: 'One skill record',
    description:
      'A deprecated id stays and names its successor in a Link header with rel="successor-version".',
    pathParameters: skillPath,
    responses: {
      ...commonResponses,
      200: { ...jsonLd, description: 'The record.', schema: skillRecord, example: exampleSkill },
      404: { ...jsonLd, ...skillNotFoundResponse },
    },
  },
  getSkillNotes: {
    ...extension,
    path: '/standard/v1/skills/{id}/notes',
    summary: 'The reasons for the weights and the half-life of one skill',
    description:
      'The notes have sources and reviews. They are no part of the record and change no score.',
    pathParameters: skillPath,
    responses: {
      ...commonResponses,
      200: { ...jsonLd, description: 'The notes.', schema: skillNotes, example: exampleNotes },
      404: { ...jsonLd, ...skillNotFoundResponse },
    },
  },
  getSkillNotesCsv: {
    ...extension,
    path: '/standard/v1/notes.csv',
    summary: 'The notes on every skill as a table',
    description: 'The notes of the current release, with the sources and the number of reviews.',
    responses: {
      ...commonResponses,
      200: { ...csv, description: 'One row for each skill.', example: exampleNotesCsv },
    },
  },
  getSkillTerms: {
    ...extension,
    path: '/standard/v1/vocab',
    summary: 'The terms of the skill standard, as RDFS and SKOS',
    responses: {
      ...commonResponses,
      200: {
        ...jsonLd,
        description: 'Every term and every controlled word.',
        schema: termsDocument,
        example: exampleTerms,
      },
    },
  },
  getSkillsCsv: {
    ...extension,
    path: '/standard/v1/skills.csv',
    summary: 'Every skill record as a table',
    responses: {
      ...commonResponses,
      200: { ...csv, description: 'One row for each skill.', example: exampleSkillsCsv },
    },
  },
  getSkillsNQuads: {
    ...extension,
    path: '/standard/v1/skills.nq',
    summary: 'The catalog as N-Quads',
    responses: {
      ...commonResponses,
      200: {
        ...nQuads,
        description: 'The statements of the catalog.',
        example: exampleNQuads,
      },
    },
  },
  getSkillCrosswalk: {
    ...extension,
    path: '/standard/v1/crosswalk.csv',
    summary: 'Mappings of skills to ESCO and O*NET',
    description: 'A skill without a mapping has one row with empty cells for the scheme.',
    responses: {
      ...commonResponses,
      200: { ...csv, description: 'One row for each mapping.', example: exampleCrosswalk },
    },
  },
  listSkillReleases: {
    ...extension,
    path: '/standard/v1/releases',
    summary: 'Every release of the skill standard',
    responses: {
      ...commonResponses,
      200: {
        description: 'The releases, newest first.',
        schema: releaseList,
        example: exampleReleases,
      },
    },
  },
  getReleasedSkills: {
    ...released,
    path: '/standard/v1/releases/{version}/skills.jsonld',
    summary: 'The catalog of one release',
    responses: {
      ...releasedResponses,
      200: {
        ...jsonLd,
        description: 'The catalog as released.',
        schema: skillCatalog,
        example: exampleCatalog,
      },
    },
  },
  getReleasedSkillsCsv: {
    ...released,
    path: '/standard/v1/releases/{version}/skills.csv',
    summary: 'Every skill record of one release as a table',
    responses: {
      ...releasedResponses,
      200: { ...csv, description: 'One row for each skill.', example: exampleSkillsCsv },
    },
  },
  getReleasedSkillsNQuads: {
    ...released,
    path: '/standard/v1/releases/{version}/skills.nq',
    summary: 'The catalog of one release as N-Quads',
    responses: {
      ...releasedResponses,
      200: {
        ...nQuads,
        description: 'The statements of the catalog.',
        example: exampleNQuads,
      },
    },
  },
  getReleasedSkillCrosswalk: {
    ...released,
    path: '/standard/v1/releases/{version}/crosswalk.csv',
    summary: 'Mappings of one release to ESCO and O*NET',
    responses: {
      ...releasedResponses,
      200: { ...csv, description: 'One row for each mapping.', example: exampleCrosswalk },
    },
  },
  getScoreBands: {
    ...shared,
    path: '/standard/v1/score-bands.jsonld',
    summary: 'The meaning of each score band',
    responses: {
      ...commonResponses,
      200: {
        ...jsonLd,
        description: 'The bands.',
        schema: scoreBandDefinitionSet,
        example: exampleBands,
      },
    },
  },
} satisfies Contract

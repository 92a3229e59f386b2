/** The endpoints of the skill standard. */
import { type Contract, commonResponses, jsonLdType } from '../platform/http/contract.ts'
import { exampleBands, exampleCatalog, exampleContext, exampleSkill } from './examples.ts'
import {
  jsonLdContext,
  scoreBandDefinitionSet,
  skillCatalog,
  skillNotFound,
  skillPath,
  skillRecord,
} from './schema.ts'

const shared = {
  method: 'GET',
  area: 'skill standard',
  policy: { kind: 'open' },
  document: true,
  priority: 'public',
} as const
const jsonLd = { contentType: jsonLdType }

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
      404: {
        ...jsonLd,
        description: 'No skill has this id.',
        schema: skillNotFound,
        example: { error: 'skill_not_found', id: 'hss:no-such-skill' },
      },
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

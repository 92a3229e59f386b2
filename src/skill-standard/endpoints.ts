/**
 * The routes of the skill standard. Every document is made once, at start, so the routes answer
 * while the database is down.
 */
import { type PublicDocument, publicDocument } from '../platform/http/document.ts'
import { type Answer, commonResponses, type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { scoreBandDefinitions } from './bands.ts'
import { skillCatalogOf, type Vocabulary } from './catalog.ts'
import { contextDocument, standardUrls } from './context.ts'
import {
  jsonLdContext,
  type SkillRecord,
  scoreBandDefinitionSet,
  skillCatalog,
  skillNotFound,
  skillPath,
  skillRecord,
} from './schema.ts'
import { skillIdOf, slugOf, slugOfPath } from './slug.ts'

/**
 * Without parameters: a JSON-LD processor ignores a Link to a context unless the type is exactly
 * this.
 */
const ldJson = 'application/ld+json'
const maxAgeSeconds = 3_600

export interface SkillStandardOptions {
  /** Base address without a trailing slash, e.g. `https://scores.example.org` (decision D3). */
  publicUrl: string
  /**
   * Former values of `publicUrl`. The context is served under them as well, because credentials
   * issued under them name it.
   */
  formerPublicUrls?: readonly string[]
  vocabulary: Vocabulary
}

export function skillStandardEndpoints({
  publicUrl,
  formerPublicUrls = [],
  vocabulary,
}: SkillStandardOptions): Endpoint[] {
  const context = contextDocument(publicUrl)
  const formerContexts = new Map(
    formerPublicUrls.map((url) => [url, jsonLdDocument(url, contextDocument(url))]),
  )
  const catalog = skillCatalogOf(vocabulary, publicUrl)
  const bands = scoreBandDefinitions(publicUrl)
  const skills = skillDocuments(catalog.skills, { publicUrl, vocabulary })
  const documents = {
    context: jsonLdDocument(publicUrl, context),
    catalog: jsonLdDocument(publicUrl, catalog),
    bands: jsonLdDocument(publicUrl, bands),
  }
  const exampleSkill = catalog.skills.find(({ id }) => id === 'hss:typescript') ?? catalog.skills[0]
  const shared = {
    method: 'GET',
    area: 'skill standard',
    policy: { kind: 'open' },
    document: true,
    priority: 'public',
  } as const
  const jsonLd = { contentType: ldJson }

  return [
    endpoint({
      ...shared,
      operationId: 'getSkillStandardContext',
      path: '/standard/v1/context.jsonld',
      summary: 'The JSON-LD context of skill records, catalog, score bands and score credentials',
      responses: {
        ...commonResponses,
        200: { ...jsonLd, description: 'The context.', schema: jsonLdContext, example: context },
      },
      answer: ({ formerOrigin }) => ({
        document: formerContexts.get(formerOrigin ?? '') ?? documents.context,
      }),
    }),
    endpoint({
      ...shared,
      operationId: 'listSkills',
      path: '/standard/v1/skills',
      summary: 'The catalog: every skill record of the vocabulary',
      responses: {
        ...commonResponses,
        200: {
          ...jsonLd,
          description: 'All records with the controlled lists they refer to.',
          schema: skillCatalog,
          example: exampleSkill && exampleCatalog(vocabulary, publicUrl, exampleSkill.id),
        },
      },
      answer: () => ({ document: documents.catalog }),
    }),
    endpoint({
      ...shared,
      operationId: 'getSkill',
      path: '/standard/v1/skills/{id}',
      summary: 'One skill record',
      description:
        'A deprecated id stays and names its successor in a Link header with rel="successor-version".',
      pathParameters: skillPath,
      responses: {
        ...commonResponses,
        200: {
          ...jsonLd,
          description: 'The record.',
          schema: skillRecord,
          example: exampleSkill,
        },
        404: {
          ...jsonLd,
          description: 'No skill has this id.',
          schema: skillNotFound,
          example: { error: 'skill_not_found', id: 'hss:no-such-skill' },
        },
      },
      answer: ({ path }) => skillAnswer(skills, path.id),
    }),
    endpoint({
      ...shared,
      operationId: 'getScoreBands',
      path: '/standard/v1/score-bands.jsonld',
      summary: 'What each score band means',
      responses: {
        ...commonResponses,
        200: {
          ...jsonLd,
          description: 'The bands.',
          schema: scoreBandDefinitionSet,
          example: bands,
        },
      },
      answer: () => ({ document: documents.bands }),
    }),
  ]
}

function skillAnswer(skills: ReadonlyMap<string, PublicDocument>, id: string): Answer {
  const slug = slugOfPath(id)
  if (slug === null)
    return refuse('invalid_parameter', {
      message:
        'id must be a skill slug (lowercase letters and digits joined by single hyphens, at most 64 characters), a slug with .jsonld, or hss: and a slug.',
    })
  const document = skills.get(slug)
  if (document !== undefined) return { document }
  const body = { error: 'skill_not_found', id: skillIdOf(slug) }
  return { status: 404, body, contentType: ldJson }
}

/** By slug. */
function skillDocuments(
  records: readonly SkillRecord[],
  { publicUrl, vocabulary }: SkillStandardOptions,
): ReadonlyMap<string, PublicDocument> {
  const urls = standardUrls(publicUrl)
  return new Map(
    records.map((record) => {
      const successor = vocabulary.deprecated[record.id]
      const headers: Record<string, string> = {}
      if (successor !== undefined)
        headers.Link = `<${urls.skill(slugOf(successor))}>; rel="successor-version"`
      return [slugOf(record.id), jsonLdDocument(publicUrl, record, headers)]
    }),
  )
}

function jsonLdDocument(
  publicUrl: string,
  body: unknown,
  headers: Record<string, string> = {},
): PublicDocument {
  return publicDocument({
    body: JSON.stringify(body),
    contentType: ldJson,
    contextUrl: standardUrls(publicUrl).context,
    maxAgeSeconds,
    headers,
  })
}

/** Returns a valid catalog of one skill, because the whole catalog would swamp the contract. */
function exampleCatalog(vocabulary: Vocabulary, publicUrl: string, id: string) {
  const records = vocabulary.records.filter((record) => record.id === id)
  return skillCatalogOf({ ...vocabulary, records, deprecated: {} }, publicUrl)
}

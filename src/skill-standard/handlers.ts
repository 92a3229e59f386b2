/**
 * The handlers of the skill standard. Every document is made once, at start, so they answer while
 * the database is down.
 */
import { jsonLdType } from '../platform/http/contract.ts'
import { type PublicDocument, publicDocument } from '../platform/http/document.ts'
import type { Answer, Handlers } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { scoreBandDefinitions } from './bands.ts'
import { skillCatalogOf, type Vocabulary } from './catalog.ts'
import { contextDocument, standardUrls } from './context.ts'
import type { skillStandardContract } from './contract.ts'
import type { SkillRecord } from './schema.ts'
import { skillIdOf, slugOf, slugOfPath } from './slug.ts'

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

export function skillStandardHandlers({
  publicUrl,
  formerPublicUrls = [],
  vocabulary,
}: SkillStandardOptions): Handlers<typeof skillStandardContract> {
  const contextOf = (url: string) => jsonLdDocument(url, contextDocument(url))
  const context = contextOf(publicUrl)
  const formerContexts = new Map(formerPublicUrls.map((url) => [url, contextOf(url)]))
  const catalog = skillCatalogOf(vocabulary, publicUrl)
  const catalogDocument = jsonLdDocument(publicUrl, catalog)
  const skills = skillDocuments(catalog.skills, { publicUrl, vocabulary })
  const bands = jsonLdDocument(publicUrl, scoreBandDefinitions(publicUrl))
  return {
    getSkillStandardContext: ({ formerOrigin }) => ({
      document: formerContexts.get(formerOrigin ?? '') ?? context,
    }),
    listSkills: () => ({ document: catalogDocument }),
    getSkill: ({ path }) => skillAnswer(skills, path.id),
    getScoreBands: () => ({ document: bands }),
  }
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
  return { status: 404, body, contentType: jsonLdType }
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
    contentType: jsonLdType,
    contextUrl: standardUrls(publicUrl).context,
    maxAgeSeconds,
    headers,
  })
}

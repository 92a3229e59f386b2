/**
 * The handlers of the skill standard. Every document is made once, at start or at its first
 * request, from files of the release, so they answer while the database is down.
 */
import { jsonLdType } from '../edge/http/contract.ts'
import { documentMemory, type PublicDocument, publicDocument } from '../edge/http/document.ts'
import type { Answer, Handlers } from '../edge/http/endpoint.ts'
import { type Link, linkHeader } from '../edge/http/link-header.ts'
import { refuse } from '../platform/errors.ts'
import { scoreBandDefinitions } from './bands.ts'
import { skillCatalogOf, type Vocabulary } from './catalog.ts'
import { contextDocument, standardPagePaths, standardUrls } from './context.ts'
import type { skillStandardContract } from './contract.ts'
import { notesDocument, type VocabularyNotes } from './notes.ts'
import { csvType, type ReleaseFile, releaseDocuments, releaseListOf } from './release-documents.ts'
import type { PublishedReleases } from './releases.ts'
import type { SkillNotes } from './schema.ts'
import { skillIdOf, slugOf, slugOfPath } from './slug.ts'
import { notesCsv } from './tables.ts'
import { vocabularyDocument } from './terms.ts'

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
  releases: PublishedReleases
  notes: VocabularyNotes
}

export function skillStandardHandlers(
  options: SkillStandardOptions,
): Handlers<typeof skillStandardContract> {
  const { publicUrl, formerPublicUrls = [], vocabulary, releases, notes: vocabularyNotes } = options
  const contextOf = (url: string) => jsonLdDocument(url, contextDocument(url))
  const context = contextOf(publicUrl)
  const formerContexts = new Map(formerPublicUrls.map((url) => [url, contextOf(url)]))
  const skills = skillDocuments(vocabulary, publicUrl)
  const notes = notesOf(vocabulary, { publicUrl, vocabularyNotes })
  const noteDocuments = madeOnce(notes, (note) => jsonLdDocument(publicUrl, note))
  const notesTable = publicDocument({
    body: notesCsv([...notes.values()]),
    contentType: csvType,
    maxAgeSeconds,
  })
  const bands = jsonLdDocument(publicUrl, scoreBandDefinitions(publicUrl), {
    Link: pageLink(standardPagePaths.bands),
  })
  const published = publishedDocuments({ publicUrl, vocabulary, releases })
  const terms = publicDocument({
    body: JSON.stringify(vocabularyDocument(publicUrl, vocabulary)),
    contentType: jsonLdType,
    maxAgeSeconds,
    headers: { Link: pageLink(standardPagePaths.terms) },
  })
  const releaseList = publicDocument({
    body: JSON.stringify(releaseListOf(releases.index, publicUrl)),
    contentType: 'application/json',
    maxAgeSeconds,
  })
  const current = (file: ReleaseFile) => () => published(null, file)
  const released =
    (file: ReleaseFile) =>
    ({ path }: { path: { version: string } }) =>
      published(path.version, file)
  return {
    getSkillStandardContext: ({ formerOrigin }) => ({
      document: formerContexts.get(formerOrigin ?? '') ?? context,
    }),
    listSkills: current('skills'),
    getSkill: ({ path }) => skillAnswer(skills, path.id),
    getSkillNotes: ({ path }) => skillAnswer(noteDocuments, path.id),
    getSkillNotesCsv: () => ({ document: notesTable }),
    getSkillTerms: () => ({ document: terms }),
    getSkillsCsv: current('csv'),
    getSkillsNQuads: current('nQuads'),
    getSkillCrosswalk: current('crosswalk'),
    listSkillReleases: () => ({ document: releaseList }),
    getReleasedSkills: released('skills'),
    getReleasedSkillsCsv: released('csv'),
    getReleasedSkillsNQuads: released('nQuads'),
    getReleasedSkillCrosswalk: released('crosswalk'),
    getScoreBands: () => ({ document: bands }),
  }
}

/** Makes the documents of a release at their first request. A null version is the current one. */
function publishedDocuments(
  options: Pick<SkillStandardOptions, 'publicUrl' | 'vocabulary' | 'releases'>,
) {
  const { publicUrl, vocabulary, releases } = options
  const { index } = releases
  const documents = documentMemory()
  return (released: string | null, file: ReleaseFile): Answer => {
    if (released !== null && !index.some(({ version }) => version === released))
      return refuse('not_found')
    const document = documents(`${released} ${file}`, () => {
      const content = released === null ? vocabulary : releases.read(released)
      return releaseDocuments(content, { publicUrl, index, released })[file]()
    })
    return { document }
  }
}

/** Returns the document of a skill, or undefined if there is no such skill. */
type DocumentOfSkill = (slug: string) => PublicDocument | undefined

/** Makes the document of each skill at its first request: most are never asked for. */
function madeOnce<Content>(
  contents: ReadonlyMap<string, Content>,
  make: (content: Content) => PublicDocument,
): DocumentOfSkill {
  const documents = documentMemory()
  return (slug) => {
    const content = contents.get(slug)
    return content === undefined ? undefined : documents(slug, () => make(content))
  }
}

function skillAnswer(documentOf: DocumentOfSkill, id: string): Answer {
  const slug = slugOfPath(id)
  if (slug === null)
    return refuse('invalid_parameter', {
      message:
        'id must be a skill slug (lowercase letters and digits joined by single hyphens, at most 64 characters), a slug with .jsonld, or hss: and a slug.',
    })
  const document = documentOf(slug)
  if (document !== undefined) return { document }
  const body = { error: 'skill_not_found', id: skillIdOf(slug) }
  return { status: 404, body, contentType: jsonLdType }
}

function skillDocuments(vocabulary: Vocabulary, publicUrl: string): DocumentOfSkill {
  const urls = standardUrls(publicUrl)
  const { skills } = skillCatalogOf(vocabulary, publicUrl)
  const records = new Map(skills.map((record) => [slugOf(record.id), record]))
  return madeOnce(records, (record) => {
    const slug = slugOf(record.id)
    const successor = vocabulary.deprecated[record.id]
    const links: Link[] = [
      { url: standardPagePaths.skill(slug), rel: 'alternate', type: 'text/html' },
      { url: urls.notes(slug), rel: 'describedby', type: jsonLdType },
    ]
    if (successor !== undefined)
      links.push({ url: urls.skill(slugOf(successor)), rel: 'successor-version' })
    return jsonLdDocument(publicUrl, record, { Link: linkHeader(links) })
  })
}

/** Returns the notes on each skill, by slug. */
function notesOf(
  { release }: Vocabulary,
  { publicUrl, vocabularyNotes }: { publicUrl: string; vocabularyNotes: VocabularyNotes },
): ReadonlyMap<string, SkillNotes> {
  const options = { publicUrl, license: release.license, vocabularyNotes }
  return new Map(
    [...vocabularyNotes.notes.keys()].flatMap((slug) => {
      const note = notesDocument(slug, options)
      return note === undefined ? [] : [[slug, note]]
    }),
  )
}

function pageLink(path: string): string {
  return linkHeader([{ url: path, rel: 'alternate', type: 'text/html' }])
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

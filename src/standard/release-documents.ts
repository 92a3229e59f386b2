/** Pure: the documents that publish one release of the vocabulary, and the list of all releases. */
import { jsonLdType } from '../edge/http/contract.ts'
import { type PublicDocument, publicDocument } from '../edge/http/document.ts'
import { schemaVersion } from '../edge/http/identifiers.ts'
import { type Link, linkHeader } from '../edge/http/link-header.ts'
import { skillCatalogOf, type Vocabulary } from './catalog.ts'
import { contextDocument, standardPagePaths, standardUrls } from './context.ts'
import { nQuadsOf } from './n-quads.ts'
import type { ReleaseList } from './schema.ts'
import type { ReleaseIndex } from './source.ts'
import { crosswalkCsv, skillsCsv } from './tables.ts'

const currentCaching = { maxAgeSeconds: 3_600 }
const releasedCaching = { maxAgeSeconds: 31_536_000, cacheDirectives: 'immutable' }

export type ReleaseFile = 'skills' | 'csv' | 'nQuads' | 'crosswalk'

export interface ReleaseDocumentsOptions {
  publicUrl: string
  /** Every release, from the oldest to the newest. */
  index: ReleaseIndex
  /** The release of the documents. Null: the current one, under its own addresses. */
  released: string | null
}

/** Returns the functions that make the documents of a release. */
export function releaseDocuments(
  vocabulary: Vocabulary,
  { publicUrl, index, released }: ReleaseDocumentsOptions,
): Readonly<Record<ReleaseFile, () => PublicDocument>> {
  const urls = releaseUrls(publicUrl, released)
  const caching = released === null ? currentCaching : releasedCaching
  const { controlled, crosswalk } = vocabulary
  const catalogOf = () => skillCatalogOf(vocabulary, publicUrl, urls.skills)
  const documentOf = (
    file: ReleaseFile,
    contentType: 'application/n-quads' | 'text/csv; charset=utf-8; header=present',
    body: string,
  ) =>
    publicDocument({
      body,
      contentType,
      ...caching,
      headers: { Link: linkHeader(linksOf(file, { publicUrl, index, released })) },
    })
  return {
    skills: () =>
      publicDocument({
        body: JSON.stringify(catalogOf()),
        contentType: jsonLdType,
        contextUrl: standardUrls(publicUrl).context,
        ...caching,
        headers: { Link: linkHeader(linksOf('skills', { publicUrl, index, released })) },
      }),
    csv: () => documentOf('csv', csvType, skillsCsv(catalogOf().skills, controlled)),
    nQuads: () =>
      documentOf(
        'nQuads',
        'application/n-quads',
        nQuadsOf(catalogOf(), contextDocument(publicUrl)['@context']),
      ),
    crosswalk: () => documentOf('crosswalk', csvType, crosswalkCsv(catalogOf().skills, crosswalk)),
  }
}

export const csvType = 'text/csv; charset=utf-8; header=present'

/** The addresses of a release, or of the current vocabulary. */
function releaseUrls(
  publicUrl: string,
  released: string | null,
): Readonly<Record<ReleaseFile, string>> {
  const urls = standardUrls(publicUrl)
  if (released === null)
    return {
      skills: urls.skills,
      csv: urls.skillsCsv,
      nQuads: urls.skillsQuads,
      crosswalk: urls.crosswalk,
    }
  const base = urls.release(released)
  return {
    skills: `${base}/skills.jsonld`,
    csv: `${base}/skills.csv`,
    nQuads: `${base}/skills.nq`,
    crosswalk: `${base}/crosswalk.csv`,
  }
}

/**
 * Returns links to the versions before and after (RFC 5829). A released document does not name its
 * successor, because that would change it. The forms of the catalog are alternates of each other.
 */
function linksOf(
  file: ReleaseFile,
  { publicUrl, index, released }: ReleaseDocumentsOptions,
): readonly Link[] {
  const current = index.at(-1)?.version
  const at = index.findIndex(({ version }) => version === (released ?? current))
  const predecessor = index[at - 1]?.version
  const links: Link[] = [{ url: standardUrls(publicUrl).releases, rel: 'version-history' }]
  if (predecessor !== undefined)
    links.push({ url: releaseUrls(publicUrl, predecessor)[file], rel: 'predecessor-version' })
  if (released !== null)
    links.push({ url: releaseUrls(publicUrl, null)[file], rel: 'latest-version' })
  if (file === 'crosswalk') return links
  if (released === null && file === 'skills')
    links.push({ url: standardPagePaths.skills, rel: 'alternate', type: 'text/html' })
  const urls = releaseUrls(publicUrl, released)
  const forms = [
    ['skills', jsonLdType],
    ['csv', 'text/csv'],
    ['nQuads', 'application/n-quads'],
  ] as const
  for (const [form, type] of forms)
    if (form !== file) links.push({ url: urls[form], rel: 'alternate', type })
  return links
}

/** Returns the document of `/standard/v1/releases`. */
export function releaseListOf(index: ReleaseIndex, publicUrl: string): ReleaseList {
  const releases = index.map(({ version, released_at, content }) => {
    const urls = releaseUrls(publicUrl, version)
    return {
      version,
      releasedAt: released_at,
      contentHash: content,
      catalogUrl: urls.skills,
      csvUrl: urls.csv,
      nQuadsUrl: urls.nQuads,
      crosswalkUrl: urls.crosswalk,
    }
  })
  return { schemaVersion: schemaVersion('skill_releases'), releases: releases.toReversed() }
}

/**
 * The skill standard as pages: all skills with a search, one skill, the bands and the terms. The
 * pages are made at their first request from files of the release, so they answer while the
 * database is down.
 */
import { Type } from 'typebox'
import { documentMemory } from '../../edge/http/document.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { refuse } from '../../platform/errors.ts'
import { skillCatalogOf, type Vocabulary } from '../../standard/catalog.ts'
import type { VocabularyNotes } from '../../standard/notes.ts'
import type { PublishedReleases } from '../../standard/releases.ts'
import type { SkillRecord } from '../../standard/schema.ts'
import type { SearchWords } from '../../standard/search-words.ts'
import { loadSearchWords } from '../../standard/search-words.ts'
import { skillIdOf, slugOf } from '../../standard/slug.ts'
import type { Crosswalk } from '../../standard/source.ts'
import { pageDocument, publicEndpoint, type Site, viewAnswer } from '../public-page.ts'
import { openTextIndex, searchLimits, type TextIndex } from '../text-index.ts'
import { type SkillPage, skillView } from './skill-view.ts'
import { bandsView, standardView, termsView } from './standard-view.ts'

export interface StandardPagesOptions {
  vocabulary: Vocabulary
  releases: PublishedReleases
  notes: VocabularyNotes
}

export function standardPages(
  site: Site,
  { vocabulary, releases, notes }: StandardPagesOptions,
): Endpoint[] {
  const { controlled, crosswalk, deprecated, release } = vocabulary
  const { skills: all } = skillCatalogOf(vocabulary, site.publicUrl)
  const skills = all
    .filter(({ id }) => !Object.hasOwn(deprecated, id))
    .sort((a, b) => a.label.localeCompare(b.label, 'en'))
  const list = { skills, domains: controlled.domains, version: release.version }
  const byId = new Map(all.map((record) => [record.id, record]))
  const searchWords = loadSearchWords()
  let index: Promise<TextIndex<SkillRecord>> | undefined
  const find = async (query: string) => {
    index ??= openSkillSearch({ skills, crosswalk, searchWords })
    return (await index).find(query).map(({ item }) => item)
  }
  const documents = documentMemory()
  const versionsOf = versionReader(releases)
  return [
    publicEndpoint(site, {
      name: 'skill standard',
      path: '/standard',
      queryParameters: searchQuery,
      limits: searchLimits,
      async answer({ query: { q = '', domain: named } }) {
        const query = q.trim()
        const domain = controlled.domains.find(({ slug }) => slug === named)?.slug ?? null
        const view = (found: readonly SkillRecord[]) =>
          standardView(site, list, { query, found, domain })
        if (query !== '') return viewAnswer(site, view(await find(query)))
        return { document: documents(`domain ${domain}`, () => pageDocument(site, view([]))) }
      },
    }),
    publicEndpoint(site, {
      name: 'skill search',
      path: '/standard/find.json',
      queryParameters: searchQuery,
      limits: searchLimits,
      async answer({ query: { q = '', domain } }) {
        const found = (await find(q)).filter((one) => domain === undefined || one.domain === domain)
        return { status: 200, body: { skills: found.map(({ id }) => slugOf(id)) } }
      },
    }),
    publicEndpoint(site, {
      name: 'skill page',
      path: '/standard/skills/{slug}',
      pathParameters: Type.Object({ slug: Type.String() }),
      answer({ path: { slug } }) {
        const record = byId.get(skillIdOf(slug))
        if (record === undefined) return refuse('not_found')
        const page = (): SkillPage => ({
          record,
          skills: byId,
          controlled,
          crosswalk,
          notes,
          successor: deprecated[record.id],
          versions: versionsOf(record.id),
        })
        return { document: documents(slug, () => pageDocument(site, skillView(site, page()))) }
      },
    }),
    publicEndpoint(site, {
      name: 'score bands',
      path: '/standard/bands',
      answer: () => ({ document: documents('/bands', () => pageDocument(site, bandsView(site))) }),
    }),
    publicEndpoint(site, {
      name: 'terms',
      path: '/standard/vocab',
      answer: () => ({
        document: documents('/vocab', () => pageDocument(site, termsView(site, controlled))),
      }),
    }),
  ]
}

const searchQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 80 })),
  domain: Type.Optional(Type.String({ maxLength: 40 })),
})

/** Paths of the pages that search engines may list. */
export function standardPaths({ records }: Vocabulary): string[] {
  const skills = records.map(({ id }) => `/standard/skills/${id.slice('hss:'.length)}`)
  return ['/standard', '/standard/bands', '/standard/vocab', ...skills]
}

/** Returns a function that lists the releases with a skill, newest first. */
function versionReader({ index, read }: PublishedReleases): (id: string) => SkillPage['versions'] {
  let published:
    | { version: string; released_at: string; records: Map<string, string> }[]
    | undefined
  return (id) => {
    published ??= index.toReversed().map(({ version, released_at }) => ({
      version,
      released_at,
      records: new Map(read(version).records.map((record) => [record.id, record.version])),
    }))
    return published.flatMap(({ version: release, released_at: releasedAt, records }) => {
      const version = records.get(id)
      return version === undefined ? [] : [{ release, releasedAt, version }]
    })
  }
}

interface SkillSearchSources {
  skills: readonly SkillRecord[]
  crosswalk: Crosswalk
  searchWords: ReadonlyMap<string, SearchWords>
}

/** Opens the search. It also finds a skill by its id in ESCO and O*NET. */
export function openSkillSearch({
  skills,
  crosswalk,
  searchWords,
}: SkillSearchSources): Promise<TextIndex<SkillRecord>> {
  return openTextIndex(skills, {
    fields: { label: 8, names: 7, words: 10, further: 2, mapped: 3, text: 0.6 },
    textsOf: ({ id, label, aliases, description }) => ({
      label,
      names: [...aliases, id].join('\n'),
      words: searchWords.get(id)?.first.join('\n') ?? '',
      further: searchWords.get(id)?.further.join('\n') ?? '',
      mapped: crosswalk
        .filter(({ skill }) => skill === id)
        .map(({ target, label: name }) => `${target} ${name}`)
        .join('\n'),
      text: description,
    }),
    enough: 1,
  })
}

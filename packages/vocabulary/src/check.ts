/** Checks a vocabulary directory by all rules. */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { closedObject } from '../../../src/platform/json/closed-object.ts'
import { contextDocument, standardUrls } from '../../../src/standard/context.ts'
import { loadNotes, type VocabularyNotes } from '../../../src/standard/notes.ts'
import { VocabularyError } from '../../../src/standard/releases.ts'
import { slugOf } from '../../../src/standard/slug.ts'
import type { SourceRecord } from '../../../src/standard/source.ts'
import { type LintOptions, lintVocabulary } from './lint.ts'
import { jsonLdDocumentsOf, lintJsonLd, openJsonLd } from './lint-json-ld.ts'
import { loadVocabulary, readVocabulary } from './read.ts'
import { lintArchives } from './release.ts'
import { type Finding, faultsOf } from './source.ts'

/**
 * Checks rules V1 to V20; V15 to V20 need well-formed records. Throws `VocabularyError` if the
 * files cannot be read.
 */
export async function checkVocabulary(
  directory: string,
  options: LintOptions = {},
): Promise<Finding[]> {
  const files = readVocabulary(directory)
  const findings = lintVocabulary(files, options)
  const isServable = files.release !== null && files.records.length > 0
  if (!isServable || findings.some(({ rule }) => rule === 'V1')) return findings
  const publicUrl = 'https://vocabulary.example.org'
  const vocabulary = loadVocabulary(directory)
  const notes = readNotes(directory)
  const jsonLd = await openJsonLd({ [standardUrls(publicUrl).context]: contextDocument(publicUrl) })
  return [
    ...findings,
    ...lintArchives(directory, vocabulary),
    ...lintNotes(vocabulary.records, notes),
    ...(await lintJsonLd(jsonLdDocumentsOf({ vocabulary, notes }, publicUrl), jsonLd)),
  ]
}

const rationale = Type.String({ minLength: 40, maxLength: 600 })

const notesFile = closedObject({
  skill: Type.String({ pattern: '^hss:[a-z0-9-]+$' }),
  /** The version of the record that the notes cover. */
  record_version: Type.String(),
  weights_rationale: rationale,
  half_life_rationale: rationale,
  role_note: Type.Union([Type.Null(), rationale]),
  /** Keys of `sources.json`. */
  sources: Type.Array(Type.String(), { uniqueItems: true }),
  reviews: Type.Array(
    closedObject({
      reviewer: Type.String({ minLength: 2, maxLength: 120 }),
      reviewed_at: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' }),
      comment: Type.String({ minLength: 10, maxLength: 600 }),
    }),
  ),
})

const sourceList = Type.Record(
  Type.String({ pattern: '^[a-z0-9-]+$' }),
  closedObject({
    title: Type.String({ minLength: 3 }),
    publisher: Type.String({ minLength: 2 }),
    /** A DOI as a URL, a URL, or the number of a standard. */
    identifier: Type.String({ minLength: 3 }),
  }),
)

const noteShapes = { notes: Compile(notesFile), sources: Compile(sourceList) }

/** Reads the notes. Throws `VocabularyError` if a file is malformed. */
export function readNotes(directory: string): VocabularyNotes {
  const found = loadNotes(directory)
  const faults = [
    ...[...found.notes].flatMap(([slug, content]) =>
      faultsOf(noteShapes.notes, content).map((fault) => `notes/${slug}.json ${fault}`),
    ),
    ...faultsOf(noteShapes.sources, found.sources).map((fault) => `notes/sources.json ${fault}`),
  ]
  if (faults.length > 0) throw new VocabularyError(directory, faults)
  return found
}

/** V20: each record has notes on its present version, and each source is known and used. */
export function lintNotes(
  records: readonly SourceRecord[],
  { notes, sources }: VocabularyNotes,
): Finding[] {
  const findings: Finding[] = []
  const add = (file: string, message: string) =>
    findings.push({ rule: 'V20', file: `notes/${file}.json`, message })
  const versions = new Map(records.map(({ id, version }) => [slugOf(id), version]))
  for (const [slug, version] of versions) {
    const covered = notes.get(slug)?.record_version
    if (covered === undefined) add(slug, 'missing')
    else if (covered !== version) add(slug, `covers version ${covered} instead of ${version}`)
  }
  const used = new Set<string>()
  for (const [slug, { skill, sources: named }] of notes) {
    if (!versions.has(slug) || slugOf(skill) !== slug) add(slug, `${skill} is not that of the file`)
    for (const key of named) {
      if (!Object.hasOwn(sources, key)) add(slug, `${key} is not in notes/sources.json`)
      used.add(key)
    }
  }
  for (const key of Object.keys(sources)) if (!used.has(key)) add('sources', `${key} is not used`)
  return findings
}

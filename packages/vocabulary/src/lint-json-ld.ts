/**
 * Pure: V15 (every document expands in safe mode) and V16 (the catalog says exactly what its
 * records say).
 */
import { scoreBandDefinitions } from '../../../src/standard/bands.ts'
import { skillCatalogOf, type Vocabulary } from '../../../src/standard/catalog.ts'
import { notesDocument, type VocabularyNotes } from '../../../src/standard/notes.ts'
import { slugOf } from '../../../src/standard/slug.ts'
import type { Finding } from './finding.ts'
import { faultOf, type JsonLd } from './json-ld.ts'

/** Returns the documents as a client gets them. */
export function jsonLdDocumentsOf(
  { vocabulary, notes }: { vocabulary: Vocabulary; notes: VocabularyNotes },
  publicUrl: string,
) {
  const catalog = skillCatalogOf(vocabulary, publicUrl)
  const { license } = vocabulary.release
  const options = { publicUrl, license, vocabularyNotes: notes }
  return {
    catalog,
    records: catalog.skills,
    bands: scoreBandDefinitions(publicUrl),
    notes: [...notes.notes.keys()].map((slug) => notesDocument(slug, options)),
  }
}

export type JsonLdDocuments = ReturnType<typeof jsonLdDocumentsOf>

export async function lintJsonLd(documents: JsonLdDocuments, jsonLd: JsonLd): Promise<Finding[]> {
  const { catalog, records, bands, notes } = documents
  const findings: Finding[] = []
  const named: [string, unknown][] = [
    ...records.map((record): [string, unknown] => [`${slugOf(record.id)}.json`, record]),
    ['catalog', catalog],
    ['bands', bands],
    ...notes.map((document): [string, unknown] => [`notes of ${document?.about}`, document]),
  ]
  for (const [file, document] of named) {
    const message = await expansionFault(document, jsonLd)
    if (message !== null) findings.push({ rule: 'V15', file, message })
  }
  // Without V15 there is no dataset to compare.
  return findings.length > 0 ? findings : datasetFaults(documents, jsonLd)
}

async function expansionFault(document: unknown, jsonLd: JsonLd): Promise<string | null> {
  try {
    await jsonLd.expand(document)
    return null
  } catch (error) {
    return faultOf(error)
  }
}

/**
 * Compares datasets, never texts, because blank nodes have other names in each text. The catalog's
 * own statements are left out.
 */
async function datasetFaults(documents: JsonLdDocuments, jsonLd: JsonLd): Promise<Finding[]> {
  const { catalog, records } = documents
  const all = await jsonLd.dataset(catalog)
  const fromRecords = new Set(await jsonLd.dataset(records))
  const fromCatalog = new Set(all.filter((quad) => !isCatalogStatement(quad, catalog['@id'])))
  return [
    ...difference(fromRecords, fromCatalog, 'a record says it and the catalog does not'),
    ...difference(fromCatalog, fromRecords, 'the catalog says it and no record does'),
  ]
}

function isCatalogStatement(quad: string, catalogId: string): boolean {
  return (
    quad.startsWith(`<${catalogId}> `) ||
    quad.includes('> <http://purl.org/dc/terms/isReplacedBy> <')
  )
}

function difference(a: Set<string>, b: Set<string>, what: string): Finding[] {
  const [first] = a.difference(b)
  return first === undefined ? [] : [{ rule: 'V16', file: 'catalog', message: `${what}: ${first}` }]
}

/** Checks a vocabulary directory by all rules, and releases a vocabulary that passes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contextDocument, standardUrls } from './context.ts'
import type { Finding } from './finding.ts'
import { openJsonLd } from './json-ld.ts'
import { type LintOptions, lintVocabulary } from './lint.ts'
import { jsonLdDocumentsOf, lintJsonLd } from './lint-json-ld.ts'
import { lintNotes, loadNotes } from './notes.ts'
import { releaseOf } from './release.ts'
import { lintArchives, writeArchive } from './releases.ts'
import { type Release, shapes } from './source.ts'
import { loadVocabulary, readVocabulary } from './vocabulary.ts'

export interface VocabularyCheck {
  findings: Finding[]
  /** False if V15 and V16 could not run: `jsonld` is not installed, or a record is malformed. */
  jsonLdChecked: boolean
}

/** Checks rules V1 to V20. Throws `VocabularyError` if the files cannot be read. */
export async function checkVocabulary(
  directory: string,
  options: LintOptions = {},
): Promise<VocabularyCheck> {
  const files = readVocabulary(directory)
  const findings = lintVocabulary(files, options)
  const isServable = files.release !== null && files.records.length > 0
  if (!isServable || findings.some(({ rule }) => rule === 'V1'))
    return { findings, jsonLdChecked: false }
  const publicUrl = 'https://vocabulary.example.org'
  const context = { [standardUrls(publicUrl).context]: contextDocument(publicUrl) }
  const jsonLd = await openJsonLd(context)
  const vocabulary = loadVocabulary(directory)
  const notes = loadNotes(directory)
  findings.push(...lintArchives(directory, vocabulary), ...lintNotes(vocabulary.records, notes))
  if (jsonLd === null) return { findings, jsonLdChecked: false }
  const documents = jsonLdDocumentsOf({ vocabulary, notes }, publicUrl)
  return { findings: [...findings, ...(await lintJsonLd(documents, jsonLd))], jsonLdChecked: true }
}

/**
 * Writes `release.json` and the archive of the release, if every difference from the last release
 * is allowed in a release (V12). Otherwise returns the findings and writes nothing.
 */
export function releaseVocabulary(
  directory: string,
  release: Pick<Release, 'version' | 'released_at' | 'license'>,
  options: LintOptions = {},
): Finding[] {
  const files = readVocabulary(directory)
  const against = lintVocabulary(files, options).filter(({ rule }) => rule !== 'V12')
  if (against.length > 0) return against
  const records = files.records
    .map(({ content }) => content)
    .filter((record) => shapes.record.Check(record))
  const text = JSON.stringify(releaseOf({ records }, release), null, 2)
  writeFileSync(join(directory, 'release.json'), `${text}\n`)
  writeArchive(directory, loadVocabulary(directory))
  return []
}

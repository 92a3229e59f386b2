/** Checks a vocabulary directory by all rules, and releases one that passes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contextDocument, standardUrls } from './context.ts'
import type { Finding } from './finding.ts'
import { openJsonLd } from './json-ld.ts'
import { type LintOptions, lintVocabulary } from './lint.ts'
import { jsonLdDocumentsOf, lintJsonLd } from './lint-json-ld.ts'
import { releaseOf } from './release.ts'
import { type Release, shapes } from './source.ts'
import { loadVocabulary, readVocabulary } from './vocabulary.ts'

export interface VocabularyCheck {
  findings: Finding[]
  /** False where V15 and V16 could not be run: `jsonld` is not installed, or a record has no shape to make documents of. */
  jsonLdChecked: boolean
}

/** Rules V1 to V18. Throws `VocabularyError` where the files cannot be read at all. */
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
  if (jsonLd === null) return { findings, jsonLdChecked: false }
  const documents = jsonLdDocumentsOf(loadVocabulary(directory), publicUrl)
  return { findings: [...findings, ...(await lintJsonLd(documents, jsonLd))], jsonLdChecked: true }
}

/**
 * Writes `release.json` when the vocabulary differs from its last release in nothing but what a release may change (V12).
 * Gives the findings that stand against it, none when it was written.
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
  return []
}

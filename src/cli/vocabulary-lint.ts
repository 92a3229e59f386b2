/** `assay vocabulary lint`: all rules over a folder of skill records. */
import { join, resolve } from 'node:path'
import { checkVocabulary } from '../skill-standard/check-vocabulary.ts'
import { VocabularyError } from '../skill-standard/vocabulary.ts'
import { done, note, type Outcome } from './output.ts'

export async function lintCommand(directory: string | undefined): Promise<Outcome> {
  const folder = resolve(directory ?? join(import.meta.dirname, '../../vocabulary'))
  try {
    const { findings, jsonLdChecked } = await checkVocabulary(folder)
    if (!jsonLdChecked && findings.every(({ rule }) => rule !== 'V1'))
      note('V15 and V16 were not checked: the development package jsonld is not installed.')
    const lines = findings.map(({ rule, file, message }) => `${rule} ${file}: ${message}`)
    const ok = findings.length === 0
    if (ok) lines.push('No findings.')
    return done({ ok, folder, findings, jsonLdChecked }, lines, ok ? 0 : 1)
  } catch (error) {
    if (!(error instanceof VocabularyError)) throw error
    return done({ ok: false, folder, faults: error.faults }, error.faults, 1)
  }
}

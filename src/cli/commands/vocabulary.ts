/** `assay vocabulary`: the skill records. */
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { checkVocabulary } from '../../skill-standard/check-vocabulary.ts'
import { VocabularyError } from '../../skill-standard/vocabulary.ts'
import { act, command } from '../command.ts'
import { done, note, type Outcome } from '../output.ts'

export function declareCommand(vocabulary: Command): void {
  command(
    vocabulary,
    'lint',
    'Check the skill records: one line for each finding',
    'assay vocabulary lint vocabulary',
  )
    .argument('[directory]', 'default: the records of this release')
    .action(act(lint))
}

const releasedRecords = join(import.meta.dirname, '../../../vocabulary')

async function lint(directory = releasedRecords): Promise<Outcome> {
  const folder = resolve(directory)
  try {
    const { findings, jsonLdChecked } = await checkVocabulary(folder)
    if (!jsonLdChecked && findings.every(({ rule }) => rule !== 'V1'))
      note('V15 and V16 were not checked: the development package jsonld is not installed.')
    const lines = findings.map(({ rule, file, message }) => `${rule} ${file}: ${message}`)
    const ok = findings.length === 0
    return done({ folder, findings, jsonLdChecked }, ok ? ['No findings.'] : lines, ok ? 0 : 1)
  } catch (error) {
    if (!(error instanceof VocabularyError)) throw error
    return done({ folder, faults: error.faults }, error.faults, 1)
  }
}

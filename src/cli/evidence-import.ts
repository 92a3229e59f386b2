/** `assay evidence import`: an item is taken in once, however often its line is read. */
import { setFlagsFromString } from 'node:v8'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config.ts'
import { readEvidenceLine } from '../evidence/evidence-line.ts'
import { type Ingested, ingestEvidence } from '../evidence/ingest-evidence.ts'
import { evidenceLine } from '../evidence/schema.ts'
import type { Tx } from '../platform/db.ts'
import { type ImportFlags, importLines } from './import-lines.ts'
import type { Outcome } from './output.ts'
import { releasedVocabulary } from './released-vocabulary.ts'

/** A line takes some 300 bytes, notes 8,000 characters more at most. */
const lineBytesMax = 65_536
const batchMax = 1_000

export function importEvidenceCommand(config: Config, flags: ImportFlags): Promise<Outcome> {
  // A long run leaves much garbage behind; without this the engine gives it a hundred megabytes before it looks.
  setFlagsFromString('--semi-space-growth-factor=1')
  const vocabulary = releasedVocabulary()
  return importLines(config, flags, {
    shape: evidenceLine,
    lineBytesMax,
    batchMax,
    hidesText: true,
    results: ['added', 'unchanged'],
    read: readEvidenceLine,
    apply: async (tx, lines, now) => {
      const answers = await ingestEvidence(tx, lines, { vocabulary, now })
      await recordImport(tx, answers, now)
      return answers
    },
  })
}

/** An entry for each batch, in its transaction: after a kill the log tells exactly what was taken in. */
async function recordImport(tx: Tx, answers: readonly Ingested[], now: Date): Promise<void> {
  const added = answers.flatMap((one) =>
    'result' in one && one.result === 'added' ? one.evidenceId : [],
  )
  if (added.length === 0) return
  const subjects = [...added.slice(0, 1), ...added.slice(1).slice(-1)]
  const details = { count: added.length }
  const action = 'evidence.imported'
  await recordAction(tx, { actor: operator(), action, subjects, details }, now)
}

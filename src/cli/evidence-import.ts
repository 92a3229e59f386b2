/** `assay evidence import`: an item is taken in once, however often its line is read. */
import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config.ts'
import { readEvidenceLine } from '../scores/evidence-line.ts'
import { ingestEvidence } from '../scores/ingest-evidence.ts'
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
    lineBytesMax,
    batchMax,
    hidesText: true,
    results: ['added', 'unchanged'],
    read: readEvidenceLine,
    apply: (tx, lines, now) => ingestEvidence(tx, lines, { vocabulary, now }),
  })
}

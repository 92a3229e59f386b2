/** `assay consent`: what workers allow. */
import type { Command } from 'commander'
import { consentImport } from '../../scoring/scores/sharing-ingests.ts'
import { consentOperations } from '../../scoring/scores/sharing-operations.ts'
import { declareIngest } from '../import-lines.ts'
import { declareOperations } from '../operation-command.ts'

export function declareCommand(consent: Command): void {
  declareOperations(consent, consentOperations)
  declareIngest(consent, consentImport, {
    summary: 'Record what workers allow, from a file',
    lines: 'consents',
    note: 'The last line about a permission of a worker counts.',
  })
}

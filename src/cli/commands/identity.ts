/** `assay identity`: checks of the identity of workers. */
import type { Command } from 'commander'
import { identityImport } from '../../scoring/scores/sharing-ingests.ts'
import { identityOperations } from '../../scoring/scores/sharing-operations.ts'
import { declareIngest } from '../import-lines.ts'
import { declareOperations } from '../operation-command.ts'

export function declareCommand(identity: Command): void {
  declareOperations(identity, identityOperations)
  declareIngest(identity, identityImport, {
    summary: 'Record identity checks of workers, from a file',
    lines: 'identities',
    note: 'The last line about a worker counts.',
  })
}

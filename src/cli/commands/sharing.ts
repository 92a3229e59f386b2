/** `assay consent` and `assay identity`: consents of workers, and checks of their identity. */
import type { Command } from 'commander'
import { consentImport, identityImport } from '../../scoring/scores/sharing-ingests.ts'
import { consentOperations, identityOperations } from '../../scoring/scores/sharing-operations.ts'
import { declareIngest } from '../import-lines.ts'
import { declareOperations } from '../operation-command.ts'

export function declareConsent(consent: Command): void {
  declareOperations(consent, consentOperations)
  declareIngest(consent, consentImport, {
    summary: 'Record what workers allow, from a file',
    lines: 'consents',
    note: 'The last line about a permission of a worker counts.',
  })
}

export function declareIdentity(identity: Command): void {
  declareOperations(identity, identityOperations)
  declareIngest(identity, identityImport, {
    summary: 'Record identity checks of workers, from a file',
    lines: 'identities',
    note: 'The last line about a worker counts.',
  })
}

/** `assay demo tick`: something happens in the demo, by the verb an operator uses: an item of evidence is revoked, and its event sent. */
import type { Config } from '../config/config.ts'
import { nextEvidence } from '../demo/tick.ts'
import { withDatabase } from './context.ts'
import { revokeEvidenceCommand } from './evidence-revoke.ts'
import { failure } from './fail.ts'
import type { Outcome } from './output.ts'

export async function tickCommand(config: Config): Promise<Outcome> {
  const evidenceId = await withDatabase(config, (db) => nextEvidence(db))
  if (evidenceId === null)
    throw failure('There is no demo here, or nothing is left of it: `npm start` first.')
  return revokeEvidenceCommand(config, [evidenceId], { reason: 'source_removed', by: 'demo' })
}

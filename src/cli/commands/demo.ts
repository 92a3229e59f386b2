/** `assay demo`: the demo that `npm start` runs. */
import type { Command } from 'commander'
import { nextEvidence } from '../../demo/tick.ts'
import { evidenceRevoke } from '../../scoring/disputes/evidence-operations.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure } from '../fail.ts'
import { runOperation } from '../operation-command.ts'
import type { Outcome } from '../output.ts'

export function declareCommand(demo: Command): void {
  command(
    demo,
    'tick',
    'Revoke an item of evidence of the demo, as an operator does: its events are sent at once',
    'assay demo tick',
  ).action(act(tick))
}

async function tick(): Promise<Outcome> {
  const id = await withContext(({ db }) => nextEvidence(db))
  if (id === null)
    throw failure('There is no demo here, or all its evidence is revoked. Run `npm start` first.')
  const texts = { evidence: [id], reason: 'source_removed' }
  return runOperation(evidenceRevoke, texts, { yes: true, by: 'demo' })
}

/** `assay demo`: the demo that `npm start` runs. */
import type { Command } from 'commander'
import { nextEvidence } from '../../demo/tick.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure } from '../fail.ts'
import type { Outcome } from '../output.ts'
import { revokeEvidence } from './evidence.ts'

export function declareCommand(demo: Command): void {
  command(
    demo,
    'tick',
    'Revoke an item of evidence of the demo, as an operator does: its events are sent at once',
    'assay demo tick',
  ).action(act(tick))
}

function tick(): Promise<Outcome> {
  return withContext(async (context) => {
    const id = await nextEvidence(context.db)
    if (id === null)
      throw failure('There is no demo here, or all its evidence is revoked. Run `npm start` first.')
    return revokeEvidence(context, [{ id }], { reason: 'source_removed', by: 'demo' })
  })
}

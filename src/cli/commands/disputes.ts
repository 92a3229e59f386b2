import type { Command } from 'commander'
import { each, parseEvidenceName } from '../args.ts'
import { act, byOption, command, settings } from './declare.ts'

const disputeArgument = ['<id>', 'of the dispute'] as const

export function declareCommand(disputes: Command): void {
  command(disputes, 'open', 'Open a dispute of a person')
    .argument('<username>')
    .requiredOption('--kind <kind>', 'score, evidence or identity')
    .option(
      '--evidence <id...>',
      'what is disputed: evidence ids, or SOURCE/EXTERNAL-ID',
      each(parseEvidenceName),
    )
    .option('--exclude', 'the evidence counts for nothing until the dispute ends')
    .option('--restrict', 'hide the score until the dispute ends (default: DISPUTE_HIDES_SCORE)')
    .option('--no-restrict', 'the score stays public')
    .option(...byOption)
    .action((username, flags) =>
      act(flags, async () =>
        (await import('../disputes-open.ts')).openDisputeCommand(settings(), username, flags),
      ),
    )

  command(disputes, 'review', 'Record that somebody looks at a dispute')
    .argument(...disputeArgument)
    .option(...byOption)
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../disputes-move.ts')).reviewDisputeCommand(settings(), id, flags),
      ),
    )

  command(disputes, 'resolve', 'Decide a dispute that is under review, for ever')
    .argument(...disputeArgument)
    .requiredOption('--as <resolution>', 'upheld, partly_upheld or rejected')
    .option(
      '--evidence <id...>',
      'of one that is partly upheld, the items that are',
      each(parseEvidenceName),
    )
    .option(...byOption)
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../disputes-move.ts')).resolveDisputeCommand(settings(), id, flags),
      ),
    )

  command(disputes, 'withdraw', 'Record that the person takes a dispute back')
    .argument(...disputeArgument)
    .option(...byOption)
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../disputes-move.ts')).withdrawDisputeCommand(settings(), id, flags),
      ),
    )

  command(disputes, 'list', 'Show the disputes that are open, the first due first')
    .option('--all', 'the latest ones, ended ones too')
    .option('--username <username>', 'all of this person')
    .option('--limit <n>', 'at most so many', '200')
    .action((flags) =>
      act(flags, async () =>
        (await import('../disputes-list.ts')).listDisputesCommand(settings(), flags),
      ),
    )

  command(disputes, 'show', 'Show a dispute and every move of it')
    .argument(...disputeArgument)
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../disputes-list.ts')).showDisputeCommand(settings(), id),
      ),
    )
}

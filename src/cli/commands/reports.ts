import type { Command } from 'commander'
import { accountArgument, accountOption, act, command, limitOption, settings } from './declare.ts'

export function declareCommand(reports: Command): void {
  command(reports, 'list', 'Show reports, the newest first')
    .option(...accountOption)
    .option(...limitOption)
    .action((flags) =>
      act(flags, async () =>
        (await import('../reports-list.ts')).listReportsCommand(settings(), flags),
      ),
    )

  command(reports, 'export', 'Write all reports, one a line, the newest first')
    .option(...accountOption)
    .option('--out <file>', 'where to', '-')
    .action((flags) =>
      act(flags, async () =>
        (await import('../reports-list.ts')).exportReportsCommand(settings(), flags),
      ),
    )

  command(reports, 'reviews', 'Show which locked accounts request a review').action((flags) =>
    act(flags, async () => (await import('../reports-decide.ts')).listReviewsCommand(settings())),
  )

  command(reports, 'unlock', 'Let a locked account report again; approves its review')
    .argument(...accountArgument)
    .action((account, flags) =>
      act(flags, async () =>
        (await import('../reports-decide.ts')).unlockReportingCommand(settings(), account),
      ),
    )

  command(
    reports,
    'decline',
    'Decline the review of an account; the account stays locked and may request another',
  )
    .argument(...accountArgument)
    .action((account, flags) =>
      act(flags, async () =>
        (await import('../reports-decide.ts')).declineReviewCommand(settings(), account),
      ),
    )

  command(reports, 'lock', 'Refuse further reports of an account (403); its earlier reports stay')
    .argument(...accountArgument)
    .action((account, flags) =>
      act(flags, async () =>
        (await import('../reports-decide.ts')).lockReportingCommand(settings(), account),
      ),
    )

  command(reports, 'erase', 'Delete every report about a person or a score')
    .option('--username <username...>', 'with or without @')
    .option('--score <id...>', 'score ids')
    .action((flags) =>
      act(flags, async () =>
        (await import('../reports-erase.ts')).eraseReportsCommand(settings(), flags),
      ),
    )
}

import type { Command } from 'commander'
import { accountArgument, act, command, settings } from './declare.ts'

export function declareCommand(credits: Command): void {
  command(credits, 'grant', 'Give credits to an account')
    .argument(...accountArgument)
    .argument('<credits>', 'a whole number')
    .requiredOption('--reason <text>', 'kept in the books')
    .option('--reference <name>', 'such as the number of an invoice: it is entered once')
    .action((account, amount, flags) =>
      act(flags, async () =>
        (await import('../credits.ts')).grantCommand(settings(), [account, amount], flags),
      ),
    )

  command(credits, 'adjust', 'Correct the credits of an account, up or down')
    .argument(...accountArgument)
    .requiredOption('--credits <n>', 'how many more; below 0 how many fewer')
    .requiredOption('--reason <text>', 'kept in the books')
    .option('--reference <name>', 'it is entered once')
    .action((account, flags) =>
      act(flags, async () =>
        (await import('../credits.ts')).adjustCommand(settings(), account, flags),
      ),
    )

  command(credits, 'show', 'Show what an account has left')
    .argument(...accountArgument)
    .action((account, flags) =>
      act(flags, async () =>
        (await import('../credits.ts')).showCreditsCommand(settings(), account),
      ),
    )

  command(credits, 'usage', 'Show what an account spent by day, meter and operation')
    .argument(...accountArgument)
    .option('--since <day>', 'in UTC; default: 30 days before the end')
    .option('--until <day>', 'in UTC, not included; default: now')
    .option('--csv', 'for a spreadsheet')
    .action((account, flags) =>
      act(flags, async () =>
        (await import('../credits.ts')).usageCommand(settings(), account, flags),
      ),
    )

  command(credits, 'audit', 'Add up the books: ends with 1 where a balance is not what they say')
    .option('--resume', 'charge accounts again that were suspended and are whole')
    .option('--archive <file...>', 'verify these files of archived months')
    .action((flags) =>
      act(flags, async () =>
        (await import('../credits-audit.ts')).auditCreditsCommand(settings(), flags),
      ),
    )

  command(credits, 'archive', 'Write the entries of a month that is over to a file, and drop them')
    .argument('<month>', 'in UTC, such as 2026-05')
    .requiredOption('--out <file>', 'a new file; keep it as long as you keep books')
    .action((month, flags) =>
      act(flags, async () =>
        (await import('../credits-archive.ts')).archiveCreditsCommand(settings(), month, flags),
      ),
    )
}

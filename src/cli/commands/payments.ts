import type { Command } from 'commander'
import { act, command, limitOption, settings } from './declare.ts'

const sinceOption = ['--since <day>', 'from this day on, in UTC'] as const

export function paymentsCommands(program: Command): void {
  const payments = program.command('payments').description('What was paid on the spot (x402)')

  function paymentsCommand(name: string, description: string): Command {
    return command(payments, name, description).option('--csv', 'for a spreadsheet')
  }

  paymentsCommand('list', 'Show payments, the newest first')
    .option('--state <state>', 'claimed, settling, unknown, settled, released or failed')
    .option(...sinceOption)
    .option(...limitOption)
    .action((flags) =>
      act(flags, async () =>
        (await import('../payments.ts')).listPaymentsCommand(settings(), flags),
      ),
    )

  paymentsCommand(
    'attention',
    'Show payments that may have been made and are not settled: ends with 1 if there are any',
  )
    .option(...limitOption)
    .action((flags) =>
      act(flags, async () => (await import('../payments.ts')).attentionCommand(settings(), flags)),
    )

  paymentsCommand('revenue', 'Show what came in by day and endpoint; 30 days unless told')
    .option(...sinceOption)
    .action((flags) =>
      act(flags, async () => (await import('../payments.ts')).revenueCommand(settings(), flags)),
    )
}

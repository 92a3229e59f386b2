import type { Command } from 'commander'
import { act, command, limitOption, settings } from './declare.ts'

const sinceOption = ['--since <day>', 'from this day on, in UTC'] as const

export function paymentsCommands(program: Command): void {
  const payments = program.command('payments').description('What was paid on the spot (x402)')

  function paymentsCommand(name: string, description: string): Command {
    return command(payments, name, description).option('--csv', 'for a spreadsheet')
  }

  paymentsCommand('list', 'Show payments, the newest first')
    .option('--state <state>', 'settling, unknown, settled, released or failed')
    .option('--payer <address>', 'of this wallet alone')
    .option(...sinceOption)
    .option(...limitOption)
    .action((flags) =>
      act(flags, async () =>
        (await import('../payments.ts')).listPaymentsCommand(settings(), flags),
      ),
    )

  paymentsCommand(
    'states',
    'Show how many payments there are in each state, and of how much',
  ).action((flags) =>
    act(flags, async () => (await import('../payments.ts')).statesCommand(settings(), flags)),
  )

  paymentsCommand(
    'unserved',
    'Show what was paid when nobody waited for the answer any more, and whose payers have not come back since',
  )
    .option(...limitOption)
    .action((flags) =>
      act(flags, async () => (await import('../payments.ts')).unservedCommand(settings(), flags)),
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

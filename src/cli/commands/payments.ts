import type { Command } from 'commander'
import { act, command, limitOption, settings } from './declare.ts'

const sinceOption = ['--since <day>', 'from this day on, in UTC'] as const

export function declareCommand(payments: Command): void {
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

  command(payments, 'close', 'Say what became of a payment that was left open, as you found it')
    .argument('<payment>', 'its id')
    .option('--paid <transaction>', 'it was paid by this one')
    .option('--not-paid', 'it was not, and cannot be any more: what was signed is no longer valid')
    .action((payment, flags) =>
      act(flags, async () =>
        (await import('../payments-close.ts')).closePaymentCommand(settings(), payment, flags),
      ),
    )

  paymentsCommand('revenue', 'Show what came in by day and endpoint; 30 days unless told')
    .option(...sinceOption)
    .action((flags) =>
      act(flags, async () => (await import('../payments.ts')).revenueCommand(settings(), flags)),
    )
}

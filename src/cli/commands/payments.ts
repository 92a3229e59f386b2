/** `assay payments`: x402 payments, their revenue, and those that need a decision. */
import type { Command } from 'commander'
import { wireTime } from '../../platform/clock.ts'
import { type Closing, closePayment } from '../../x402/settlement/close.ts'
import {
  type ListedPayment,
  listPayments,
  listUndelivered,
  listUnresolved,
  type Revenue,
  revenueByDay,
  type StateSum,
  sumByState,
} from '../../x402/settlement/reports-store.ts'
import { type PaymentState, paymentStates } from '../../x402/settlement/store.ts'
import { idFrom, limitOption, oneOf, parseDay, parseTransaction, parseWallet } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, usageError } from '../fail.ts'
import { done, type Outcome } from '../output.ts'
import { type Columns, listed } from '../render.ts'

const limit = limitOption(50, 999_999)
const csvOption = ['--csv', 'CSV for a spreadsheet'] as const
const sinceOption = ['--since <day>', 'from this day on, in UTC', parseDay] as const

export function declareCommand(payments: Command): void {
  command(
    payments,
    'list',
    'Show payments, the newest first',
    'assay payments list --state settled --since 2026-05-01 --csv',
  )
    .option(...csvOption)
    .option('--state <state>', paymentStates.join(', '), oneOf(paymentStates))
    .option('--payer <address>', 'only payments of this wallet', parseWallet)
    .option(...sinceOption)
    .option(...limit)
    .action(act(list))

  command(
    payments,
    'states',
    'Show the number and the sum of payments in each state',
    'assay payments states',
  )
    .option(...csvOption)
    .action(act(sumStates))

  command(
    payments,
    'undelivered',
    'Show payments that were made after the caller was gone, and not requested again since',
    'assay payments undelivered',
  )
    .option(...csvOption)
    .option(...limit)
    .action(act(showUndelivered))

  command(
    payments,
    'unresolved',
    'Show payments that may have been made and are not settled: ends with 1 if there are any',
    'assay payments unresolved',
  )
    .option(...csvOption)
    .option(...limit)
    .action(act(showUnresolved))

  command(
    payments,
    'close',
    'Record what became of an unresolved payment, as you found it on the chain',
    'assay payments close 01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f --not-paid',
  )
    .argument('<payment>', 'id of the payment', idFrom('assay payments unresolved'))
    .option('--paid <transaction>', 'this transaction paid it', parseTransaction)
    .option(
      '--not-paid',
      'no transaction paid it, and none can any more: its signature has expired',
    )
    .action(act(close))

  command(
    payments,
    'revenue',
    'Show settled payments by day and endpoint',
    'assay payments revenue --since 2026-05-01 --csv',
  )
    .option(...csvOption)
    .option('--since <day>', 'in UTC; default: 30 days ago', parseDay)
    .action(act(showRevenue))
}

interface CsvFlag {
  csv?: boolean
}

interface ListFlags extends CsvFlag {
  state?: PaymentState
  payer?: string
  since?: Date
  limit: number
}

const columns: Columns<ListedPayment> = {
  at: ({ stateAt }) => stateAt,
  state: ({ state }) => state,
  endpoint: ({ endpoint }) => endpoint,
  chain: ({ chainId }) => chainId,
  amount: ({ amount }) => amount,
  payer: ({ payer }) => payer,
  transaction: ({ txHash }) => txHash,
  reason: ({ reason }) => reason,
  id: ({ id }) => id,
}

function list({ state, payer, since, limit, csv }: ListFlags): Promise<Outcome> {
  const filter = { state: state ?? null, payer: payer ?? null, since: since ?? null, limit }
  return withContext(async ({ db }) => {
    const payments = await listPayments(db, filter)
    return listed({ payments }, { rows: payments, columns, none: 'There are no payments.', csv })
  })
}

/** Background jobs resolve a payment in less time. */
const openMs = 120_000

const unresolvedColumns: Columns<ListedPayment> = {
  ...columns,
  validBefore: ({ validBefore }) => validBefore,
  nonce: ({ nonce }) => nonce,
}

const advice = [
  '',
  'Each of them may have been paid without a delivery. A jobs process with X402_RPC_URL asks the chain about them: check that it runs.',
  'If the payer sends the payment again, it is served once the answer is known. No payer is charged twice.',
  'If only you can find out, look at the chain and run `assay payments close ID`.',
]

function showUnresolved({ limit, csv }: { limit: number } & CsvFlag): Promise<Outcome> {
  return withContext(async ({ db, clock }) => {
    const openSince = new Date(clock().getTime() - openMs)
    const payments = await listUnresolved(db, { openSince, limit })
    const none = 'No payment is unresolved.'
    const rendered = { rows: payments, columns: unresolvedColumns, none, csv }
    const outcome = listed({ ok: true, payments }, rendered)
    if (payments.length === 0) return outcome
    return { ...outcome, exitCode: 1, lines: [...outcome.lines, ...(csv ? [] : advice)] }
  })
}

function showUndelivered({ limit, csv }: { limit: number } & CsvFlag): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const payments = await listUndelivered(db, limit)
    const none = 'Every payment was delivered.'
    return listed({ payments }, { rows: payments, columns, none, csv })
  })
}

const stateColumns: Columns<StateSum> = {
  state: ({ state }) => state,
  chain: ({ chainId }) => chainId,
  payments: ({ payments }) => payments,
  amount: ({ amount }) => amount,
  oldest: ({ oldest }) => oldest,
  newest: ({ newest }) => newest,
}

function sumStates({ csv }: CsvFlag): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const states = await sumByState(db)
    const none = 'There are no payments.'
    return listed({ states }, { rows: states, columns: stateColumns, none, csv })
  })
}

const revenueColumns: Columns<Revenue> = {
  day: ({ day }) => day,
  endpoint: ({ endpoint }) => endpoint,
  chain: ({ chainId }) => chainId,
  payments: ({ payments }) => payments,
  amount: ({ amount }) => amount,
}

function showRevenue({ since, csv }: { since?: Date } & CsvFlag): Promise<Outcome> {
  return withContext(async ({ db, clock }) => {
    const start = since ?? new Date(clock().getTime() - 30 * 86_400_000)
    const revenue = await revenueByDay(db, start)
    const none = `No payment was settled since ${wireTime(start)}.`
    return listed({ revenue }, { rows: revenue, columns: revenueColumns, none, csv })
  })
}

interface CloseFlags {
  paid?: string
  notPaid?: boolean
}

function close(id: string, { paid, notPaid = false }: CloseFlags): Promise<Outcome> {
  if ((paid === undefined) !== notPaid)
    throw usageError('Use either --paid with the transaction, or --not-paid.')
  const transaction = paid ?? null
  return withContext(async (context) => {
    const closing = await closePayment(context, { id, txHash: transaction })
    if (closing.outcome !== 'closed') throw failure(`${reasonOf(closing, id)} Nothing was changed.`)
    const line = transaction === null ? 'was not paid' : `was paid by ${transaction}`
    return done({ payment: id, transaction }, [`The payment ${id} ${line}.`])
  })
}

function reasonOf(closing: Exclude<Closing, { outcome: 'closed' }>, id: string): string {
  if (closing.outcome === 'not found') return `No payment has the id ${id}.`
  if (closing.outcome === 'ended') return `The payment ${id} is ${closing.state}, not unresolved.`
  const until = wireTime(closing.until)
  return closing.outcome === 'in work'
    ? `A process works on the payment ${id} until ${until}. Try again after that.`
    : `The payment ${id} can still be paid until ${until}. Try again after that.`
}

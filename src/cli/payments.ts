/** `assay payments …`: what was paid on the spot, what came in, and what somebody must look at. */
import type { Config } from '../config/config.ts'
import {
  type ListedPayment,
  listPayments,
  listUnserved,
  listUnsettled,
  type Revenue,
  revenueByDay,
  type StateSum,
  sumByState,
} from '../x402/settlement/reports-store.ts'
import { type PaymentState, paymentStates } from '../x402/settlement/store.ts'
import { withDatabase } from './context.ts'
import { dayGiven } from './day-given.ts'
import { usageError } from './fail.ts'
import type { Outcome } from './output.ts'
import { told } from './rows.ts'

export interface PaymentsFlags {
  state?: string
  payer?: string
  since?: string
  limit: string
  csv?: boolean
}

/** The newest first. */
export function listPaymentsCommand(config: Config, flags: PaymentsFlags): Promise<Outcome> {
  const filter = {
    state: flags.state === undefined ? null : stateOf(flags.state),
    payer: flags.payer === undefined ? null : addressOf(flags.payer),
    since: flags.since === undefined ? null : dayGiven('--since', flags.since),
    limit: limitOf(flags.limit),
  }
  return withDatabase(config, async (db) => {
    const payments = await listPayments(db, filter)
    return told(
      { payments },
      {
        columns: paymentColumns,
        rows: payments.map(paymentFields),
        flags,
        none: 'No payments.',
      },
    )
  })
}

/** Left open for longer than the background work needs. */
const openMs = 120_000

/** Ends with 1 where there is something: for a job that looks now and then. */
export function attentionCommand(config: Config, flags: PaymentsFlags): Promise<Outcome> {
  const limit = limitOf(flags.limit)
  return withDatabase(config, async (db) => {
    const openSince = new Date(Date.now() - openMs)
    const payments = await listUnsettled(db, { openSince, limit })
    const outcome = told(
      { payments },
      {
        columns: [...paymentColumns, 'validBefore', 'nonce'],
        rows: payments.map((payment) => [
          ...paymentFields(payment),
          payment.validBefore.toISOString(),
          payment.nonce,
        ]),
        flags,
        none: 'Nothing needs attention.',
      },
    )
    if (payments.length === 0) return outcome
    const lines = flags.csv === true ? outcome.lines : [...outcome.lines, '', ...advice]
    return { ...outcome, exitCode: 1, lines }
  })
}

const advice = [
  'Each may have been paid without being served. Does a worker run, and is X402_RPC_URL set? It asks the chain what became of them.',
  'A payer that sends its payment again is served as soon as the answer is known; none is charged twice.',
  'Where only you can tell, by a look at the chain: `assay payments close`.',
]

/** Money that was taken, with perhaps nothing given for it. */
export function unservedCommand(config: Config, flags: PaymentsFlags): Promise<Outcome> {
  const limit = limitOf(flags.limit)
  return withDatabase(config, async (db) => {
    const payments = await listUnserved(db, limit)
    const table = { columns: paymentColumns, rows: payments.map(paymentFields), flags }
    return told({ payments }, { ...table, none: 'Every payer came back for what was paid.' })
  })
}

export function statesCommand(config: Config, flags: Pick<PaymentsFlags, 'csv'>): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const states = await sumByState(db)
    const table = { columns: stateColumns, rows: states.map(stateFields), flags }
    return told({ states }, { ...table, none: 'No payments.' })
  })
}

const stateColumns = ['state', 'chain', 'payments', 'amount', 'oldest', 'newest']

function stateFields({ state, chainId, payments, amount, oldest, newest }: StateSum): string[] {
  const times = [oldest.toISOString(), newest.toISOString()]
  return [state, String(chainId), String(payments), amount, ...times]
}

export function revenueCommand(
  config: Config,
  flags: Pick<PaymentsFlags, 'since' | 'csv'>,
): Promise<Outcome> {
  const since = flags.since === undefined ? daysAgo(30) : dayGiven('--since', flags.since)
  return withDatabase(config, async (db) => {
    const revenue = await revenueByDay(db, since)
    return told(
      { revenue },
      {
        columns: revenueColumns,
        rows: revenue.map(revenueFields),
        flags,
        none: 'No revenue.',
      },
    )
  })
}

const paymentColumns = [
  'at',
  'state',
  'endpoint',
  'chain',
  'amount',
  'payer',
  'transaction',
  'reason',
  'id',
]

function paymentFields(payment: ListedPayment): string[] {
  const { stateAt, state, endpoint, chainId, amount, payer, txHash, reason, id } = payment
  const place = [stateAt.toISOString(), state, endpoint, String(chainId), amount, payer]
  return [...place, txHash ?? '', reason ?? '', id]
}

const revenueColumns = ['day', 'endpoint', 'chain', 'payments', 'amount']

function revenueFields({ day, endpoint, chainId, payments, amount }: Revenue): string[] {
  return [day, endpoint, String(chainId), String(payments), amount]
}

function stateOf(text: string): PaymentState {
  const state = paymentStates.find((name) => name === text)
  if (state === undefined) throw usageError(`--state takes one of ${paymentStates.join(', ')}.`)
  return state
}

function addressOf(text: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text))
    throw usageError('--payer takes an address: 0x and 40 hex characters.')
  return text.toLowerCase()
}

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * 86_400_000)
}

function limitOf(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit === 0) throw usageError('--limit takes a whole number from 1 to 999999.')
  return limit
}

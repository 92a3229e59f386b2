/** The operations on x402 payments: their revenue, and those that need a decision. */
import { type Static, Type } from 'typebox'
import {
  afterRow,
  flagField,
  idField,
  limitField,
  nextField,
  orNull,
  pageOf,
  time,
  timeField,
} from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { refuse } from '../../platform/errors.ts'
import { closedObject, listOf } from '../../platform/json/closed-object.ts'
import type { Stored } from '../../platform/json/wire-object.ts'
import { sameNames } from '../../platform/render-table.ts'
import { closePayment, recordRefund } from './settlement/close.ts'
import {
  type ListedPayment,
  listPayments,
  listUndelivered,
  listUnresolved,
  type PageEnd,
  revenueByDay,
  sumByState,
} from './settlement/reports-store.ts'
import { paymentStates } from './settlement/store.ts'

const { read, change } = operationsFor<object>()

const state = Type.Enum([...paymentStates], { description: paymentStates.join(', ') })
const amount = Type.String({ description: 'In atomic units: 10000 is 0.01 USDC.' })
const chainId = Type.Integer({ description: 'The number of the chain (EIP-155).' })
const count = Type.Integer()
const hash = Type.String()

const payment = closedObject({
  id: Type.String(),
  state,
  endpoint: Type.String(),
  chainId,
  amount,
  payer: Type.String(),
  payTo: Type.String(),
  nonce: Type.String({ description: 'With the payer, it names the authorization.' }),
  validBefore: time,
  txHash: orNull(hash, 'Null until it is paid.'),
  reason: orNull(Type.String(), 'Why it failed, or is open.'),
  claimedAt: time,
  stateAt: time,
  foundAt: orNull(time, 'When it was found paid without a caller; null once it was served.'),
  refundTxHash: orNull(hash, 'The transaction by which you gave the money back.'),
})

const payments = closedObject({ payments: Type.Array(payment), next: nextField })

const columns = {
  at: 'stateAt',
  state: 'state',
  endpoint: 'endpoint',
  chain: 'chainId',
  amount: 'amount',
  payer: 'payer',
  transaction: 'txHash',
  reason: 'reason',
  id: 'id',
} as const

const limit = { ...limitField, default: 50 }

/** A payment that is claimed again has another id, so the page after it needs its time, too. */
const after = afterRow('^[0-9]{13}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')

function pageEnd(text: string | undefined): PageEnd | null {
  return text === undefined ? null : { at: new Date(Number(text.slice(0, 13))), id: text.slice(14) }
}

/** Returns the page of `limit + 1` rows that are in the order of `timeOf`. */
function paymentPage(
  rows: readonly ListedPayment[],
  pageRows: number,
  timeOf: (row: ListedPayment) => Date | null,
): Stored<Static<typeof payments>> {
  const { rows: shown, next } = pageOf(rows, pageRows, (row) => `${Number(timeOf(row))}_${row.id}`)
  return { payments: shown, next }
}

const payer = Type.String({
  pattern: '^0x[0-9a-f]{40}$',
  description: 'must be 0x and 40 hex characters',
  'x-help': 'only payments of this wallet',
  oneSpelling: (text: string) => text.toLowerCase(),
})

function transactionField(help: string) {
  return Type.String({
    pattern: '^0x[0-9a-f]{64}$',
    description: 'must be 0x and 64 hex characters',
    'x-help': help,
    oneSpelling: (text: string) => text.toLowerCase(),
  })
}

export const paymentsList = read({
  name: 'payments list',
  http: 'GET /payments',
  summary: 'Show payments, the newest first',
  who: { operator: 'viewer' },
  input: {
    state: Type.Optional(state),
    payer: Type.Optional(payer),
    since: Type.Optional(timeField('from this day on, in UTC')),
    limit,
    after,
  },
  output: payments,
  example: { state: 'settled', since: '2026-05-01', limit: 50 },
  none: 'There are no payments.',
  columns,
  async run(db, { state: of = null, payer: by = null, since, limit: pageRows, after: end }) {
    const filter = { state: of, payer: by, since: since === undefined ? null : new Date(since) }
    const rows = await listPayments(db, { ...filter, after: pageEnd(end), limit: pageRows + 1 })
    return paymentPage(rows, pageRows, ({ stateAt }) => stateAt)
  },
})

export const paymentsStates = read({
  name: 'payments states',
  http: 'GET /payments/states',
  summary: 'Show the number and the sum of payments in each state',
  who: { operator: 'viewer' },
  output: closedObject({
    states: listOf({ state, chainId, payments: count, amount, oldest: time, newest: time }),
  }),
  none: 'There are no payments.',
  columns: {
    state: 'state',
    chain: 'chainId',
    ...sameNames('payments', 'amount', 'oldest', 'newest'),
  },
  run: async (db) => ({ states: await sumByState(db) }),
})

export const paymentsUndelivered = read({
  name: 'payments undelivered',
  http: 'GET /payments/undelivered',
  summary: 'Show payments that were made after the caller was gone, and not requested again since',
  who: { operator: 'viewer' },
  input: { limit, after },
  output: payments,
  example: { limit: 50 },
  none: 'Every payment was delivered.',
  columns,
  async run(db, { limit: pageRows, after: end }) {
    const rows = await listUndelivered(db, { after: pageEnd(end), limit: pageRows + 1 })
    return paymentPage(rows, pageRows, ({ foundAt }) => foundAt)
  },
})

/** Background jobs resolve a payment in less time. */
const openMs = 120_000

export const paymentsUnresolved = read({
  name: 'payments unresolved',
  http: 'GET /payments/unresolved',
  summary: 'Show payments that may have been made and are not settled',
  who: { operator: 'viewer' },
  input: { limit, after },
  output: payments,
  example: { limit: 50 },
  finding: 'payments',
  none: 'No payment is unresolved.',
  columns: { ...columns, validBefore: 'validBefore', nonce: 'nonce' },
  renderLines: ({ payments: open }) =>
    open.length === 0
      ? []
      : [
          '',
          'Each of them may have been paid without a delivery. A jobs process with X402_RPC_URL asks the chain about them: check that it runs.',
          'If the payer sends the payment again, it is served once the answer is known. No payer is charged twice.',
          'If only you can find out, look at the chain and run `assay payments close ID`.',
        ],
  async run(db, { limit: pageRows, after: end }, { now }) {
    const openSince = new Date(now.getTime() - openMs)
    const rows = await listUnresolved(db, { openSince, after: pageEnd(end), limit: pageRows + 1 })
    return paymentPage(rows, pageRows, ({ claimedAt }) => claimedAt)
  },
})

export const paymentsClose = change({
  name: 'payments close',
  http: 'POST /payments/{paymentId}/close',
  summary: 'Record what became of an unresolved payment, as you found it on the chain',
  who: { operator: 'admin' },
  path: { paymentId: idField('a payment', 'payments unresolved') },
  input: {
    paid: Type.Optional(transactionField('this transaction paid it')),
    notPaid: Type.Boolean({
      default: false,
      description: 'no transaction paid it, and none can any more: its signature has expired',
    }),
    shared: flagField('the transaction made other payments, too'),
  },
  output: closedObject({
    payment: Type.String(),
    transaction: orNull(hash, 'Null if it was not paid.'),
  }),
  refusals: ['invalid_field', 'payment_not_found', 'payment_state'],
  example: { paymentId: '01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f', notPaid: true, shared: false },
  audit: 'payments.closed',
  when: (record) => ['settling', 'unknown'].includes(String(Reflect.get(record, 'state'))),
  danger: 'The payment ends for ever, as paid or as not paid.',
  renderLines: ({ payment: id, transaction }) => [
    `The payment ${id} ${transaction === null ? 'was not paid' : `was paid by ${transaction}`}.`,
  ],
  async run(tx, { paymentId: id, paid, notPaid, shared: isShared }, { now }) {
    if ((paid === undefined) !== notPaid)
      return refuse('invalid_field', {
        message: 'paid must be the transaction, or notPaid true: send one of the two.',
      })
    const txHash = paid ?? null
    const closing = await closePayment(tx, { id, txHash, isShared }, now)
    if (closing !== 'closed') return closing
    return changed(
      { payment: id, transaction: txHash },
      { subjects: [id], details: { paid: txHash !== null } },
    )
  },
})

export const paymentsRefunded = change({
  name: 'payments refunded',
  http: 'POST /payments/{paymentId}/refunded',
  summary: 'Record that you gave the money of a payment back; its answer is not served again',
  who: { operator: 'admin' },
  path: { paymentId: idField('a payment', 'payments undelivered') },
  input: { transaction: transactionField('the transaction to the payer') },
  output: closedObject({ payment: Type.String(), transaction: hash, changed: Type.Boolean() }),
  refusals: ['payment_not_found', 'payment_state'],
  example: {
    paymentId: '01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f',
    transaction: `0x${'5f'.repeat(32)}`,
  },
  audit: 'payments.refunded',
  when: (record) =>
    Reflect.get(record, 'state') === 'settled' && Reflect.get(record, 'refundTxHash') === null,
  renderLines: ({ payment: id, transaction, changed: isChanged }) => [
    `The payment ${id} ${isChanged ? 'is' : 'was before'} recorded as given back by ${transaction}.`,
  ],
  async run(tx, { paymentId: id, transaction }, { now }) {
    const recorded = await recordRefund(tx, { id, txHash: transaction }, now)
    if (typeof recorded === 'object') return recorded
    const output = { payment: id, transaction, changed: recorded }
    return recorded ? changed(output, { subjects: [id] }) : unchanged(output)
  },
})

const dayMs = 86_400_000

export const paymentsRevenue = read({
  name: 'payments revenue',
  http: 'GET /payments/revenue',
  summary: 'Show settled payments by day and endpoint',
  who: { operator: 'viewer' },
  input: { since: Type.Optional(timeField('in UTC; default: 30 days ago')) },
  output: closedObject({
    revenue: listOf({
      day: Type.String({ description: 'In UTC, such as 2026-05-14.' }),
      endpoint: Type.String(),
      chainId,
      payments: count,
      amount,
      refunded: Type.String({ description: 'The part of the amount that was given back.' }),
    }),
  }),
  example: { since: '2026-05-01' },
  none: 'No payment was settled in this time.',
  columns: {
    day: 'day',
    endpoint: 'endpoint',
    chain: 'chainId',
    ...sameNames('payments', 'amount', 'refunded'),
  },
  async run(db, { since }, { now }) {
    const start = since === undefined ? new Date(now.getTime() - 30 * dayMs) : new Date(since)
    return { revenue: await revenueByDay(db, start) }
  },
})

/** In the order of the help. */
export const paymentOperations = [
  paymentsList,
  paymentsStates,
  paymentsUndelivered,
  paymentsUnresolved,
  paymentsClose,
  paymentsRefunded,
  paymentsRevenue,
] as const

/**
 * Resolves a payment that was left open by a lost answer, a crash or a silent node. If the chain
 * can be asked, it decides. A facilitator's refusal never does, because an earlier attempt may be
 * on its way.
 */

import type { NetworkName } from '../../../edge/http/payment-challenge.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Db } from '../../../platform/db/db.ts'
import { expiredReason } from '../protocol/match.ts'
import type { SignedPayment } from '../protocol/payload.ts'
import { type PaymentReason, usedReason } from '../protocol/reasons.ts'
import { openPayment } from '../protocol/seal.ts'
import { networks, type Price } from '../protocol/terms.ts'
import type { Chain } from './chain.ts'
import type { Facilitator } from './facilitator.ts'
import {
  failPayment,
  findOpenPayments,
  leaveOpen,
  markSettled,
  markUnknown,
  type PaymentRow,
  takeOver,
} from './store.ts'

export interface SettlementContext {
  /** With a short deadline, because a caller waits. */
  db: Db
  /** Without it, for work without a waiting caller, or work that must be known to be done. */
  dbWithoutDeadline: Db
  clock: Clock
  network: NetworkName
  facilitator: Facilitator
  /**
   * Null if the operator names no chain node: then only the facilitator can report the fate of a
   * payment.
   */
  chain: Chain | null
  /** The first one seals; any of them opens. */
  secrets: readonly [string, ...string[]]
  /**
   * Work that continues after its caller has an answer or is gone. An orderly shutdown waits for
   * it. Its starter handles its failure.
   */
  meanwhile(work: Promise<unknown>): void
  /** Reports trouble in our own words only. */
  onTrouble(what: string, fields: Record<string, string>): void
}

/** Returns whether only the ledger knows the fate of a payment: then no final state may be lost. */
export function isLedgerAlone({ chain }: SettlementContext): boolean {
  return chain === null
}

/** An open payment that is resumed. The caller holds its lease. */
export interface OpenPayment {
  id: string
  claimedAt: Date
  payment: SignedPayment
}

/**
 * Returns null if the row holds no readable payment, because its secret is gone from the settings.
 */
export function openPaymentOf(context: SettlementContext, row: PaymentRow): OpenPayment | null {
  const { id, claimedAt, sealedPayment } = row
  if (sealedPayment === null) return null
  const payment = openPayment(sealedPayment, { id, secrets: context.secrets })
  return payment === null ? null : { id, claimedAt, payment }
}

/** Returns the price that the payer has signed, even if the present price differs. */
function priceOf(context: SettlementContext, { authorization }: SignedPayment): Price {
  const network = networks[context.network]
  return {
    ...network,
    network: context.network,
    payTo: authorization.to,
    amount: authorization.value,
    maxTimeoutSeconds: 60,
  }
}

export type Resolved =
  | { state: 'settled' }
  | { state: 'failed'; reason: PaymentReason }
  /** `isUnused`: the chain says that the authorization has not been used so far. */
  | { state: 'open'; isUnused: boolean }

/**
 * Writes the chain's verdict if it is final. A payment that is settled in this way counts as found
 * until its payer is served.
 */
export async function resolvePayment(
  context: SettlementContext,
  open: OpenPayment,
): Promise<Resolved> {
  const { db, chain } = context
  const { id, payment, claimedAt } = open
  const fate = await chain?.fateOf(payment.authorization, priceOf(context, payment), claimedAt)
  const now = context.clock()
  if (fate?.fate === 'paid') {
    await markSettled(db, id, { txHash: fate.transaction, now, durably: true, isFound: true })
    return { state: 'settled' }
  }
  if (fate?.fate !== 'void' && fate?.fate !== 'expired')
    return { state: 'open', isUnused: fate?.fate === 'open' }
  const reason =
    fate.fate === 'void' ? usedReason : 'invalid_exact_evm_payload_authorization_valid_before'
  await failPayment(db, id, { reason, now })
  return { state: 'failed', reason }
}

/**
 * Sends the payment once more. The chain accepts an authorization once, however often it is sent.
 */
export async function settleAgain(
  context: SettlementContext,
  { id, payment }: OpenPayment,
): Promise<boolean> {
  const settlement = await context.facilitator.settle(payment, priceOf(context, payment))
  const now = context.clock()
  if (settlement.result === 'settled') {
    const { transaction: txHash } = settlement
    await markSettled(context.dbWithoutDeadline, id, { txHash, now, durably: true, isFound: true })
    return true
  }
  await markUnknown(context.db, id, { reason: settlement.reason, now })
  return false
}

/** Time during which the payer may send an open payment again before it is resolved. */
const leftMs = 30_000
const leaseMs = 60_000
const batchMax = 50

/**
 * Resolves payments that their payers left open. Any number of processes may run it. If the chain
 * can be asked, nothing is sent again, because the payer has no answer to pay for.
 */
export async function reconcilePayments(context: SettlementContext): Promise<void> {
  const { db, clock } = context
  const { chainId } = networks[context.network]
  const leftBefore = new Date(clock().getTime() - leftMs)
  for (const row of await findOpenPayments(db, { chainId, leftBefore, limit: batchMax })) {
    const now = clock()
    const lease = { now, leaseUntil: new Date(now.getTime() + leaseMs) }
    if (await takeOver(db, row.id, lease)) await reconcile(context, row)
  }
}

async function reconcile(context: SettlementContext, row: PaymentRow): Promise<void> {
  const open = openPaymentOf(context, row)
  if (open === null)
    context.onTrouble('an open payment cannot be read: is its secret gone?', { payment: row.id })
  else if ((await resolvePayment(context, open)).state !== 'open') return
  else if (
    wasSent(row) &&
    isLedgerAlone(context) &&
    expiredReason(open.payment, context.clock()) === null
  ) {
    await settleAgain(context, open)
    return
  }
  await leaveOpen(context.db, row.id, context.clock())
}

/**
 * Returns whether the payment was sent at least once. A payment in `settling` may never have had an
 * answer to pay for.
 */
function wasSent({ state }: PaymentRow): boolean {
  return state === 'unknown'
}

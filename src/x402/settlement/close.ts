/** Closes a payment by the operator's finding, if neither facilitator nor chain can decide it. */
import type { Tx } from '../../platform/db/db.ts'
import { finalitySeconds } from './chain.ts'
import { failPayment, lockPayment, markSettled, type PaymentState } from './store.ts'

export interface Finding {
  /** Id of the payment in the ledger. */
  id: string
  /** Hash of the transaction that paid, or null if it was not paid and cannot be any more. */
  txHash: string | null
}

export type Closing =
  | { outcome: 'closed' }
  | { outcome: 'not found' }
  /** The payment is not open. */
  | { outcome: 'ended'; state: PaymentState }
  /** A process works on it until then. */
  | { outcome: 'in work'; until: Date }
  /** It can still be paid until then. */
  | { outcome: 'payable'; until: Date }

/**
 * Closes the payment in the caller's transaction. A paid one is listed as undelivered until its
 * payer returns.
 */
export async function closePayment(tx: Tx, { id, txHash }: Finding, now: Date): Promise<Closing> {
  const payment = await lockPayment(tx, id)
  if (payment === undefined) return { outcome: 'not found' }
  const { state, leaseUntil, validBefore } = payment
  if (state !== 'settling' && state !== 'unknown') return { outcome: 'ended', state }
  if (leaseUntil > now) return { outcome: 'in work', until: leaseUntil }
  const over = new Date(validBefore.getTime() + finalitySeconds * 1_000)
  if (txHash !== null) await markSettled(tx, id, { txHash, now, durably: true, isFound: true })
  else if (now <= over) return { outcome: 'payable', until: over }
  else
    await failPayment(tx, id, {
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
      now,
    })
  return { outcome: 'closed' }
}

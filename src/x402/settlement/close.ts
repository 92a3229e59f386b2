/** What an operator found out about a payment that was left open, where neither facilitator nor chain could tell us. */
import type { Tx } from '../../platform/db/db.ts'
import { finalitySeconds } from './chain.ts'
import { failPayment, lockPayment, markSettled, type PaymentState } from './store.ts'

export interface Finding {
  /** Of the payment in the ledger. */
  id: string
  /** By which it was paid; null: it was not, and cannot be any more. */
  txHash: string | null
}

export type Closing =
  | { outcome: 'closed' }
  | { outcome: 'not found' }
  /** It is not open. */
  | { outcome: 'ended'; state: PaymentState }
  /** Somebody works on it until then. */
  | { outcome: 'in work'; until: Date }
  /** It can still be paid until then. */
  | { outcome: 'payable'; until: Date }

/** Inside the caller's transaction. One that was paid is listed as unserved until its payer comes back. */
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

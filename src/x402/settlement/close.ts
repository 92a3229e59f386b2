/** Closes a payment by the operator's finding, if neither facilitator nor chain can decide it. */
import { type ActionContext, audited, changed, unchanged } from '../../audit/action.ts'
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

/** Closes the payment. A paid one is listed as undelivered until its payer returns. */
export function closePayment(context: ActionContext, { id, txHash }: Finding): Promise<Closing> {
  return audited(context, 'payments.closed', async (tx, now) => {
    const payment = await lockPayment(tx, id)
    if (payment === undefined) return unchanged({ outcome: 'not found' })
    const { state, leaseUntil, validBefore } = payment
    if (state !== 'settling' && state !== 'unknown') return unchanged({ outcome: 'ended', state })
    if (leaseUntil > now) return unchanged({ outcome: 'in work', until: leaseUntil })
    const over = new Date(validBefore.getTime() + finalitySeconds * 1_000)
    if (txHash !== null) await markSettled(tx, id, { txHash, now, durably: true, isFound: true })
    else if (now <= over) return unchanged({ outcome: 'payable', until: over })
    else await failPayment(tx, id, { reason, now })
    return changed({ outcome: 'closed' }, { subjects: [id], details: { paid: txHash !== null } })
  })
}

const reason = 'invalid_exact_evm_payload_authorization_valid_before'

/** Closes a payment by the operator's finding, if neither facilitator nor chain can decide it. */
import { wireTime } from '../../../platform/clock.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { type Refusal, refuse } from '../../../platform/errors.ts'
import { finalitySeconds } from './chain.ts'
import { failPayment, findPaidBy, lockPayment, markRefunded, markSettled } from './store.ts'

interface Finding {
  /** Id of the payment in the ledger. */
  id: string
  /** Hash of the transaction that paid, or null if it was not paid and cannot be any more. */
  txHash: string | null
  /** Whether the transaction may have made other payments, too. */
  isShared: boolean
}

type Refused = Refusal<'payment_not_found' | 'payment_state'>

/** Closes the payment. A paid one is listed as undelivered until its payer returns. */
export async function closePayment(
  tx: Tx,
  { id, txHash, isShared }: Finding,
  now: Date,
): Promise<'closed' | Refused> {
  const payment = await lockPayment(tx, id)
  if (payment === undefined) return unknownPayment(id)
  const { state, leaseUntil, validBefore } = payment
  if (state !== 'settling' && state !== 'unknown')
    return wrongState(`The payment ${id} is ${state}, not unresolved.`)
  if (leaseUntil > now)
    return wrongState(
      `A process works on the payment ${id} until ${wireTime(leaseUntil)}. Try again after that.`,
    )
  const over = new Date(validBefore.getTime() + finalitySeconds * 1_000)
  const other = txHash === null || isShared ? null : await findPaidBy(tx, { txHash, not: id })
  if (other !== null)
    return wrongState(
      `The transaction ${txHash} made the payment ${other}. If the facilitator sends several payments in one transaction, and this one is among them on the chain, say that it is shared.`,
    )
  if (txHash !== null) await markSettled(tx, id, { txHash, now, durably: true, isFound: true })
  else if (now <= over)
    return wrongState(
      `The payment ${id} can still be paid until ${wireTime(over)}. Try again after that.`,
    )
  else await failPayment(tx, id, { reason, now })
  return 'closed'
}

const reason = 'invalid_exact_evm_payload_authorization_valid_before'

interface Refund {
  id: string
  /** Hash of the transaction that gave the money back. */
  txHash: string
}

/**
 * Records that the operator gave the money of a settled payment back. From then on its answer is
 * not served again. Returns false if this transaction was recorded before.
 */
export async function recordRefund(
  tx: Tx,
  { id, txHash }: Refund,
  now: Date,
): Promise<boolean | Refused> {
  const payment = await lockPayment(tx, id)
  if (payment === undefined) return unknownPayment(id)
  const { state, txHash: paidBy, refundTxHash } = payment
  if (refundTxHash === txHash) return false
  if (state !== 'settled') return wrongState(`The payment ${id} is ${state}, not settled.`)
  if (refundTxHash !== null)
    return wrongState(`The payment ${id} was given back before, by ${refundTxHash}.`)
  if (paidBy === txHash)
    return wrongState(`The transaction ${txHash} made the payment ${id}: name the one back.`)
  await markRefunded(tx, id, { txHash, now })
  return true
}

function unknownPayment(id: string): Refused {
  return refuse('payment_not_found', {
    message: `No payment has the id ${id}. Nothing was changed.`,
  })
}

function wrongState(message: string): Refused {
  return refuse('payment_state', { message: `${message} Nothing was changed.` })
}

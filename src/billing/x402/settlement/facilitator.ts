/**
 * A facilitator checks payments against the chain and sends them: a remote service, or the official
 * code in this process (local). Both are asked in version 2 of the protocol for any payment,
 * because the signature is the same and version 1 loses the transaction when its receipt is late. A
 * facilitator's words never leave this file; only the matching reason does.
 */
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { type DeadlineName, deadlineMs, withDeadline } from '../../../platform/deadlines.ts'
import { requirementV2 } from '../protocol/challenge.ts'
import type { SignedPayment } from '../protocol/payload.ts'
import {
  isFirmRefusal,
  type PaymentReason,
  paymentReason,
  settlementPending,
  simulationFailed,
} from '../protocol/reasons.ts'
import type { Price } from '../protocol/terms.ts'
import type { Chain } from './chain.ts'
import type { FacilitatorName } from './store.ts'

export type Verification =
  | { result: 'valid' }
  /**
   * `isSimulation`: the operator's own node refused to simulate the transfer, and the facilitator
   * found no other reason.
   */
  | { result: 'refused'; reason: PaymentReason; isSimulation?: boolean }
  /** It gave no answer, or none that can be understood. */
  | { result: 'no answer'; why: string }

export type Settlement =
  | { result: 'settled'; transaction: string }
  /** Nothing was sent and nothing will be. */
  | { result: 'refused'; reason: PaymentReason }
  /**
   * It may have been paid. `isSimulation`: not by us, because the simulation before sending was
   * refused.
   */
  | {
      result: 'unknown'
      reason: PaymentReason
      why: string
      isSimulation?: boolean
      /** The transaction that the facilitator sent and reports as failed. */
      failedTransaction?: string
    }

export interface Facilitator {
  /** `none` takes no payment. */
  name: FacilitatorName | 'none'
  verify(payment: SignedPayment, price: Price): Promise<Verification>
  settle(payment: SignedPayment, price: Price): Promise<Settlement>
}

/** The official interface, shared by the client and the code itself. */
export interface OfficialFacilitator {
  verify(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
  ): Promise<{ isValid: boolean; invalidReason?: string | undefined }>
  settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
  ): Promise<{ success: boolean; transaction: string; errorReason?: string | undefined }>
}

/** A missing answer, with our own word for the log. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
}

export function facilitatorOf(name: FacilitatorName, official: OfficialFacilitator): Facilitator {
  return {
    name,
    async verify(payment, price) {
      const reply = await answerOf(official.verify(...asked(payment, price)), 'verifyPayment')
      if ('why' in reply) return { result: 'no answer', why: reply.why }
      if (reply.answer.isValid) return { result: 'valid' }
      const { invalidReason } = reply.answer
      const reason = paymentReason(invalidReason, 'unexpected_verify_error')
      return reason === 'unexpected_verify_error'
        ? { result: 'no answer', why: 'it could not tell' }
        : { result: 'refused', reason, isSimulation: isOwnSimulation(name, invalidReason) }
    },
    async settle(payment, price) {
      const reply = await answerOf(official.settle(...asked(payment, price)), 'settlePayment')
      if ('why' in reply)
        return { result: 'unknown', reason: 'unexpected_settle_error', why: reply.why }
      const { success, transaction, errorReason } = reply.answer
      if (success && transactionPattern.test(transaction))
        return { result: 'settled', transaction: transaction.toLowerCase() }
      const reason = paymentReason(errorReason, 'unexpected_settle_error')
      const isUnsent = !success && transaction === ''
      if (isUnsent && isFirmRefusal(reason)) return { result: 'refused', reason }
      const isFailed =
        !success && errorReason !== settlementPending && transactionPattern.test(transaction)
      return {
        result: 'unknown',
        reason,
        why: isFailed ? 'its transaction failed' : 'it could not tell',
        isSimulation: isUnsent && isOwnSimulation(name, errorReason),
        ...(isFailed ? { failedTransaction: transaction.toLowerCase() } : {}),
      }
    },
  }
}

/**
 * A remote facilitator asks another node, which may know of a transaction that ours has not seen
 * yet.
 */
function isOwnSimulation(name: FacilitatorName, reply: string | undefined): boolean {
  return name === 'local' && reply === simulationFailed
}

/**
 * A facilitator whose claim of a payment counts only if the operator's node shows it. A claim that
 * it does not show is an unknown outcome: it is never served, and the chain decides later.
 */
export function shownByChain(facilitator: Facilitator, chain: Chain): Facilitator {
  return {
    ...facilitator,
    async settle(payment, price) {
      const settlement = await facilitator.settle(payment, price)
      if (settlement.result !== 'settled') return settlement
      const { transaction } = settlement
      if (await chain.shows(transaction, payment.authorization, price)) return settlement
      const why = 'the chain does not show the payment that the facilitator names'
      return { result: 'unknown', reason: 'unexpected_settle_error', why }
    },
  }
}

const why = 'no facilitator is set'

/** A payment that was left open stays open. */
export const noFacilitator: Facilitator = {
  name: 'none',
  verify: () => Promise.resolve({ result: 'no answer', why }),
  settle: () => Promise.resolve({ result: 'unknown', reason: 'unexpected_settle_error', why }),
}

const transactionPattern = /^0x[0-9a-fA-F]{64}$/

function asked(payment: SignedPayment, price: Price): [PaymentPayload, PaymentRequirements] {
  // `caip2` is `eip155:` and a number in every row of the networks, as the official types require.
  const requirements = requirementV2(price) as PaymentRequirements
  const { authorization, signature } = payment
  return [
    { x402Version: 2, accepted: requirements, payload: { authorization, signature } },
    requirements,
  ]
}

function answerOf<Answer>(
  asking: Promise<Answer>,
  deadline: DeadlineName,
): Promise<{ answer: Answer } | { why: string }> {
  const reply = asking.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ why: error instanceof NoAnswerError ? error.message : 'it failed' }),
  )
  return withDeadline(reply, deadline, () => ({
    why: `no answer within ${deadlineMs(deadline)} ms`,
  }))
}

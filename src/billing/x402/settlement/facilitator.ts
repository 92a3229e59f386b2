/**
 * A facilitator checks payments against the chain and sends them: a remote service, or the official
 * code in this process (local). Both are asked in version 2 of the protocol for any payment,
 * because the signature is the same and version 1 loses the transaction when its receipt is late. A
 * facilitator's words never leave this file; only the matching reason does.
 */
import { z } from '@x402/core/schemas'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { type DeadlineName, deadlineMs, withDeadline } from '../../../platform/deadlines.ts'
import type { Egress } from '../../../platform/egress/client.ts'
import { failureText } from '../../../platform/egress/failures.ts'
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

type Settlement =
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
class NoAnswerError extends Error {
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

export interface RemoteFacilitator {
  /** Without a trailing slash; `/verify` and `/settle` follow. */
  url: string
  /** The Authorization header of the facilitator, or null. */
  authorization: string | null
}

/**
 * A remote facilitator over HTTP. The official client would follow redirects and wait 90 seconds.
 */
export function remoteFacilitator(egress: Egress, remote: RemoteFacilitator): OfficialFacilitator {
  return {
    verify: async (paymentPayload, paymentRequirements) =>
      verifyAnswer.parse(
        await post(egress, remote, {
          path: '/verify',
          totalMs: deadlineMs('verifyPayment'),
          body: { x402Version: 2, paymentPayload, paymentRequirements },
        }),
      ),
    settle: async (paymentPayload, paymentRequirements) =>
      settleAnswer.parse(
        await post(egress, remote, {
          path: '/settle',
          totalMs: deadlineMs('settlePayment'),
          body: { x402Version: 2, paymentPayload, paymentRequirements },
        }),
      ),
  }
}

/** Some facilitators send null for absent members. */
const saidOrNot = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined)

/** A refusal may come with an error status; its body has the same shape. */
const verifyAnswer = z.object({ isValid: z.boolean(), invalidReason: saidOrNot })
const settleAnswer = z.object({
  success: z.boolean(),
  transaction: saidOrNot.transform((text) => text ?? ''),
  errorReason: saidOrNot,
})

async function post(
  egress: Egress,
  { url, authorization }: RemoteFacilitator,
  { path, totalMs, body }: { path: string; totalMs: number; body: unknown },
): Promise<unknown> {
  const answer = await egress.send({
    method: 'POST',
    url: `${url}${path}`,
    headers: {
      'Content-Type': 'application/json',
      ...(authorization === null ? {} : { Authorization: authorization }),
    },
    body: JSON.stringify(body),
    totalMs,
  })
  if ('failure' in answer) throw new NoAnswerError(failureText(answer.failure, answer.error))
  // A gateway may answer anything. If the facilitator itself answers, only these statuses concern
  // the payment.
  const isAbout = answer.status === 200 || (answer.status >= 400 && answer.status < 500)
  if (!isAbout || answer.isCut) throw new NoAnswerError(`it answered with status ${answer.status}`)
  try {
    return JSON.parse(answer.body.toString('utf8'))
  } catch (error) {
    throw new NoAnswerError('its answer is not JSON', { cause: error })
  }
}

/**
 * A remote facilitator over HTTP. The official client would follow redirects and wait 90 seconds.
 */
import { z } from '@x402/core/schemas'
import { deadlineMs } from '../../../platform/deadlines.ts'
import type { Egress } from '../../../platform/egress/client.ts'
import { failureText } from '../../../platform/egress/failures.ts'
import { NoAnswerError, type OfficialFacilitator } from './facilitator.ts'

export interface RemoteFacilitator {
  /** Without a trailing slash; `/verify` and `/settle` follow. */
  url: string
  /** The Authorization header of the facilitator, or null. */
  authorization: string | null
}

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

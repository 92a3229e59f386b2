/**
 * Once a payment may have been sent, every failure tells the caller to repeat only the same
 * payment.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, faultOfError, request } from '../../test/support/start/edge.ts'
import { startPaid } from '../../test/support/start/paid-edge.ts'
import { refuse, UnavailableError } from '../platform/errors.ts'
import type { PaymentPort } from './http/payments.ts'

const pending = refuse('payment_settlement_pending')

for (const [what, answer] of Object.entries<PaymentPort['answer']>({
  'an answer that is too late': ({ onSent }) => {
    onSent(pending)
    return new Promise(() => {})
  },
  'a part that is not available': async ({ onSent }) => {
    onSent(pending)
    throw new UnavailableError('down')
  },
  'a defect': async ({ onSent }) => {
    onSent(pending)
    throw new Error('a defect')
  },
}))
  test(`503 payment_settlement_pending: ${what}, after a payment may have been sent`, async () => {
    const limits = { answerTimeoutMs: 20, checkIntervalMs: 10 }
    const edge = await startPaid({ payments: { answer }, limits })
    const reply = await ask(edge.port, request('GET /read'))
    await edge.stop()
    assert.equal(faultOfError(reply, 'payment_settlement_pending'), null)
  })

test('503 unavailable: a failure before the payment was sent is an ordinary failure', async () => {
  const answer = () => Promise.reject(new UnavailableError('down'))
  const edge = await startPaid({ payments: { answer } })
  const reply = await ask(edge.port, request('GET /read'))
  await edge.stop()
  assert.equal(faultOfError(reply, 'unavailable'), null)
})

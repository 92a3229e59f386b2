import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  payloadV1,
  payloadV2,
  paymentOf,
  signAuthorization,
  testTerms,
  testWallet,
} from '../../../../test/support/build/payments.ts'
import { expiredReason, makeQuote, matchPayment, quoteRandomBytes } from './match.ts'
import type { Terms } from './terms.ts'

const secret = 'a secret of at least thirty-two characters'
const now = new Date()
const options = { secrets: [secret], now }
const wallet = testWallet()

test('a payment for the terms matches them in either version', async () => {
  const signed = await signAuthorization(wallet, testTerms)
  for (const payload of [payloadV1(signed), payloadV2(signed)])
    assert.deepEqual(matchPayment(paymentOf(payload), testTerms, options), { terms: testTerms })
})

test('a payment for anything else is refused with its reason', async () => {
  const seconds = Math.floor(now.getTime() / 1_000)
  const signed = await signAuthorization(wallet, testTerms)
  const v1 = payloadV1(signed)
  const cases: [string, unknown, string][] = [
    ['scheme', { ...v1, scheme: 'upto' }, 'unsupported_scheme'],
    ['network', { ...v1, network: 'base' }, 'invalid_network'],
    ['network by number', { ...v1, network: 'eip155:8453' }, 'invalid_network'],
    ['to', await made({ to: testTerms.asset }), 'invalid_exact_evm_payload_recipient_mismatch'],
    ['too little', await made({ value: '9999' }), 'invalid_exact_evm_payload_authorization_value'],
    ['too much', await made({ value: '10001' }), 'invalid_exact_evm_payload_authorization_value'],
    [
      'not yet valid',
      await made({ validAfter: String(seconds + 60) }),
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
    [
      'another asset accepted',
      payloadV2(signed, { ...testTerms, asset: testTerms.payTo }),
      'invalid_payment_requirements',
    ],
    [
      'another payTo accepted',
      payloadV2(signed, { ...testTerms, payTo: testTerms.asset }),
      'invalid_payment_requirements',
    ],
    [
      'another price accepted without a quote',
      payloadV2(signed, { ...testTerms, amount: '1' }),
      'invalid_payment_requirements',
    ],
    [
      'a foreign quote',
      payloadV2(signed, testTerms, { nonce: 'A'.repeat(64) }),
      'invalid_payment_requirements',
    ],
    [
      'the quote of another resource',
      payloadV2(signed, testTerms, { nonce: quoteOf({ ...testTerms, resource: 'https://a/2' }) }),
      'invalid_payment_requirements',
    ],
  ]
  for (const [name, payload, reason] of cases)
    assert.deepEqual(matchPayment(paymentOf(payload), testTerms, options), { reason }, name)
})

async function made(changes: Parameters<typeof signAuthorization>[2]) {
  return payloadV1(await signAuthorization(wallet, testTerms, changes))
}

function quoteOf(terms: Terms, at: Date = now): string {
  return makeQuote(terms, { secret, random: randomBytes(quoteRandomBytes), now: at })
}

test('a young quote keeps its price after a change of prices; an old one does not', async () => {
  const quoted = { ...testTerms, amount: '7000' }
  const signed = await signAuthorization(wallet, quoted)
  const young = paymentOf(payloadV2(signed, quoted, { nonce: quoteOf(quoted) }))
  assert.deepEqual(matchPayment(young, testTerms, options), { terms: quoted })
  const before = new Date(now.getTime() - 301_000)
  const old = paymentOf(payloadV2(signed, quoted, { nonce: quoteOf(quoted, before) }))
  assert.deepEqual(matchPayment(old, testTerms, options), {
    reason: 'invalid_payment_requirements',
  })
  const present = await signAuthorization(wallet, testTerms)
  const oldAtPresentPrice = payloadV2(present, testTerms, { nonce: quoteOf(testTerms, before) })
  assert.deepEqual(matchPayment(paymentOf(oldAtPresentPrice), testTerms, options), {
    terms: testTerms,
  })
})

test('six seconds before its end an authorization is too late to settle', async () => {
  const seconds = Math.floor(now.getTime() / 1_000)
  const left = async (count: number) =>
    expiredReason(paymentOf(await made({ validBefore: String(seconds + count) })), now)
  assert.equal(await left(6), null)
  assert.equal(await left(5), 'invalid_exact_evm_payload_authorization_valid_before')
  const never = paymentOf(await made({ validBefore: String(2n ** 256n - 1n) }))
  assert.equal(expiredReason(never, now), null)
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  payloadV1,
  paymentOf,
  signAuthorization,
  testTerms,
  testWallet,
} from '../../../../test/support/build/payments.ts'
import { openPayment, sealNonceBytes, sealPayment } from './seal.ts'

const payment = paymentOf(payloadV1(await signAuthorization(testWallet(), testTerms)))
const secret = 'a secret of thirty-two characters'
const other = 'another of thirty-two characters'
const id = '0199fb58-0000-7000-8000-000000000001'
const sealed = sealPayment(payment, { id, secret, random: randomBytes(sealNonceBytes) })

test('a sealed payment opens under the secret that sealed it, also if that secret is no longer the first', () => {
  assert.deepEqual(openPayment(sealed, { id, secrets: [secret] }), payment)
  assert.deepEqual(openPayment(sealed, { id, secrets: [other, secret] }), payment)
})

test('it does not open in another row, under another secret, or after a change of any byte', () => {
  assert.equal(openPayment(sealed, { id, secrets: [other] }), null)
  assert.equal(openPayment(sealed, { id: id.replace('1', '2'), secrets: [secret] }), null)
  for (let i = 0; i < sealed.length; i += 7) {
    const changed = Buffer.from(sealed)
    changed[i] = (changed[i] as number) ^ 1
    assert.equal(openPayment(changed, { id, secrets: [secret] }), null)
  }
  assert.equal(openPayment(sealed.subarray(0, 20), { id, secrets: [secret] }), null)
})

test('the sealed form shows nothing of the payment', () => {
  assert.ok(!sealed.toString('latin1').includes(payment.signature.slice(2, 20)))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  base64Json,
  payloadV1,
  payloadV2,
  signAuthorization,
  testTerms,
  testWallet,
} from '../../../../test/support/build/payments.ts'
import fc from '../../../../test/support/oracle/fc.ts'
import { decodePayment, paymentHeaderBytesMax, presentedPayment } from './payload.ts'
import { isFirmRefusal, paymentReason, paymentReasons } from './reasons.ts'

const signed = await signAuthorization(testWallet(), testTerms)
const v1 = payloadV1(signed)
const v2 = payloadV2(signed)

test('a payment of version 1 and one of version 2 become the same closed value', () => {
  const first = decodePayment(base64Json(v1))
  const second = decodePayment(base64Json(v2))
  assert.ok('payment' in first && 'payment' in second)
  assert.equal(first.payment.authorization.from, signed.authorization.from.toLowerCase())
  assert.deepEqual(first.payment.authorization, second.payment.authorization)
  assert.equal(first.payment.signature, second.payment.signature)
  assert.equal(first.payment.accepted, null)
  assert.equal(second.payment.accepted?.amount, '10000')
})

test('the payment identifier names the purchase; without one, the key that the payer returns does', () => {
  const named = (over: object, extra = {}) => {
    const decoded = decodePayment(base64Json({ ...payloadV2(signed, testTerms, extra), ...over }))
    return 'payment' in decoded ? decoded.payment.idempotencyKey : decoded.reason
  }
  const echoed = { idempotencyKey: 'echoed-purchase-0001' }
  const identifier = { 'payment-identifier': { info: { id: 'named-purchase-00001' } } }
  assert.equal(named({}), null)
  assert.equal(named({}, echoed), 'echoed-purchase-0001')
  assert.equal(named({ extensions: identifier }, echoed), 'named-purchase-00001')
  const declared = { 'payment-identifier': { info: { required: false } } }
  assert.equal(named({ extensions: declared }, echoed), 'echoed-purchase-0001')
  assert.equal(named({}, { idempotencyKey: 'short' }), null)
})

test('a value that is no payment is refused with its kind', () => {
  const cases: [string, unknown, string][] = [
    ['an array', [v1], 'invalid_payload'],
    ['null', null, 'invalid_payload'],
    ['a text', 'pay', 'invalid_payload'],
    ['no version', { ...v1, x402Version: undefined }, 'invalid_x402_version'],
    ['version 3', { ...v1, x402Version: 3 }, 'invalid_x402_version'],
    ['version as text', { ...v1, x402Version: '1' }, 'invalid_x402_version'],
    ['version 2 without accepted', { ...v2, accepted: undefined }, 'invalid_payload'],
    ['no scheme', { ...v1, scheme: undefined }, 'invalid_payload'],
    ['no signature', { ...v1, payload: { ...signed, signature: undefined } }, 'invalid_payload'],
    [
      'a signature cut short',
      changed({ signature: signed.signature.slice(0, -2) }),
      'invalid_payload',
    ],
    ['value as a number', authorized({ value: 10_000 }), 'invalid_payload'],
    ['a negative value', authorized({ value: '-1' }), 'invalid_payload'],
    ['a value of 257 bits', authorized({ value: String(2n ** 256n) }), 'invalid_payload'],
    ['a nonce cut short', authorized({ nonce: '0x00' }), 'invalid_payload'],
    ['permit2', changed({ permit2Authorization: {}, authorization: undefined }), 'invalid_payload'],
  ]
  for (const [name, value, reason] of cases)
    assert.deepEqual(decodePayment(base64Json(value)), { reason }, name)
})

function changed(over: object) {
  return { ...v1, payload: { ...signed, ...over } }
}
function authorized(over: object) {
  return changed({ authorization: { ...signed.authorization, ...over } })
}

test('base64 must use the standard alphabet, be padded and hold unambiguous JSON', () => {
  const good = base64Json(v1)
  const texts = [
    '',
    'not base64 at all',
    good.slice(0, -1),
    `${good} `,
    Buffer.from(JSON.stringify({ ...v1, a: '???>>>' })).toString('base64url'),
    Buffer.from('{"x402Version":1,"x402Version":2}').toString('base64'),
    Buffer.from([0x7b, 0xff, 0x7d]).toString('base64'),
  ]
  for (const text of texts)
    assert.deepEqual(decodePayment(text), { reason: 'invalid_payload' }, text)
})

test('no header makes the decoder throw', () => {
  const json = fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text).toString('base64'))
  const twisted = fc
    .record({ scheme: fc.anything(), network: fc.anything(), payload: fc.anything() })
    .map((over) => base64Json(JSON.parse(JSON.stringify({ ...v1, ...over }, plain))))
  fc.assert(
    fc.property(fc.oneof(fc.string(), json, twisted), (text) => {
      const decoded = decodePayment(text)
      return 'reason' in decoded && paymentReasons.includes(decoded.reason)
    }),
  )
})

function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

test('either header carries a payment; two different ones or an overlong one carry none', () => {
  const x = 'x'.repeat(paymentHeaderBytesMax)
  assert.deepEqual(presentedPayment({}), { kind: 'none' })
  assert.deepEqual(presentedPayment({ 'x-payment': 'a' }), { kind: 'header', text: 'a' })
  assert.deepEqual(presentedPayment({ 'payment-signature': x }), { kind: 'header', text: x })
  const both = { 'x-payment': 'a', 'payment-signature': 'a' }
  assert.deepEqual(presentedPayment(both), { kind: 'header', text: 'a' })
  // Node joins two lines of one header in this way.
  assert.deepEqual(presentedPayment({ 'x-payment': 'a, a' }), { kind: 'header', text: 'a' })
  const noPayment = '{"x402Version":1, "scheme":"exact"}'
  assert.deepEqual(presentedPayment({ 'x-payment': noPayment }), {
    kind: 'header',
    text: noPayment,
  })
  const unusable = [
    { ...both, 'x-payment': 'b' },
    { 'x-payment': 'a, b' },
    { 'x-payment': `${x}x` },
  ]
  for (const headers of unusable)
    assert.deepEqual(presentedPayment(headers), { kind: 'unusable' }, JSON.stringify(headers))
})

test('every reason is in the specification, and a reason that may hide a payment is no firm refusal', () => {
  assert.equal(
    paymentReason('invalid_exact_evm_insufficient_balance', 'unexpected_verify_error'),
    'insufficient_funds',
  )
  const foreign = [
    'constructor',
    'toString',
    'HTTP request failed: https://rpc.example/key',
    undefined,
  ]
  for (const code of foreign)
    assert.equal(paymentReason(code, 'unexpected_settle_error'), 'unexpected_settle_error')
  const open = ['nonce_already_used', 'transaction_failed', 'transfer_event_mismatch']
  for (const code of open)
    assert.ok(!isFirmRefusal(paymentReason(`invalid_exact_evm_${code}`, 'unexpected_settle_error')))
  assert.ok(!isFirmRefusal(paymentReason('settlement_pending', 'unexpected_settle_error')))
})

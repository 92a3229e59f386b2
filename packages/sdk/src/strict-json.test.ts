import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { keepsDigits } from './strict-json.ts'

test('a decimal keeps its digits if its double is written with the same ones', () => {
  for (const text of [
    '0',
    '-0',
    '-0.0',
    '0e99999999999999999999',
    '0.1',
    '-0.1',
    '0.10',
    '100',
    '1e2',
    '7.42e2',
    '1.5E+9',
    '20e-1',
    '0.30000000000000004',
    '5e-324',
    '2.2250738585072014e-308',
    '1.7976931348623157E308',
    '123456789012345.6',
  ])
    assert.equal(keepsDigits(text), true, text)
  for (const text of [
    '0.10000000000000001',
    '0.1000000000000000055511151231257827021181583404541015625',
    '1.0000000000000001',
    '-1.0000000000000001',
    '742.00000000000001',
    '1234567890123456.7',
    '1e-400',
    '4e-324',
    '1e-99999999999999999999',
    '9007199254740991.9',
  ])
    assert.equal(keepsDigits(text), false, text)
})

test('a double keeps its digits in any usual spelling; 18 digits that end in no zero are never kept', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (double) => {
      assert.equal(keepsDigits(String(double)), true)
      assert.equal(keepsDigits(double.toExponential()), true)
    }),
  )
  fc.assert(
    fc.property(
      fc.bigInt({ min: 10n ** 16n, max: 10n ** 17n - 1n }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: -300, max: 290 }),
      (digits, last, power) => assert.equal(keepsDigits(`${digits}.${last}e${power}`), false),
    ),
  )
})

test('a quarter of a million zeros are read in linear time', () => {
  const zeros = '0'.repeat(250_000)
  assert.equal(keepsDigits(`0.1${zeros}`), true)
  assert.equal(keepsDigits(`0.1${zeros}1`), false)
  assert.equal(keepsDigits(`0.${zeros}1`), false)
  assert.equal(keepsDigits(`0.${zeros}`), true)
})

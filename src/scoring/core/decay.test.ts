import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { oracleDecay, oracleTable } from '../../../test/support/oracle/hsc-oracle.ts'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { decayOf, halvesInDays } from './decay.ts'
import { halves } from './decay-table.ts'

test('the table is round(2^20 · 2^(−i/256)), and has the published SHA-256', () => {
  assert.deepEqual(halves.map(BigInt), oracleTable)
  assert.equal(
    sha256Hex(canonicalJson(halves)),
    '676f678d86d37db4805f134a64fcd1b370d7fe59651755978fae503123897ba6',
  )
})

const ages = fc.integer({ min: 0, max: 100_000 })
const months = fc.integer({ min: 1, max: 1_200 })

test("decay equals the oracle's and stays within 2.4 millionths of the curve", () => {
  fc.assert(
    fc.property(ages, months, (age, halfLife) => {
      const decay = decayOf(age, halfLife)
      assert.equal(BigInt(decay), oracleDecay(BigInt(age), BigInt(halfLife)))
      const exact = 2 ** ((-age * 16) / (halfLife * 487))
      assert.ok(Math.abs(decay / 2 ** 20 - exact) < 2.4e-6, `${age} days, ${halfLife} months`)
    }),
    { numRuns: 20_000 },
  )
})

test('decay never rises with age and ends at zero', () => {
  fc.assert(
    fc.property(ages, months, (age, halfLife) => {
      assert.ok(decayOf(age + 1, halfLife) <= decayOf(age, halfLife))
    }),
    { numRuns: 20_000 },
  )
  assert.equal(decayOf(3_652_424, 1), 0)
  assert.equal(decayOf(0, 1), 2 ** 20)
  // 16 months are 487 days.
  assert.deepEqual([decayOf(20 * 487, 16), decayOf(20 * 487 + 1, 16)], [1, 0])
  assert.equal(decayOf(3_652_424, 0), 2 ** 20)
})

test('after the half-life at most half is left; a day earlier more', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 3_000 }),
      fc.integer({ min: 6, max: 240 }),
      (age, halfLife) => {
        const days = halvesInDays(halfLife) ?? 0
        const now = decayOf(age, halfLife)
        assert.ok(decayOf(age + days, halfLife) * 2 <= now)
        assert.ok(decayOf(age + days - 2, halfLife) * 2 > now || now < 1_000)
      },
    ),
    { numRuns: 5_000 },
  )
  assert.equal(halvesInDays(16), 487)
  assert.equal(halvesInDays(24), 731)
  assert.equal(halvesInDays(0), null)
})

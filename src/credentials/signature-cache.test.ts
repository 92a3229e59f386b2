/** The signature cache stores successes of exactly one claim and is bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signatureCache } from './signature-cache.ts'

function claim(kid: string, bytes: number, signature: number) {
  return { kid, bytes: Buffer.alloc(64, bytes), signature: Buffer.alloc(64, signature) }
}

const yes = () => true
const no = () => false

test('a verified signature is not verified again, and a failed one is', () => {
  const cache = signatureCache()
  assert.equal(cache.holds(claim('k', 1, 1), no), false)
  assert.equal(cache.holds(claim('k', 1, 1), yes), true)
  assert.equal(
    cache.holds(claim('k', 1, 1), () => assert.fail('it was verified before')),
    true,
  )
})

test('another key, other bytes or another signature is another claim', () => {
  const cache = signatureCache()
  assert.equal(cache.holds(claim('k', 1, 1), yes), true)
  assert.equal(cache.holds(claim('l', 1, 1), no), false)
  assert.equal(cache.holds(claim('k', 2, 1), no), false)
  assert.equal(cache.holds(claim('k', 1, 2), no), false)
})

test('used entries stay, unused ones are dropped, and the maximum is never exceeded', () => {
  const cache = signatureCache(4)
  const keep = claim('k', 0, 0)
  assert.equal(cache.holds(keep, yes), true)
  for (let i = 1; i <= 20; i++) {
    assert.equal(cache.holds(claim('k', i, i), yes), true)
    assert.equal(cache.holds(keep, no), true, `asked for after ${i} others`)
  }
  const remembered = Array.from({ length: 20 }, (_, i) => cache.holds(claim('k', i + 1, i + 1), no))
  assert.ok(remembered.filter(Boolean).length <= 4)
})

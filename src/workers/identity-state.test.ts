import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  faultOfUntil,
  identityAt,
  isIdentityActive,
  statesOf,
  yearsAfter,
} from './identity-state.ts'

const until = new Date('2026-06-01T00:00:00Z')
const at = (ms: number) => new Date(until.getTime() + ms)

test('a verification counts before its end and no longer from that millisecond on', () => {
  const verified = { state: 'verified' as const, verifiedUntil: until }
  assert.equal(identityAt(verified, at(-1)), 'verified')
  assert.equal(identityAt(verified, at(0)), 'expired')
  assert.equal(isIdentityActive(verified, at(-1)), true)
  assert.equal(isIdentityActive(verified, at(0)), false)
  for (const state of ['pending', 'revoked'] as const) {
    assert.equal(identityAt({ state, verifiedUntil: null }, until), state)
    assert.equal(isIdentityActive({ state, verifiedUntil: null }, until), false)
  }
  assert.equal(identityAt(null, until), 'none')
  assert.equal(isIdentityActive(null, until), false)
})

test('every move from every state records its states, changes nothing or is rejected', () => {
  const table = ['none', 'pending', 'verified', 'expired', 'revoked'] as const
  const outcomesOf = (move: 'begin' | 'verify' | 'revoke') =>
    table.map((from) => statesOf(move, from)?.join(' then ') ?? 'refused')
  assert.deepEqual(outcomesOf('begin'), ['pending', '', 'refused', 'pending', 'pending'])
  assert.deepEqual(outcomesOf('verify'), [
    'pending then verified',
    'verified',
    'verified',
    'pending then verified',
    'pending then verified',
  ])
  assert.deepEqual(outcomesOf('revoke'), ['refused', 'revoked', 'revoked', 'revoked', ''])
})

test('the end of a verification lies at least one millisecond and at most ten years ahead', () => {
  const now = new Date('2026-05-14T09:00:00Z')
  const reason = (until: Date | null) => faultOfUntil('until', until, now)?.reason ?? null
  assert.equal(reason(null), 'must be a date-time with a zone')
  assert.equal(reason(now), 'must be in the future')
  assert.equal(reason(new Date(now.getTime() + 1)), null)
  const last = yearsAfter(now, 10)
  assert.equal(last.toISOString(), '2036-05-14T09:00:00.000Z')
  assert.equal(reason(last), null)
  assert.equal(reason(new Date(last.getTime() + 1)), 'must be at most 10 years ahead')
})

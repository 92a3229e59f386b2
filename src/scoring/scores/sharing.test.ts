import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredIdentity } from '../../workers/identity-state.ts'
import { mayShare, mustRevokeCredentials } from './keep-sharing.ts'

const now = new Date('2026-05-14T09:00:00Z')
const later = new Date('2027-05-14T09:00:00Z')
const earlier = new Date('2025-05-14T09:00:00Z')

const identities: readonly [name: string, identity: StoredIdentity | null][] = [
  ['none', null],
  ['pending', { state: 'pending', verifiedUntil: null }],
  ['verified', { state: 'verified', verifiedUntil: later }],
  ['expired', { state: 'verified', verifiedUntil: earlier }],
  ['revoked', { state: 'revoked', verifiedUntil: null }],
]
const either = [true, false]

test('all combinations: a score is shared only with every consent and a valid identity, and taken back if a consent or the identity is withdrawn', () => {
  let shared = 0
  for (const onboarded of either)
    for (const public_profile of either)
      for (const search_listing of either)
        for (const score_sharing of either)
          for (const [name, identity] of identities) {
            const consents = { public_profile, search_listing, score_sharing }
            const facts = { onboarded, consents, identity }
            const may = onboarded && public_profile && score_sharing && name === 'verified'
            assert.equal(mayShare(facts, now), may)
            const must = !public_profile || !score_sharing || name === 'revoked'
            assert.equal(mustRevokeCredentials(facts), must)
            assert.ok(!(may && must), 'nothing is issued that had to be taken back at once')
            if (may) shared++
          }
  assert.equal(shared, 2)
})

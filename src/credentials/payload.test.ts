/** The payload against the published vector, and the addresses that derive from PUBLIC_URL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issuedAt, origin, score, vector } from '../../test/support/build/credentials.ts'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { credentialPayload, originOf } from './payload.ts'
import { vcSha256Of } from './trust.ts'

const vectorFacts = {
  id: '6b1f6c1e-6e0a-4a52-9a55-5f1c1b3f1c1e',
  slot: {
    token: '1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62',
    listId: '2026-0007',
    index: 94_567,
  },
  validFrom: issuedAt,
  validUntil: new Date('2027-05-14T09:00:00Z'),
}

test('vector: the payload of the score reproduces byte for byte, 1,081 bytes of canonical JSON', () => {
  const payload = credentialPayload(origin, score(), vectorFacts)
  assert.equal(canonicalJson(payload), vector.canonicalPayload)
  assert.equal(Buffer.byteLength(canonicalJson(payload)), 1_081)
})

test('vector: vcSha256 is the SHA-256 of the canonical payload', () => {
  assert.equal(vcSha256Of(vector.payload).toString('hex'), vector.vcSha256)
  assert.equal(sha256Hex(vector.canonicalPayload), vector.vcSha256)
})

test('a payload holds no fraction of a second', () => {
  const validFrom = new Date('2026-05-14T09:00:00.999Z')
  const payload = credentialPayload(origin, score(), { ...vectorFacts, validFrom })
  assert.equal(payload.validFrom, '2026-05-14T09:00:00Z')
  assert.equal(payload.issuanceDate, payload.validFrom)
})

test('the issuer is did:web of the host, with a percent-encoded port (decision D30)', () => {
  assert.equal(originOf('https://scores.example.org').issuer, 'did:web:scores.example.org')
  assert.equal(originOf('http://localhost:8080').issuer, 'did:web:localhost%3A8080')
  assert.equal(originOf('https://scores.example.org:443').issuer, 'did:web:scores.example.org')
})

test('every address of an origin is under PUBLIC_URL, with or without its trailing slash', () => {
  const { shape: _, ...addresses } = originOf('https://scores.example.org/')
  assert.deepEqual(addresses, {
    url: 'https://scores.example.org',
    issuer: 'did:web:scores.example.org',
    contextUrl: 'https://scores.example.org/standard/v1/context.jsonld',
    statusUrlPrefix: 'https://scores.example.org/standard/v1/score-vc-status/',
    statusListUrlPrefix: 'https://scores.example.org/standard/v1/status-lists/score-vc-revocation/',
  })
})

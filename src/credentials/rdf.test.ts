/**
 * Canonical N-Quads: equal to a JSON-LD processor for every document that we sign, null for every
 * other document.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import {
  changed,
  inside,
  type Json,
  origin,
  sign,
  vector,
  vectorCredentials,
  verdictOn,
} from '../../test/support/build/credentials.ts'
import fc from '../../test/support/oracle/fc.ts'
import { peerNQuads } from '../../test/support/oracle/peer.ts'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { credentialPayload } from './payload.ts'
import { canonicalNQuads, isIri, isPlainText, proofOptionsNQuads, statusListShape } from './rdf.ts'
import { bitsOf, listLength, statusListPayload } from './status-list.ts'

test('vector: the N-Quads of payload and options reproduce byte for byte', () => {
  const { eddsaRdfc2022: rdfc, key } = vector
  const nquads = canonicalNQuads(vector.payload, origin.shape)
  assert.equal(nquads, rdfc.payloadNQuads)
  assert.equal(sha256Hex(nquads ?? ''), rdfc.payloadNQuadsSha256)
  const options = proofOptionsNQuads('2026-05-14T09:00:00Z', String(key.verificationMethod))
  assert.equal(options, rdfc.proofOptionsNQuads)
  assert.equal(sha256Hex(options), rdfc.proofOptionsSha256)
})

const hex64 = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((b) => Buffer.from(b).toString('hex'))
const time = fc.date({
  min: new Date('2000-01-01T00:00:00Z'),
  max: new Date('2099-12-31T23:59:59Z'),
  noInvalidDate: true,
})
const index = fc.integer({ min: 0, max: listLength - 1 })
const listId = fc.stringMatching(/^[a-z2-7]{10}$/)

const payloads = fc
  .record({
    score: fc.record({
      username: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$/),
      score: fc.integer({ min: 0, max: 1_000 }),
      scoreBand: fc.stringMatching(/^[ !#-[\]-~]{0,20}$/),
      confidenceLow: fc.integer(),
      confidenceHigh: fc.maxSafeInteger(),
      evidenceCount: fc.nat(),
      engineVersion: fc.stringMatching(/^[0-9A-Za-z.+-]{1,64}$/),
      engineBinarySha256: hex64,
    }),
    slot: fc.record({ token: hex64, listId, index }),
    validFrom: time,
    validUntil: time,
  })
  .map(({ score, ...facts }) =>
    Object.fromEntries(
      Object.entries(credentialPayload(origin, score, { id: randomUUID(), ...facts })),
    ),
  )

test('oracle: canonicalNQuads equals jsonld in safe mode for 200 random payloads', async () => {
  await fc.assert(
    fc.asyncProperty(payloads, async (payload) => {
      assert.equal(canonicalNQuads(payload, origin.shape), await peerNQuads(payload))
    }),
    { numRuns: 200 },
  )
})

test('oracle: canonicalNQuads equals jsonld if one optional member is missing', async () => {
  for (const name of ['issuanceDate', 'validFrom', 'validUntil', 'credentialStatus']) {
    const { [name]: _, ...payload } = vector.payload
    assert.equal(canonicalNQuads(payload, origin.shape), await peerNQuads(payload), name)
  }
})

test('oracle: canonicalNQuads of a status list equals jsonld for 50 random sets of revocations', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(index), listId, time, async (indexes, listId, publishedAt) => {
      const list = statusListPayload(origin, { listId, bits: bitsOf(indexes), publishedAt })
      assert.equal(canonicalNQuads(list, statusListShape), await peerNQuads(list))
    }),
    { numRuns: 50 },
  )
})

test('the order of members does not change the canonical form', () => {
  const reversed = Object.fromEntries(Object.entries(vector.payload).reverse())
  assert.equal(canonicalNQuads(reversed, origin.shape), vector.eddsaRdfc2022.payloadNQuads)
})

const strays: Record<string, (copy: Json) => void> = {
  'an extra member': (copy) => (copy.name = 'A'),
  'an extra member of the subject': (copy) => (inside(copy, 'credentialSubject').rank = 1),
  'an extra member of the status': (copy) => (inside(copy, 'credentialStatus').statusSize = 1),
  'a context inside the subject': (copy) =>
    (inside(copy, 'credentialSubject')['@context'] = { '@vocab': 'https://elsewhere.example/' }),
  'a member named like one of every object': (copy) => Object.assign(copy, { toString: 'x' }),
  'no context': (copy) => delete copy['@context'],
  'two nodes of one name': (copy) =>
    (inside(copy, 'credentialSubject').id = inside(copy, 'credentialStatus').id),
  'no id': (copy) => delete copy.id,
  'no id of the subject': (copy) => delete inside(copy, 'credentialSubject').id,
  'a blank node': (copy) => (inside(copy, 'credentialSubject').id = '_:b0'),
  'a relative IRI': (copy) => (inside(copy, 'credentialSubject').id = '/u/ada-lovelace'),
  'an IRI without a scheme we use': (copy) =>
    (inside(copy, 'credentialSubject').id = 'file:///etc'),
  'an IRI that ends itself': (copy) =>
    (inside(copy, 'credentialSubject').id = 'https://a.example/> <urn:p> <urn:o> .\n<urn:s'),
  'an IRI with a space': (copy) => (inside(copy, 'credentialSubject').engineId = 'https://a b'),
  'an IRI with a letter outside ASCII': (copy) => (copy.id = 'urn:uuid:é'),
  'a quote in a text': (copy) =>
    (inside(copy, 'credentialSubject').scoreBand = 'a" .\n<urn:s> <urn:p> "b'),
  'a backslash in a text': (copy) => (inside(copy, 'credentialSubject').scoreBand = 'a\\u0022'),
  'a line break in a text': (copy) => (inside(copy, 'credentialSubject').engineVersion = '1\n2'),
  'a text outside ASCII': (copy) => (inside(copy, 'credentialSubject').engineVersion = '１'),
  'an invalid date': (copy) => (copy.validFrom = '2026" .\n'),
  'the score as a string': (copy) => (inside(copy, 'credentialSubject').score = '742'),
  'the score with a fraction': (copy) => (inside(copy, 'credentialSubject').score = 742.5),
  'the score as an array': (copy) => (inside(copy, 'credentialSubject').score = [742]),
  'the score as null': (copy) => (inside(copy, 'credentialSubject').score = null),
  'the score as a typed value': (copy) =>
    (inside(copy, 'credentialSubject').score = { '@value': 742 }),
  'a text as a number': (copy) => (inside(copy, 'credentialStatus').statusListIndex = 94_567),
  'the type of the subject as an array': (copy) =>
    (inside(copy, 'credentialSubject').type = ['ScoredProfile']),
  'a second type of the subject': (copy) =>
    (inside(copy, 'credentialSubject').type = ['ScoredProfile', 'Person']),
  'another type of the status': (copy) =>
    (inside(copy, 'credentialStatus').type = 'StatusList2021'),
  'a third type': (copy) => (copy.type = [...(copy.type as string[]), 'OpenBadgeCredential']),
  'the types in another order': (copy) => (copy.type = [...(copy.type as string[])].reverse()),
  'two subjects': (copy) =>
    (copy.credentialSubject = [copy.credentialSubject, copy.credentialSubject]),
  'the subject as a reference': (copy) => (copy.credentialSubject = 'https://a.example/u/b'),
  'the issuer as an object': (copy) => (copy.issuer = { id: copy.issuer }),
  'an alias for id': (copy) => (copy['@id'] = copy.id),
}

for (const [what, change] of Object.entries(strays))
  test(`injection: ${what} has no canonical form, and its rdfc proof does not verify`, async () => {
    const payload = changed(vector.payload, change)
    assert.equal(canonicalNQuads(payload, origin.shape), null)
    const { proof } = vectorCredentials['eddsa-rdfc-2022']
    const result = await verdictOn({ ...payload, proof }, { registry: () => ({ kind: 'unknown' }) })
    assert.equal(result.valid, false)
    assert.equal(result.signatureValid, false)
  })

test('injection: two different payloads never have the same canonical form', () => {
  const seen = new Map<string, string>()
  fc.assert(
    fc.property(payloads, (payload) => {
      const nquads = canonicalNQuads(payload, origin.shape) ?? assert.fail('it has one')
      const text = JSON.stringify(payload)
      assert.equal(seen.get(nquads) ?? text, text)
      seen.set(nquads, text)
    }),
  )
})

test('injection: created and verificationMethod of an rdfc proof cannot leave their line', async () => {
  const { proof } = vectorCredentials['eddsa-rdfc-2022']
  const created = '2026-05-14T09:00:00Z"^^<urn:t> .\n<urn:s> <urn:p> "x'
  const result = await verdictOn({ ...vector.payload, proof: { ...(proof as Json), created } })
  assert.equal(result.reason, 'malformed_credential')
  assert.throws(() => sign(vector.payload, { form: 'eddsa-rdfc-2022', created }), /canonical form/)
  const verificationMethod = `${origin.issuer}#k> .\n<urn:s> <urn:p> <urn:o`
  assert.throws(
    () => sign(vector.payload, { form: 'eddsa-rdfc-2022', verificationMethod }),
    /canonical form/,
  )
})

test('isIri and isPlainText reject every character that N-Quads would escape', () => {
  for (let code = 0; code < 0x300; code++) {
    const character = String.fromCharCode(code)
    const mustEscape = code < 0x20 || code > 0x7e || ' <>"{}|\\^`'.includes(character)
    if (mustEscape) assert.equal(isIri(`https://a.example/${character}`), false, `IRI ${code}`)
    const textEscapes = code < 0x20 || code > 0x7e || '"\\'.includes(character)
    assert.equal(isPlainText(character), !textEscapes, `text ${code}`)
  }
})

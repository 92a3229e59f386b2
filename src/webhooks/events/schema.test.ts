import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import canonicalize from 'canonicalize'
import fc from '../../../test/support/oracle/fc.ts'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { type EventType, eventTypeNames, eventTypes } from './event-types.ts'
import { envelopeText, eventId, eventIdRandomBytes } from './schema.ts'

interface Vector {
  type: EventType
  id: string
  at: string
  data: object
  body: string
  bodySha256: string
}

const { events }: { events: Vector[] } = JSON.parse(
  readFileSync('vectors/webhook-events.json', 'utf8'),
)

test('the vectors have each event type with its published example', () => {
  assert.deepEqual(
    events.map(({ type }) => type),
    eventTypeNames,
  )
  for (const { type, data } of events) assert.deepEqual(data, eventTypes[type].example)
})

for (const { type, id, at, data, body, bodySha256 } of events) {
  test(`${type}: the envelope has the bytes of the vector`, () => {
    const text = envelopeText({ id, type, data }, new Date(at))
    assert.equal(text, body)
    assert.equal(sha256Hex(text), bodySha256)
  })

  test(`${type}: the order of the members in the data does not change the bytes`, () => {
    const reversed = Object.fromEntries(Object.entries(data).reverse())
    assert.equal(envelopeText({ id, type, data: reversed }, new Date(at)), body)
  })
}

test('the envelope has five members', () => {
  for (const { body } of events)
    assert.deepEqual(Object.keys(JSON.parse(body)).sort(), [
      'createdAt',
      'data',
      'id',
      'schemaVersion',
      'type',
    ])
})

test('the bytes equal the canonical JSON of another implementation, for any data', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (data) => {
      const text = envelopeText({ id: 'evt_1', type: 'score.updated', data }, new Date(0))
      assert.equal(text, canonicalize(JSON.parse(text)))
    }),
  )
})

const times = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const random = fc.uint8Array({ minLength: eventIdRandomBytes, maxLength: eventIdRandomBytes })

test('an event id is evt_ and a version 7 UUID in hex, whose first 48 bits are the time', () => {
  fc.assert(
    fc.property(times, random, (ms, bytes) => {
      const id = eventId(new Date(ms), bytes)
      assert.match(id, /^evt_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
      assert.equal(Number.parseInt(id.slice(4, 16), 16), ms)
    }),
  )
})

test('an event id has 74 random bits', () => {
  const at = new Date('2026-05-14T09:00:00Z')
  const seen = new Set<string>()
  for (let bit = 0; bit < eventIdRandomBytes * 8; bit++) {
    const bytes = new Uint8Array(eventIdRandomBytes)
    bytes[bit >> 3] = 1 << (bit & 7)
    seen.add(eventId(at, bytes))
  }
  seen.delete(eventId(at, new Uint8Array(eventIdRandomBytes)))
  assert.equal(seen.size, 74)
})

test('10,000 events of one millisecond have different ids', () => {
  const at = new Date('2026-05-14T09:00:00Z')
  const ids = Array.from({ length: 10_000 }, () => eventId(at, randomBytes(eventIdRandomBytes)))
  assert.equal(new Set(ids).size, ids.length)
})

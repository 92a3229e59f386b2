import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { closedObject } from './closed-object.ts'
import { wireObject } from './wire-object.ts'

const inner = closedObject({ sha256: Type.String(), more: Type.Optional(Type.String()) })
const shape = closedObject({
  at: Type.String(),
  end: Type.Union([Type.String(), Type.Null()]),
  one: Type.Union([inner, Type.Null()]),
  list: Type.Array(inner),
  free: Type.Object({}, { additionalProperties: true }),
  either: Type.Union([closedObject({ a: Type.Integer() }), closedObject({ b: Type.Integer() })]),
})

test('an object has its declared members in their order, times in whole seconds, bytes in hex', () => {
  const row = { sha256: Buffer.from('0aff', 'hex'), secret: 'x' }
  const stored = {
    secret: 'x',
    either: { b: 1 },
    free: { any: 1 },
    list: [row],
    one: row,
    end: null,
    at: new Date('2026-05-14T09:00:00.123Z'),
  }
  assert.equal(
    JSON.stringify(wireObject(shape, stored)),
    '{"at":"2026-05-14T09:00:00Z","end":null,"one":{"sha256":"0aff"},"list":[{"sha256":"0aff"}],"free":{"any":1},"either":{"b":1}}',
  )
})

test('null stands for an object that may be null', () => {
  const stored = { at: '', end: '', one: null, list: [], free: {}, either: { a: 1 } }
  assert.deepEqual(wireObject(shape, stored), stored)
})

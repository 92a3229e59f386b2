import assert from 'node:assert/strict'
import { test } from 'node:test'
import canonicalize from 'canonicalize'
import fc from '../../../test/support/oracle/fc.ts'
import { canonicalJson } from './canonical-json.ts'
import { readJson } from './strict-json.ts'

/** Names that JavaScript engines treat specially: array indexes, the prototype, inherited names. */
const awkwardNames = fc.constantFrom(
  '',
  '0',
  '1',
  '9',
  '10',
  '4294967294',
  '4294967295',
  '01',
  '-1',
  '1e3',
  '__proto__',

  'constructor',
  'toString',
  'toJSON',
  'length',
  'é',
  'e\u0301',
  '\ufb33',
  '\u{1F600}',
  '€',
  '\r',
)
const names = fc.oneof(awkwardNames, fc.string({ unit: 'grapheme', maxLength: 6 }))

const { value: jsonValues } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.array(fc.tuple(names, tie('value')), { maxLength: 40 }).map(Object.fromEntries),
  ),
}))

test('any JSON value is written as another implementation of RFC 8785 writes it', () => {
  fc.assert(
    fc.property(jsonValues, (value) => {
      assert.equal(canonicalJson(value), canonicalize(value))
    }),
    { numRuns: 3_000 },
  )
})

test('reading the canonical text and writing it again changes nothing; the order of members never matters', () => {
  fc.assert(
    fc.property(jsonValues, (value) => {
      const text = canonicalJson(value)
      assert.equal(canonicalJson(readJson(text)), text)
    }),
    { numRuns: 1_000 },
  )
  const members = fc.uniqueArray(fc.tuple(names, fc.integer()), { selector: ([name]) => name })
  fc.assert(
    fc.property(members, (entries) => {
      const backwards = Object.fromEntries(entries.toReversed())
      assert.equal(canonicalJson(Object.fromEntries(entries)), canonicalJson(backwards))
    }),
  )
})

test('the examples of RFC 8785 sections 3.2.2 and 3.2.3', () => {
  const example = `{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
    "literals": [null, true, false]
  }`
  assert.equal(
    canonicalJson(JSON.parse(example)),
    `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA'B\\"\\\\\\\\\\"/"}`,
  )
  const order = {
    '\u20ac': 1,
    '\r': 2,
    '\ufb33': 3,
    '1': 4,
    '\u{1F600}': 5,
    '\u0080': 6,
    '\u00f6': 7,
  }
  assert.equal(
    canonicalJson(order),
    '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1F600}":5,"\ufb33":3}',
  )
})

test('numbers as RFC 8785 appendix B lists them', () => {
  const bits: readonly [string, string][] = [
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ]
  for (const [hex, text] of bits)
    assert.equal(canonicalJson(Buffer.from(hex, 'hex').readDoubleBE()), text)
})

test('members that are undefined are left out, with and without names that look like numbers', () => {
  assert.equal(canonicalJson({ b: undefined, a: 1 }), '{"a":1}')
  assert.equal(canonicalJson({ 10: undefined, 9: 1, 8: { b: undefined } }), '{"8":{},"9":1}')
  assert.equal(canonicalJson({ b: undefined }), '{}')
})

test('a member that is named like the prototype stays a member', () => {
  const value: unknown = JSON.parse('{"b":{"__proto__":{"x":1}},"a":1}')
  assert.equal(canonicalJson(value), '{"a":1,"b":{"__proto__":{"x":1}}}')
  assert.equal(canonicalJson({}), '{}')
})

test('twenty thousand members, in any order, are sorted', () => {
  for (const name of [(i: number) => `k${i}`, (i: number) => `${i}`]) {
    const entries = Array.from({ length: 20_000 }, (_, i) => [name((i * 7_919) % 20_000), i])
    const value: unknown = Object.fromEntries(entries)
    assert.equal(canonicalJson(value), canonicalize(value))
  }
})

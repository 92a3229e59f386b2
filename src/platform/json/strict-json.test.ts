import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { parseStrictJson, type StrictJson } from './strict-json.ts'

const kindOf = (text: string | Uint8Array): StrictJson['kind'] =>
  parseStrictJson(typeof text === 'string' ? Buffer.from(text) : text).kind

function whyOf(text: string): string {
  const json = parseStrictJson(Buffer.from(text))
  return json.kind === 'value' ? '' : json.why
}

const bytesMax = 262_144

test('every form that RFC 8259 allows is a value', () => {
  const valid = [
    '[]',
    '{}',
    '[[]   ]',
    '[""]',
    '[1]',
    '[null, 1, "1", {}]',
    ' [1] ',
    '[1\n]',
    '\t[]\r\n',
    'true',
    'false',
    'null',
    '"asd"',
    '""',
    '42',
    '-0.1',
    ' 4 ',
    '"\\u0012"',
    '" "',
    '[0]',
    '[-0]',
    '[-1]',
    '[1e1]',
    '[1E1]',
    '[0e1]',
    '[0e+1]',
    '[0E-1]',
    '[123.456e7]',
    '[1.5e+9]',
    '[1e-2]',
    '[20e1]',
    '[0.1]',
    '[123.456789]',
    '[-123]',
    '[-0.0]',
    '[5e-324]',
    '[2.2250738585072014e-308]',
    '[9007199254740991]',

    '["\\"\\\\\\/\\b\\f\\n\\r\\t"]',
    '["\\u0060\\u012a\\u12AB"]',
    '["\\uD801\\udc37"]',
    '["\\\\u0000"]',

    '["\\u0022"]',
    '["\\u005C"]',
    '["\\uFFFF"]',
    '["\u007f"]',
    '["\u2028\u2029"]',
    '["€\u{1D11E}"]',
    '["\u{10FFFF}"]',
    '["\uFFFE"]',
    '["a/*b*/c/*d//e"]',
    '["new\\u000Aline"]',
    '["\uFEFF"]',
    '{"asd":"sdf", "dfg":"fgh"}',
    '{"":0}',
    '{"a":[]}',
    '{"a":{"a":1}}',
    '{"min": -1.0e+8}',
    '[{"a":1},{"a":1}]',
    '{"a":"a:b","b":":"}',
    '{"\\u0061b":1,"a":1}',
    '{"a":"{[\\"}]"}',
    '{"constructor":1,"toString":2,"hasOwnProperty":3,"prototype":4}',
    '{"1":1,"0":2}',
    '{"a\\"b":1,"a\\\\":2}',
    '{"é":1,"e\u0301":2}',
    '{"__proto":1,"proto__":2}',
  ]
  for (const text of valid) {
    const json = parseStrictJson(Buffer.from(text))
    assert.deepEqual(json, { kind: 'value', value: JSON.parse(text) }, text)
  }
})

const notRfc8259 = [
  '',
  ' ',
  '[',
  ']',
  '{',
  '}',
  '[1',
  '[1,',
  '[1,]',
  '[,1]',
  '[1,,2]',
  '[1 2]',
  '[""',
  '["a"',

  '["a',
  '"',
  '"\\',
  '"\\u00',
  '["\\u00A"]',
  '["\\uD834\\"',
  '["\\x00"]',
  '["\\a"]',
  '["\\u{1}"]',
  "['a']",
  '[a]',
  '{a:1}',
  "{'a':1}",
  '{"a"}',
  '{"a":}',
  '{"a" 1}',
  '{"a":1,}',
  '{,"a":1}',

  '{"a":1 "b":2}',
  '{"a":1,,"b":2}',
  '{1:1}',
  '{null:1}',
  '{"a":1}}',
  '{"a":1}#',
  '{}{}',
  '[][]',

  '[1]x',
  '1 2',
  'tru',
  'nul',
  'True',
  'undefined',
  'NaN',
  '[NaN]',
  '[Infinity]',
  '[-Infinity]',

  '[+1]',
  '[01]',
  '[-01]',
  '[00]',
  '[1.]',
  '[.1]',
  '[-.1]',
  '[-]',
  '[--1]',
  '[1e]',
  '[1e+]',
  '[0x1]',

  '[1_000]',
  '[1e1.5]',
  '[0e]',
  '[1+2]',
  '[- 1]',
  '[1.2.3]',
  '[１]',
  '["\t"]',
  '["\n"]',
  '["\0"]',
  '\0',

  '[1]\0',
  '[\f]',
  '[\u00A0]',
  '[\u2060]',
  '\u2028[]',
  '/* */[]',
  '[]//',
  '[/**/]',
  '<a/>',
  '*',
  '@',
  ")]}',\n{}",
  '{"a":"b"',
  '{"a":[}',
  '[{]}',
  '\\u007b}',
  '["a"\\n]',
  '[\\u0020"a"]',
  '"a"b',
]

test('a text that RFC 8259 does not allow is not JSON', () => {
  for (const text of notRfc8259) assert.equal(kindOf(text), 'invalid', JSON.stringify(text))
})

test('a byte order mark, and any encoding but UTF-8, is not JSON', () => {
  assert.equal(kindOf('\uFEFF{}'), 'invalid')
  assert.equal(kindOf(Buffer.from('{}', 'utf16le')), 'invalid')
  assert.equal(kindOf(Buffer.from('\uFEFF{}', 'utf16le')), 'invalid')
  assert.equal(kindOf(Buffer.from('00000000', 'hex')), 'invalid')
})

test('bytes that are not UTF-8 are refused at any place, and the valid ones beside them are accepted', () => {
  const wrong = [
    '80',
    'bf',
    'c0',
    'c080',
    'c0af',
    'c1bf',
    'c2',
    'e0',
    'e080af',
    'e09fbf',
    'e282',
    'f08080af',

    'eda080',
    'edbfbf',
    'eda0bdedb880',
    'f4908080',
    'f5808080',
    'f09f98',
    'f88080808080',
    'fe',
    'ff',
    'e9',
  ]
  const right = ['c280', 'dfbf', 'e0a080', 'ed9fbf', 'ee8080', 'efbfbf', 'f0908080', 'f48fbfbf']
  const inString = (hex: string) => Buffer.from(`5b22${hex}225d`, 'hex')
  const inName = (hex: string) => Buffer.from(`7b22${hex}223a317d`, 'hex')
  for (const hex of wrong) {
    assert.equal(kindOf(inString(hex)), 'invalid', hex)
    assert.equal(kindOf(inName(hex)), 'invalid', hex)
    assert.equal(kindOf(Buffer.from(`5b5d${hex}`, 'hex')), 'invalid', hex)
  }
  for (const hex of right) {
    assert.equal(kindOf(inString(hex)), 'value', hex)
    assert.equal(kindOf(inName(hex)), 'value', hex)
  }
})

test('32 levels are a value, 33 are ambiguous, of arrays, objects and both', () => {
  const forms: readonly [string, string, string][] = [
    ['[', ']', '['],
    ['{"a":', '}', '{'],
    ['[{"a":', '}]', '[{'],
  ]
  for (const [open, close, levels] of forms) {
    const nested = (depth: number) => {
      const times = depth / levels.length
      return `${open.repeat(times)}1${close.repeat(times)}`
    }
    assert.equal(kindOf(nested(32)), 'value')
    assert.equal(kindOf(`[${nested(32)}]`), 'ambiguous')
    assert.match(whyOf(`[${nested(32)}]`), /deeper than 32/)
  }
  assert.equal(kindOf(`["${'['.repeat(100)}"]`), 'value')
  assert.equal(kindOf(`[${'[],'.repeat(100)}[]]`), 'value')
})

test('10,000 members or items are a value, one more is ambiguous, together or spread', () => {
  const members = (count: number, from = 0) =>
    `{${Array.from({ length: count }, (_, i) => `"${from + i}":1`).join(',')}}`
  const items = (count: number) => `[${Array<string>(count).fill('1').join(',')}]`
  for (const make of [members, items]) {
    assert.equal(kindOf(make(10_000)), 'value')
    assert.equal(kindOf(make(10_001)), 'ambiguous')
    assert.match(whyOf(make(10_001)), /more than 10000 members/)
  }
  const halves = (more: number) => `{"a":${members(5_000)},"b":${members(4_998 + more)}}`
  assert.equal(kindOf(halves(0)), 'value')
  assert.equal(kindOf(halves(1)), 'ambiguous')
  const rows = (more: number) => `[${items(5_000)},${items(4_998 + more)}]`
  assert.equal(kindOf(rows(0)), 'value')
  assert.equal(kindOf(rows(1)), 'ambiguous')
})

test('a name that occurs twice in one object is ambiguous, however it is written and whichever value it hides', () => {
  const duplicates = [
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"":1,"":1}',
    '[{"x":{"a":1,"a":2}}]',
    '{"a":1,"\\u0061":2}',
    '{"\\u0061":1,"a":2}',
    '{"\\u0041":1,"A":2}',
    '{"/":1,"\\/":2}',
    '{"\\u00e9":1,"é":2}',
    '{"\\ud83d\\ude00":1,"\u{1F600}":2}',
    '{"\\"":1,"\\u0022":2}',

    '{"1":1,"1":2}',
    '{"a":{"b":1,"c":2},"a":1}',
    '{"a":":","a":"::"}',
    '{ "a" : 1 , "a" : 2 }',

    '{"a":[{"b":1}],"a":[{"b":1}]}',
    '{"constructor":1,"constructor":1}',
    '{"a\\\\":1,"a\\\\":2}',
  ]
  for (const text of duplicates) {
    assert.equal(kindOf(text), 'ambiguous', text)
    assert.match(whyOf(text), /twice/, text)
  }
})

test('__proto__ as a name is ambiguous at any level and however written, and sets no prototype', () => {
  for (const text of [
    '{"__proto__":{"x":1}}',
    '[{"a":{"__proto__":1}}]',
    '{"\\u005f_proto__":null}',
  ]) {
    assert.equal(kindOf(text), 'ambiguous', text)
    assert.match(whyOf(text), /forbidden/)
  }
  assert.equal(kindOf('["__proto__"]'), 'value')
  assert.equal(Reflect.get({}, 'x'), undefined)
})

test('a lone surrogate or a NUL is ambiguous in a string and in a name; surrogate pairs and other escapes are not', () => {
  const strings: readonly [string, RegExp][] = [
    ['\\ud800', /surrogate/],
    ['\\udfff', /surrogate/],
    ['\\ude00\\ud83d', /surrogate/],
    ['\\ud83d\\ud83d\\ude00', /surrogate/],
    ['\\uD83Dx\\uDE00', /surrogate/],
    ['a\\ud83d', /surrogate/],
    ['\\ud83d\\\\ude00', /surrogate/],
    ['\\u0000', /NUL/],
    ['a\\u0000b', /NUL/],
  ]
  for (const [text, why] of strings) {
    assert.match(whyOf(`"${text}"`), why)
    assert.match(whyOf(`[{"a":["${text}"]}]`), why)
    assert.match(whyOf(`{"${text}":1}`), why)
  }
  for (const text of [
    '\\ud83d\\ude00',
    '\u{1F600}',
    '\\\\ud800',
    '\\\\u0000',
    '\\u0001',
    '\\ud7ff\\ue000',
  ])
    assert.equal(kindOf(`{"${text}":["${text}"]}`), 'value', text)
})

test('a number is a value if it is finite, if it keeps its digits and, if it is whole, exact', () => {
  const safe = [
    '9007199254740991',
    '-9007199254740991',
    '9.007199254740991e15',
    '0.1',
    '0.30000000000000004',
    '123456789.12345678',
    '1e15',
    '4.5e1',
    '-0.0e99',
  ]
  const inexact = ['1e-400', '0.10000000000000001', '1.0000000000000001', '12345678901234.567']
  const unsafe = [
    '9007199254740992',
    '-9007199254740992',
    '9007199254740993',
    '-9007199254740993',
    '1e16',
    '1e22',

    '1.7976931348623157e308',
    '9007199254740991.9',
    '18446744073709551616',
    `1${'0'.repeat(300)}`,
  ]
  const infinite = ['1e400', '-1e400', '1e999999999999', '1.8e308', `1${'0'.repeat(400)}`]
  for (const number of safe) {
    assert.equal(kindOf(`{"a":[${number}]}`), 'value', number)
    assert.equal(kindOf(number), 'value', number)
  }
  for (const number of inexact) {
    assert.match(whyOf(`{"a":[0.5,${number} ]}`), /more digits/, number)
    assert.match(whyOf(number), /more digits/, number)
    assert.equal(kindOf(`{"${number}":"${number}"}`), 'value', 'text is no number')
  }
  for (const number of unsafe) assert.match(whyOf(`{"a":[${number}]}`), /outside the range/, number)
  for (const number of infinite) assert.match(whyOf(`{"a":[${number}]}`), /too large/, number)
})

test('the largest bodies of every hostile form are answered', () => {
  const fill = (part: string, around = ['', '']) => {
    const room = bytesMax - (around[0] as string).length - (around[1] as string).length
    return (around[0] as string) + part.repeat(Math.floor(room / part.length)) + around[1]
  }
  const nested = bytesMax / 2
  const forms: readonly [string, StrictJson['kind']][] = [
    [fill('['), 'invalid'],
    [fill('{"a":'), 'invalid'],
    ['['.repeat(nested) + ']'.repeat(nested), 'ambiguous'],
    ['{"a":'.repeat(43_000) + '1' + '}'.repeat(43_000), 'ambiguous'],
    [fill('1', ['', '']), 'ambiguous'],
    [fill('1', ['0.', '']), 'ambiguous'],
    [fill('0', ['0.', '']), 'value'],
    [fill('1e1,', ['[', '1]']), 'ambiguous'],
    [fill('0.1000000000000000,', ['[', '1]']), 'ambiguous'],
    [fill('9', ['1e', '']), 'ambiguous'],
    [fill('9', ['1e-', '']), 'ambiguous'],
    [fill('1,', ['[', '1]']), 'ambiguous'],
    [fill('[],', ['[', '1]']), 'ambiguous'],
    [fill('"a":1,', ['{', '"a":1}']), 'ambiguous'],
    [fill('{"a":1},', ['[', '1]']), 'ambiguous'],
    [fill('\\\\', ['"', '"']), 'value'],
    [fill('\\"', ['"', '"']), 'value'],
    [fill('\\u0041', ['"', '"']), 'value'],
    [fill('\\ud83d\\ude00', ['"', '\\ud83d"']), 'ambiguous'],
    [fill('é', ['"', '"']).slice(0, bytesMax / 2) + '"', 'value'],
    [fill(' ', ['', '1']), 'value'],
    [fill(' ', ['{"\\"":', '1}']), 'value'],
    [fill('\\\\', ['{"', '":1}']), 'value'],
    [fill('"\\n":1,', ['{', '"a":1}']), 'ambiguous'],
    [fill('\0'), 'invalid'],
    [`{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(',')}}`, 'ambiguous'],
    [`{${Array.from({ length: 15_000 }, (_, i) => `"${i * 4_001}":1`).join(',')}}`, 'ambiguous'],
    [`{"${'a'.repeat(250_000)}":1,"${'a'.repeat(12_000)}":1}`, 'value'],
  ]
  for (const [text, kind] of forms) assert.equal(kindOf(text), kind, text.slice(0, 40))
})

test('an escaped name is read correctly after any other text', () => {
  const names: readonly [string, string][] = [
    ['\\\\', '\\'],
    ['\\"', '"'],
    ['\\/', '/'],
    ['\\n', '\n'],
    ['\\u0061', 'a'],
    ['a\\\\', 'a\\'],
    ['a\\"', 'a"'],
    ['a\\\\\\"', 'a\\"'],
    ['\\ud83d\\ude00', '\u{1F600}'],
  ]
  for (const round of ['first', 'again']) {
    for (const [name, expected] of names) {
      const text = `{ "${round}" :[ ] ,"x": 1.5e1 , "${name}" : {"${name}":["\\"", true,null,{ }]}}`
      const json = parseStrictJson(Buffer.from(text))
      assert.ok(json.kind === 'value')
      const inner = { [expected]: ['"', true, null, {}] }
      assert.deepEqual(json.value, { [round]: [], x: 15, [expected]: inner })
    }
  }
})

test('a view into a larger buffer is read without its surroundings', () => {
  const larger = Buffer.from('xx{"a":1}yy')
  const json = parseStrictJson(new Uint8Array(larger.buffer, larger.byteOffset + 2, 7))
  assert.deepEqual(json, { kind: 'value', value: { a: 1 } })
})

const names = fc.oneof(fc.constantFrom('a', 'b', '__proto__', ':', '"', '\\', ''), fc.string())
const { value: safeValues } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.maxSafeInteger(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 5 }),
    fc
      .array(fc.tuple(names, tie('value')), { maxLength: 5 })
      .map((entries) => Object.fromEntries(entries.filter(([name]) => name !== '__proto__'))),
  ),
}))
/** JSON text of these entries, duplicates included. */
const objectText = (entries: readonly [string, string][]) =>
  `{${entries.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`

test('a safe value that JSON.stringify writes is read as that value, unless it holds a NUL', () => {
  fc.assert(
    fc.property(safeValues, fc.constantFrom(undefined, 2, '\t'), (value, space) => {
      const text = JSON.stringify(value, null, space)
      const expected = text.includes('\\u0000') ? 'ambiguous' : 'value'
      const json = parseStrictJson(Buffer.from(text))
      assert.ok(json.kind === expected || text.includes('\\\\u0000'), text)
      assert.ok(json.kind !== 'invalid')
      assert.deepEqual(json.value, value)
    }),
    { numRuns: 2_000 },
  )
})

test('an object is a value exactly if its names differ and none is forbidden', () => {
  const texts = fc.constantFrom(
    '1',
    '"a:b"',
    '{"a":{"b":1}}',
    '[{"a":1},{"a":2}]',
    '"\\""',
    '"\\\\"',
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(names, texts), { maxLength: 8 }), (entries) => {
      const given = entries.map(([name]) => name)
      const isSound =
        new Set(given).size === given.length &&
        !given.some((name) => name === '__proto__' || name.includes('\0'))
      assert.equal(kindOf(objectText(entries)), isSound ? 'value' : 'ambiguous')
    }),
    { numRuns: 2_000 },
  )
})

test('no sequence of bytes throws', () => {
  const alphabet = [
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '\\',
    'u0061',
    '1',
    '-',
    'e',
    '.',
    ' ',
    'true',
    '\\ud800',
    '\u{1F600}',
    '"a":',
  ]
  const jsonLike = fc
    .array(fc.constantFrom(...alphabet), { maxLength: 40, size: 'max' })
    .map((parts) => Buffer.from(parts.join('')))
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), jsonLike), (bytes) => {
      const { kind } = parseStrictJson(bytes)
      assert.ok(['value', 'ambiguous', 'invalid'].includes(kind))
    }),
    { numRuns: 5_000 },
  )
})

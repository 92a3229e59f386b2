import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { base58BytesMax, base58Decode, base58Encode, sha256, sha256Hex } from './bytes.ts'

/** draft-msporny-base58-03 section 5, and Bitcoin's test vectors. */
const base58Vectors: readonly [hex: string, text: string][] = [
  ['', ''],
  ['61', '2g'],
  ['626262', 'a3gV'],
  ['636363', 'aPEr'],
  ['00', '1'],
  ['00000000000000000000', '1111111111'],
  ['ff', '5Q'],
  ['ffff', 'LUv'],
  ['0000287fb4cd', '11233QC4'],
  ['00eb15231dfceb60925886b67d065299925915aeb172c06647', '1NS17iag9jJgTHD1VXjvLCEnZuQ3rJDE9L'],
  ['73696d706c792061206c6f6e6720737472696e67', '2cFupjhnEsSn59qHXstmK2ffpLv2'],
  [Buffer.from('Hello World!').toString('hex'), '2NEpo7TZRRrLZSi2U'],
  [
    Buffer.from('The quick brown fox jumps over the lazy dog.').toString('hex'),
    'USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z',
  ],
]

test('base58 encodes and decodes the published vectors', () => {
  for (const [hex, text] of base58Vectors) {
    assert.equal(base58Encode(Buffer.from(hex, 'hex')), text)
    assert.deepEqual(Buffer.from(base58Decode(text) ?? 'null'), Buffer.from(hex, 'hex'))
  }
})

/** Encodes by definition: one big number, digit by digit. */
function base58Plainly(bytes: Uint8Array): string {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
  let text = ''
  for (let n = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`); n > 0n; n /= 58n)
    text = alphabet.charAt(Number(n % 58n)) + text
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text
}

const zeroBytes = fc.uint8Array({ max: 0, maxLength: 4 })
const fullBytes = fc.uint8Array({ min: 255, maxLength: 20 })
const someBytes = fc.uint8Array({ maxLength: 100, size: 'max' })
const bytesArbitrary = fc
  .tuple(zeroBytes, fullBytes, someBytes, zeroBytes)
  .map((parts) => Uint8Array.from(parts.flatMap((part) => [...part])))

test('base58 agrees with the definition, in both directions, for every length to 128 bytes', () => {
  fc.assert(
    fc.property(bytesArbitrary, (bytes) => {
      const text = base58Encode(bytes)
      assert.equal(text, base58Plainly(bytes))
      assert.deepEqual(base58Decode(text), bytes)
    }),
    { numRuns: 2_000 },
  )
  const largest = new Uint8Array(base58BytesMax).fill(255)
  assert.equal(base58Encode(largest), base58Plainly(largest))
  assert.deepEqual(base58Decode(base58Encode(largest)), largest)
})

test('base58 has one text for each value: a decoded text encodes to itself', () => {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
  const texts = fc.string({
    unit: fc.constantFrom(...alphabet.split('')),
    maxLength: 180,
    size: 'max',
  })
  fc.assert(
    fc.property(texts, (text) => {
      const bytes = base58Decode(text)
      if (bytes === null) assert.ok(text.length > 128)
      else assert.equal(base58Encode(bytes), text)
    }),
    { numRuns: 2_000 },
  )
})

test('base58 refuses foreign characters and texts that are too long', () => {
  for (const text of ['0', 'O', 'I', 'l', '-', ' ', 'a b', 'é', '\u{1F600}', 'a\0', 'a\n', 'ſ'])
    assert.equal(base58Decode(text), null, text)
  assert.equal(base58Decode('1'.repeat(128))?.length, 128)
  assert.equal(base58Decode('1'.repeat(129)), null)
  assert.equal(base58Decode('z'.repeat(262_144)), null)
  assert.throws(() => base58Encode(new Uint8Array(129)), RangeError)
})

test('SHA-256 of bytes and of text as UTF-8', () => {
  assert.equal(sha256Hex('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const expected = createHash('sha256').update(text, 'utf8').digest()
      assert.deepEqual(sha256(text), expected)
      assert.equal(sha256Hex(Buffer.from(text)), expected.toString('hex'))
    }),
  )
})

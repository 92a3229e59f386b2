import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { checkInput } from '../../operations/perform.ts'
import {
  bearerKey,
  isAllowedFrom,
  isApiKey,
  keyDigest,
  networkText,
  newApiKey,
  shownKey,
} from './api-key.ts'
import { apiKeysCreate } from './api-key-operations.ts'

test('a key has its published form and checksum, and 1,000 keys are distinct', () => {
  const keys = new Set(Array.from({ length: 1_000 }, () => newApiKey('live')))
  assert.equal(keys.size, 1_000)
  for (const key of keys) {
    assert.match(key, /^svc_live_[0-9A-Za-z]{36}$/)
    assert.ok(isApiKey(key))
  }
  assert.match(newApiKey('test'), /^svc_test_/)
})

test('the checksum is the one published for scanners: CRC-32 in base62, six characters', () => {
  const body = `svc_live_${'0'.repeat(30)}`
  // Computed with Python: zlib.crc32.
  assert.ok(isApiKey(`${body}0tOftK`))
})

test('the checksum detects every change of one character and every swap of two neighbours', () => {
  const key = newApiKey('live')
  const place = fc.integer({ min: 9, max: key.length - 1 })
  fc.assert(
    fc.property(place, fc.constantFrom('0', '9', 'A', 'Z', 'a', 'z'), (at, character) => {
      const typed = key.slice(0, at) + character + key.slice(at + 1)
      return typed === key || !isApiKey(typed)
    }),
  )
  for (let at = 9; at < key.length - 1; at++) {
    const typed = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2)
    assert.ok(typed === key || !isApiKey(typed), typed)
  }
})

test('an Authorization header holds one bearer key and nothing else', () => {
  const key = newApiKey('test')
  for (const header of [`Bearer ${key}`, `bearer ${key}`, `BEARER  ${key}`])
    assert.equal(bearerKey(header), key)
  const wrong = [
    '',
    key,
    `Basic ${key}`,
    `Bearer ${key} x`,
    `Bearer ${key},`,
    'Bearer ',
    `Bearer ${key}0`,
  ]
  for (const header of [...wrong, `Bearer ${key.toUpperCase()}`, `Bearer\t${key}`])
    assert.equal(bearerKey(header), null, header)
})

test('the shown text and the stored digest do not reveal the key', () => {
  const key = newApiKey('live')
  assert.match(shownKey(key), /^svc_live_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}$/)
  assert.deepEqual(keyDigest(key), createHash('sha256').update(key).digest())
})

test('a new key is refused by its wrong field: a scope that does not exist, a name with a control character or of spaces alone', () => {
  const read = (over: object) => {
    const input = { account: 'a', name: 'crawler', scopes: ['scores:read'], ...over }
    return checkInput(apiKeysCreate, input)
  }
  for (const name of [' \u00a0', 'a\u0085b', 'a\nb', ''])
    assert.deepEqual(read({ name }), {
      refusal: 'invalid_field',
      message: 'name must be text of 1 to 80 characters.',
    })
  for (const [over, field] of [
    [{ scopes: ['scores:write'] }, 'scopes'],
    [{ scopes: [] }, 'scopes'],
    [{ environment: 'prod' }, 'environment'],
    [{ validDays: 0 }, 'validDays'],
    [{ allowedFrom: [] }, 'allowedFrom'],
    [{ extra: 1 }, 'extra'],
  ] as const) {
    const found = read(over)
    assert.ok('refusal' in found && found.message?.startsWith(field), JSON.stringify(found))
  }
  assert.ok('input' in read({ name: 'José 名' }))
})

test('a network is stored as its first address and its length', () => {
  for (const [typed, kept] of [
    ['192.0.2.7', '192.0.2.7/32'],
    ['192.0.2.7/24', '192.0.2.0/24'],
    ['192.0.2.255/25', '192.0.2.128/25'],
    ['10.255.0.0/9', '10.128.0.0/9'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::ffff:192.0.2.7', '192.0.2.7/32'],
    ['2001:db8::1', '2001:db8:0:0:0:0:0:1/128'],
    ['2001:DB8:ffff::/33', '2001:db8:8000:0:0:0:0:0/33'],
  ] as const)
    assert.equal(networkText(typed), kept)
  for (const typed of [
    '',
    '192.0.2',
    '192.0.2.7/33',
    '192.0.2.7/-1',
    '192.0.2.7/',
    '192.0.2.7/ ',
    '192.0.2.7/00',
    '192.0.2.7/0x8',
    '192.0.2.7/1e1',
    '192.0.2.7/24/24',
    '0x7f.1',
    'example.org',
    '::/129',
  ])
    assert.equal(networkText(typed), null, typed)
})

test('a network allows its own IPv4 and IPv6 addresses and no others', () => {
  const two = ['192.0.2.0/24', '2001:db8:0:0:0:0:0:0/32']
  for (const address of ['192.0.2.1', '192.0.2.255', '::ffff:192.0.2.9', '2001:db8:ffff::1'])
    assert.ok(isAllowedFrom(two, address), address)
  for (const address of ['192.0.3.1', '2001:db9::1', '::1', '', 'x'])
    assert.ok(!isAllowedFrom(two, address), address)
})

test('an unknown address is allowed only for a key without networks', () => {
  assert.ok(isAllowedFrom(null, undefined))
  assert.ok(!isAllowedFrom(['0.0.0.0/0', '0:0:0:0:0:0:0:0/0'], undefined))
})

test('an address is in the network of its first bits, and changing any of these bits takes it out', () => {
  const bytes = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 32 }), fc.nat(31), (address, prefix, bit) => {
      const network = networkText(`${address.join('.')}/${prefix}`)
      assert.ok(network)
      assert.ok(isAllowedFrom([network], address.join('.')))
      const other = address.map((byte, i) => (i === bit >> 3 ? byte ^ (0x80 >> (bit & 7)) : byte))
      assert.equal(isAllowedFrom([network], other.join('.')), bit >= prefix)
    }),
  )
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { checkInput } from '../../operations/perform.ts'
import { bearerKey, isApiKey, keyDigest, newApiKey, shownKey } from './api-key.ts'
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

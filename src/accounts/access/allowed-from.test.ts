import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { isAllowedFrom, networkText } from './allowed-from.ts'

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

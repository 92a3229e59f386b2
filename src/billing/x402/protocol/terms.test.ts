import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checksumAddress } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import fc from '../../../../test/support/oracle/fc.ts'
import { addressOf, checksummed, mayBeRight } from './terms.ts'

const hex = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const toHex = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`

test('an address has the checksum, and a key the address, that the official code gives', () => {
  fc.assert(
    fc.property(hex(20), hex(32), (address, key) => {
      assert.equal(checksummed(toHex(address)), checksumAddress(toHex(address)))
      const privateKey = `0x01${toHex(key).slice(4)}` as const
      assert.equal(addressOf(privateKey), privateKeyToAddress(privateKey).toLowerCase())
    }),
    { numRuns: 30 },
  )
})

test('EIP-55: its examples pass, and fail with any letter in the other case', () => {
  for (const address of [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ]) {
    assert.ok(mayBeRight(address))
    assert.ok(mayBeRight(address.toLowerCase()))
    for (let i = 2; i < address.length; i++) {
      const letter = address[i] ?? ''
      if (!/[a-f]/i.test(letter)) continue
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
      assert.ok(!mayBeRight(address.slice(0, i) + other + address.slice(i + 1)), address)
    }
  }
})

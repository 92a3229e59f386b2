import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { type Ed25519Key, ed25519Library, verifyByNode, verifyEd25519 } from './ed25519.ts'

const { verify: verifyBySodium, name, whyNotSodium } = ed25519Library()

function keyPair() {
  const { privateKey, publicKey: keyObject } = generateKeyPairSync('ed25519')
  const publicKey = Buffer.from(keyObject.export({ format: 'jwk' }).x ?? '', 'base64url')
  return { privateKey, key: { publicKey, keyObject } }
}

const { privateKey, key } = keyPair()
const { key: otherKey } = keyPair()
const message = Buffer.alloc(64, 7)
const signature = sign(null, message, privateKey)

function bothSay(
  expected: boolean,
  [bytes, under, signed]: [message: Uint8Array, under: Ed25519Key, signed: Uint8Array],
): void {
  assert.equal(verifyByNode(bytes, under, signed), expected)
  assert.equal(verifyBySodium(bytes, under, signed), expected)
  assert.equal(verifyEd25519(bytes, under, signed), expected)
}

test('libsodium is used if its module is there; otherwise the reason is given', () => {
  const hasModule = prebuilt.has(`${process.platform}-${process.arch}`) && !isMusl()
  assert.equal(name, hasModule ? 'libsodium' : 'OpenSSL')
  assert.equal(typeof whyNotSodium, hasModule ? 'undefined' : 'string')
})

const prebuilt = new Set(['linux', 'darwin', 'win32'].flatMap((os) => [`${os}-x64`, `${os}-arm64`]))

function isMusl(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return process.platform === 'linux' && header.glibcVersionRuntime === undefined
}

test('both libraries accept a genuine signature, and refuse it after a change of any one bit', () => {
  bothSay(true, [message, key, signature])
  bothSay(false, [message, otherKey, signature])
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(bytes, fc.nat(), (signedBytes, bit) => {
      const signed = sign(null, signedBytes, privateKey)
      bothSay(true, [signedBytes, key, signed])
      bothSay(false, [flipped(signedBytes, bit), key, signed])
      bothSay(false, [signedBytes, key, flipped(signed, bit)])
    }),
  )
})

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const at = bit % (bytes.length * 8)
  return bytes.map((byte, i) => (i === at >> 3 ? byte ^ (1 << (at & 7)) : byte))
}

test('a signature that is not 64 bytes long is refused and never reaches the library', () => {
  for (const length of [0, 1, 32, 63, 65, 128])
    for (const bytes of [Buffer.alloc(length), Buffer.concat([signature, signature], length)])
      assert.equal(verifyEd25519(message, key, bytes), false, `${length} bytes`)
  assert.equal(verifyEd25519(message, key, signature), true)
})

test('both libraries refuse S + L, the second text of the same signature (RFC 8032 §5.1.7)', () => {
  const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n
  const s = Buffer.from(signature.subarray(32)).reverse().toString('hex')
  const sum = (BigInt(`0x${s}`) + groupOrder).toString(16).padStart(64, '0')
  const malleated = Buffer.concat([signature.subarray(0, 32), Buffer.from(sum, 'hex').reverse()])
  bothSay(false, [message, key, malleated])
})

test('both libraries accept the second test vector of RFC 8032 §7.1', () => {
  const publicKey = Buffer.from(
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    'hex',
  )
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url') }
  const keyObject = createPublicKey({ key: jwk, format: 'jwk' })
  const signed =
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00'
  bothSay(true, [Buffer.from('72', 'hex'), { publicKey, keyObject }, Buffer.from(signed, 'hex')])
})

/** The keys that are trusted, and the reason for which every other key is refused. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { ed25519 } from '@noble/curves/ed25519.js'
import { pemOfSeed, signer, signerOf, vector } from '../../test/support/build/credentials.ts'
import fc from '../../test/support/oracle/fc.ts'
import { base58Encode } from '../platform/crypto/bytes.ts'
import {
  KeyRefused,
  kidOf,
  publicKeyOfKid,
  signerOfPem,
  testedSigner,
  trustedPublicKey,
} from './signing-key.ts'

const vectorKey = Buffer.from(vector.key.publicKeyBase64url, 'base64url')

test('vector: the seed yields the kid, and the kid yields the public key', () => {
  assert.equal(signer.kid, vector.key.publicKeyMultibase)
  assert.equal(kidOf(vectorKey), vector.key.publicKeyMultibase)
  assert.deepEqual(Buffer.from(publicKeyOfKid(signer.kid) ?? []), vectorKey)
})

for (const [what, kid] of Object.entries({
  'another multibase': `u${signer.kid.slice(1)}`,
  'a key of another type': `z${base58Encode(Buffer.from([0xec, 0x01, ...vectorKey]))}`,
  '31 bytes': `z${base58Encode(Buffer.from([0xed, 0x01, ...vectorKey.subarray(1)]))}`,
  '33 bytes': `z${base58Encode(Buffer.from([0xed, 0x01, ...vectorKey, 0]))}`,
  'no base58': `${signer.kid.slice(0, -1)}0`,
  'no text': '',
}))
  test(`a kid with ${what} names no key`, () => assert.equal(publicKeyOfKid(kid), null))

/**
 * y of the points of small order, little-endian, and every second encoding that fits into 255 bits.
 */
const smallOrder: Record<string, string> = {
  'order 1': '0100000000000000000000000000000000000000000000000000000000000000',
  'order 2': 'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'order 4': '0000000000000000000000000000000000000000000000000000000000000000',
  'order 8': '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'order 8, the other': 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'order 4, spelt p': 'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'order 1, spelt p + 1': 'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
}

for (const [what, hex] of Object.entries(smallOrder))
  for (const signBit of [0, 0x80])
    test(`refused: the point of ${what}, sign bit ${signBit === 0 ? 'clear' : 'set'}`, () => {
      const point = Buffer.from(hex, 'hex')
      point.writeUInt8(point.readUInt8(31) | signBit, 31)
      assert.throws(() => trustedPublicKey(point), KeyRefused)
      const kid = kidOf(point)
      assert.match(kid, /^z6Mk/)
    })

test('under the identity point a lax verifier accepts one forged signature for every message', () => {
  const identity = Buffer.from(smallOrder['order 1'] ?? '', 'hex')
  const forged = Buffer.concat([identity, Buffer.alloc(32)])
  for (const message of ['a', 'b', 'c'].map((text) => Buffer.from(text))) {
    assert.equal(ed25519.verify(forged, message, identity, { zip215: true }), true)
    assert.equal(ed25519.verify(forged, message, identity, { zip215: false }), false)
  }
})

test('oracle: near p and 0 we refuse exactly the encodings that the strict oracle calls small or not canonical', () => {
  const near = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
  const p = 2n ** 255n - 19n
  let refused = 0
  for (const y of [...near.map(BigInt), ...near.map((i) => p - 2n + BigInt(i))])
    for (const signBit of [0n, 2n ** 255n]) {
      if (y >= 2n ** 255n) continue
      const hex = (y + signBit).toString(16).padStart(64, '0')
      const bytes = Buffer.from(hex, 'hex').reverse()
      const isSound = isSoundFor(bytes)
      const isTrusted = trusts(bytes)
      // Bytes that encode no point verify nothing, so only points are compared.
      if (isSound !== null) assert.equal(isTrusted, isSound, hex)
      if (!isTrusted) refused++
    }
  assert.ok(refused >= 2 * 21)
})

/** Returns null if the bytes encode no point of the curve. */
function isSoundFor(bytes: Uint8Array): boolean | null {
  try {
    return !ed25519.Point.fromBytes(bytes, false).isSmallOrder()
  } catch {
    return isPointIfReduced(bytes) ? false : null
  }
}

/**
 * Returns true if the bytes are a second encoding of a point, which the lax rules of ZIP 215
 * accept.
 */
function isPointIfReduced(bytes: Uint8Array): boolean {
  try {
    ed25519.Point.fromBytes(bytes, true)
    return true
  } catch {
    return false
  }
}

function trusts(bytes: Uint8Array): boolean {
  try {
    trustedPublicKey(bytes)
    return true
  } catch (error) {
    assert.ok(error instanceof KeyRefused)
    return false
  }
}

test('oracle: an honest key is trusted, and the reference library accepts its signatures', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array(),
      (seed, message) => {
        const made = signerOfPem(pemOfSeed(seed)) ?? assert.fail('a private key signs')
        const publicKey = publicKeyOfKid(made.kid) ?? assert.fail('a kid names its key')
        assert.ok(ed25519.verify(made.sign(message), message, publicKey, { zip215: false }))
        assert.ok(trusts(publicKey))
      },
    ),
    { numRuns: 30 },
  )
})

const refusedPems: Record<string, [pem: string, reason: RegExp]> = {
  'no PEM at all': ['not a key', /^the file is not a PEM key$/],
  'an empty file': ['', /^the file is not a PEM key$/],
  'a PEM frame around nothing': [
    '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
    /^the file is not a PEM key$/,
  ],
  'a truncated key': [pemOfSeed(Buffer.alloc(32, 7)).replace('BwcHBw', ''), /not a PEM key/],
  RSA: [
    pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 })),
    /^the key is rsa, not Ed25519$/,
  ],
  X25519: [pemOf(generateKeyPairSync('x25519')), /^the key is x25519, not Ed25519$/],
  Ed448: [pemOf(generateKeyPairSync('ed448')), /^the key is ed448, not Ed25519$/],
  'P-256': [
    pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' })),
    /^the key is ec, not Ed25519$/,
  ],
  'a public point of small order': [
    publicPem(Buffer.from(smallOrder['order 1'] ?? '', 'hex')),
    /^the public key is a point of small order: any signature would pass$/,
  ],
  'a public point with a second spelling': [
    publicPem(Buffer.from(smallOrder['order 1, spelt p + 1'] ?? '', 'hex')),
    /^the public key is not in canonical form$/,
  ],
}

for (const [what, [pem, message]] of Object.entries(refusedPems))
  test(`a key file with ${what} is refused with the reason`, () => {
    assert.throws(() => signerOfPem(pem), { name: 'KeyRefused', message })
  })

test('a public key of another length is refused with the reason', () => {
  const message = 'the public key is not 32 bytes long'
  assert.throws(() => trustedPublicKey(vectorKey.subarray(1)), { name: 'KeyRefused', message })
})

test('a sound public key verifies: it is not a signer and not an error', () => {
  assert.equal(signerOfPem(publicPem(vectorKey)), null)
})

test('a signer whose signatures do not verify fails its self-test', () => {
  const other = signerOf(8)
  const crossed = { kid: signer.kid, sign: (bytes: Uint8Array) => other.sign(bytes) }
  assert.throws(() => testedSigner(crossed, trustedPublicKey(vectorKey)), {
    name: 'KeyRefused',
    message: 'the key fails its self-test: what it signs does not verify',
  })
  assert.equal(testedSigner(signer, trustedPublicKey(vectorKey)), signer)
})

function pemOf({ privateKey }: ReturnType<typeof generateKeyPairSync>): string {
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
}

function publicPem(raw: Buffer): string {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw])
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN PUBLIC KEY-----', ...lines, '-----END PUBLIC KEY-----', ''].join('\n')
}

/** Pure: Ed25519 keys, their ids, and the checks that a key must pass before it is trusted. */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { base58Decode, base58Encode } from '../platform/crypto/bytes.ts'

/** Signs the 64 bytes of a proof. The implementation may be a file or a key service. */
export interface Signer {
  kid: string
  sign(bytes: Uint8Array): Buffer
}

/**
 * Thrown with the reason why key material is not accepted. The operator sees it when the service
 * starts.
 */
export class KeyRefused extends Error {
  override readonly name = 'KeyRefused'
}

const multicodecEd25519 = [0xed, 0x01]

/**
 * Returns the multibase id of a public key (W3C Multikey), `z6Mk…`. It is the fragment of the key's
 * verification method.
 */
export function kidOf(publicKey: Uint8Array): string {
  return `z${base58Encode(Buffer.from([...multicodecEd25519, ...publicKey]))}`
}

/** Returns the 32 bytes that a kid encodes, or null if it encodes no Ed25519 key. */
export function publicKeyOfKid(kid: string): Uint8Array | null {
  const bytes = kid.startsWith('z') ? base58Decode(kid.slice(1)) : null
  const wellFormed =
    bytes?.length === 34 && bytes[0] === multicodecEd25519[0] && bytes[1] === multicodecEd25519[1]
  return wellFormed ? bytes.subarray(2) : null
}

/**
 * y-coordinates of the eight points of small order, little-endian, sign bit cleared. Some OpenSSL
 * releases accept these points; under the identity point every message verifies.
 */
const smallOrderPoints = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
])

/**
 * Parses a public key. Throws `KeyRefused` if it is not a canonical Ed25519 point or has small
 * order.
 */
export function trustedPublicKey(publicKey: Uint8Array): KeyObject {
  if (publicKey.length !== 32) throw new KeyRefused('the public key is not 32 bytes long')
  const y = Buffer.from(publicKey)
  y.writeUInt8(y.readUInt8(31) & 0x7f, 31)
  if (smallOrderPoints.has(y.toString('hex')))
    throw new KeyRefused('the public key is a point of small order: any signature would pass')
  if (isNonCanonical(y)) throw new KeyRefused('the public key is not in canonical form')
  const x = Buffer.from(publicKey).toString('base64url')
  return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
}

/** Returns true if y ≥ p = 2^255 − 19, i.e. if it is a second encoding of a small y. */
function isNonCanonical(y: Buffer): boolean {
  return (
    y.readUInt8(0) >= 0xed && y.readUInt8(31) === 0x7f && y.subarray(1, 31).every((b) => b === 0xff)
  )
}

export function rawPublicKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
}

/**
 * Returns a signer for a PEM private key, or null for a sound PEM public key, which cannot sign.
 * Throws `KeyRefused` for anything else: not PEM, not Ed25519, of small order, or a key that fails
 * its self-test.
 */
export function signerOfPem(pem: string): Signer | null {
  const isPublic = pem.includes('-----BEGIN PUBLIC KEY-----')
  let key: KeyObject
  try {
    key = isPublic ? createPublicKey(pem) : createPrivateKey(pem)
  } catch (error) {
    throw new KeyRefused('the file is not a PEM key', { cause: error })
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw new KeyRefused(`the key is ${key.asymmetricKeyType ?? 'symmetric'}, not Ed25519`)
  const raw = rawPublicKey(isPublic ? key : createPublicKey(key))
  const publicKey = trustedPublicKey(raw)
  if (isPublic) return null
  return testedSigner({ kid: kidOf(raw), sign: (bytes) => sign(null, bytes, key) }, publicKey)
}

/** Returns the signer after a test signature has verified under its public key. */
export function testedSigner(signer: Signer, publicKey: KeyObject): Signer {
  const probe = Buffer.from('self-test')
  if (!verify(null, probe, publicKey, signer.sign(probe)))
    throw new KeyRefused('the key fails its self-test: what it signs does not verify')
  return signer
}

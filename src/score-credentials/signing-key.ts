/**
 * Pure: Ed25519 keys, their names and the checks that a key passes before it is trusted.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { base58Decode, base58Encode } from '../platform/crypto/bytes.ts'

/** Signs the 64 bytes of a proof. A key service can stand behind it as well as a file. */
export interface Signer {
  kid: string
  sign(bytes: Uint8Array): Buffer
}

/** Why key material is refused: said to the operator when the service starts. */
export class KeyRefused extends Error {
  override readonly name = 'KeyRefused'
}

const multicodecEd25519 = [0xed, 0x01]

/** The multibase name of a public key (W3C Multikey), `z6Mk…`: the fragment of its verification method. */
export function kidOf(publicKey: Uint8Array): string {
  return `z${base58Encode(Buffer.from([...multicodecEd25519, ...publicKey]))}`
}

/** The 32 bytes behind a kid, or null. */
export function publicKeyOfKid(kid: string): Uint8Array | null {
  const bytes = kid.startsWith('z') ? base58Decode(kid.slice(1)) : null
  const wellFormed =
    bytes?.length === 34 && bytes[0] === multicodecEd25519[0] && bytes[1] === multicodecEd25519[1]
  return wellFormed ? bytes.subarray(2) : null
}

/** y-coordinates of the eight points of small order, little-endian, sign bit cleared. Some OpenSSL releases accept them, and under the identity any message verifies. */
const smallOrderPoints = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
])

/** The key as an object that is parsed once, or a `KeyRefused` for what is no honest Ed25519 point. */
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

/** y ≥ p = 2^255 − 19: a second spelling of a small y. */
function isNonCanonical(y: Buffer): boolean {
  return (
    y.readUInt8(0) >= 0xed && y.readUInt8(31) === 0x7f && y.subarray(1, 31).every((b) => b === 0xff)
  )
}

export function rawPublicKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
}

/**
 * A signer from a PEM private key, or null for a PEM public key that is sound (it verifies, it cannot sign).
 * Throws `KeyRefused` for anything else: unreadable, not Ed25519, small order, or a key that fails its own self-test.
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

/** The signer, once what it signs verifies under its key. */
export function testedSigner(signer: Signer, publicKey: KeyObject): Signer {
  const probe = Buffer.from('self-test')
  if (!verify(null, probe, publicKey, signer.sign(probe)))
    throw new KeyRefused('the key fails its self-test: what it signs does not verify')
  return signer
}

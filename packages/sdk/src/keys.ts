/** The keys of one issuer, from its key document or its did.json. */
import { type Bytes, base58Decode, base64UrlDecode, hex } from './bytes.ts'

type Json = Record<string, unknown>

/** Thrown if the document of keys cannot be used: then nothing can be checked. */
export class KeyDocumentError extends Error {
  override readonly name = 'KeyDocumentError'
}

export interface IssuerKey {
  publicKey: Bytes
  /** Null unless the issuer revoked the key. */
  revokedAt: Date | null
}

export interface Issuer {
  /** `did:web:` and the host. */
  id: string
  /** The keys by verification method, `<issuer>#<key>`. */
  keys: ReadonlyMap<string, IssuerKey>
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Throws `KeyDocumentError` for a document without a sound Ed25519 key of its issuer. */
export function readKeyDocument(document: unknown): Issuer {
  if (!isObject(document)) throw new KeyDocumentError('The key document is not a JSON object.')
  const { verificationMethod: methods } = document
  const isDid = Array.isArray(methods)
  const id = isDid ? document.id : document.issuer
  if (typeof id !== 'string' || !/^did:web:[a-z0-9.-]+(%3A\d+)?$/i.test(id))
    throw new KeyDocumentError('The key document names no did:web issuer.')
  const asserting = isDid && Array.isArray(document.assertionMethod) ? document.assertionMethod : []
  const keys = new Map<string, IssuerKey>()
  for (const method of isDid ? methods.filter(isObject) : [methods].filter(isObject)) {
    const { id: name, publicKeyMultibase, publicKeyBase64url, revoked } = method
    const publicKey = isDid
      ? keyOfMultibase(String(publicKeyMultibase))
      : base64UrlDecode(String(publicKeyBase64url))
    if (typeof name !== 'string' || publicKey === null || !isSound(publicKey))
      throw new KeyDocumentError(`${String(name)} is no sound Ed25519 key.`)
    const held = keyOfMultibase(name.slice(id.length + 1))
    if (!name.startsWith(`${id}#`) || held === null || hex(held) !== hex(publicKey))
      throw new KeyDocumentError(`${name} is not the name of the key that it holds.`)
    const isRevoked = isDid && (revoked !== undefined || !asserting.includes(name))
    keys.set(name, { publicKey, revokedAt: isRevoked ? dateOf(revoked) : null })
  }
  if (keys.size === 0) throw new KeyDocumentError('The key document holds no key.')
  return { id, keys }
}

function keyOfMultibase(text: string): Bytes | null {
  const bytes = text.startsWith('z') ? base58Decode(text.slice(1)) : null
  return bytes?.length === 34 && bytes[0] === 0xed && bytes[1] === 1 ? bytes.slice(2) : null
}

function dateOf(revoked: unknown): Date {
  const date = new Date(String(revoked))
  return Number.isNaN(date.getTime()) ? new Date(0) : date
}

/** The points of small order, little-endian, without their sign: any signature passes under one. */
const smallOrder = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'ff'.repeat(30)}7f`,
])

/** Returns false for a point of small order or a second encoding of one. */
function isSound(publicKey: Bytes): boolean {
  if (publicKey.length !== 32) return false
  const y = publicKey.slice()
  y[31] = (y[31] as number) & 0x7f
  const isSecondEncoding =
    (y[0] as number) >= 0xed && y[31] === 0x7f && y.subarray(1, 31).every((byte) => byte === 0xff)
  return !isSecondEncoding && !smallOrder.has(hex(y))
}

/** The keys of one issuer, from its key document or its did.json. */
import { type Bytes, base58Decode, base64UrlDecode } from './bytes.ts'

type Json = Record<string, unknown>

/** Thrown if the document of keys cannot be used: then nothing can be checked. */
export class KeyDocumentError extends Error {
  override readonly name = 'KeyDocumentError'

  constructor(name: string) {
    super(`No sound Ed25519 key of a did:web issuer: ${name}`)
  }
}

export interface IssuerKey {
  publicKey: Bytes
  /** Milliseconds, or null unless the issuer revoked the key. */
  revokedAt: number | null
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

/**
 * Reads the keys whose signatures count, and the revoked ones. A key of another kind is left out,
 * and so is a pending one, which no `assertionMethod` names yet. Throws `KeyDocumentError` for a
 * document without a sound Ed25519 key of its issuer.
 */
export function readKeyDocument(document: unknown): Issuer {
  const {
    id: did,
    issuer,
    verificationMethod,
    assertionMethod,
  } = isObject(document) ? document : {}
  const isDid = Array.isArray(verificationMethod)
  const id = textOf(isDid ? did : issuer)
  const keys = new Map<string, IssuerKey>()
  let refused = id
  for (const method of [verificationMethod].flat().filter(isObject)) {
    const { publicKeyMultibase, publicKeyBase64url, revoked } = method
    const name = textOf(method.id)
    const kid = name.slice(id.length + 2)
    const bytes = name === `${id}#z${kid}` ? base58Decode(kid) : null
    const publicKey = bytes?.slice(2) ?? new Uint8Array()
    const isNamed = isDid
      ? publicKeyMultibase === `z${kid}`
      : String(base64UrlDecode(textOf(publicKeyBase64url))) === String(publicKey)
    // The two bytes before a key say Ed25519.
    if (!isNamed || String(bytes?.slice(0, 2)) !== '237,1' || !isSound(publicKey)) refused = name
    else if (isDid && revoked !== undefined)
      keys.set(name, { publicKey, revokedAt: Date.parse(textOf(revoked)) || 0 })
    else if (!isDid || [assertionMethod].flat().includes(name))
      keys.set(name, { publicKey, revokedAt: null })
  }
  if (keys.size === 0 || !/^did:web:[a-z0-9.-]+(%3A\d+)?$/i.test(id))
    throw new KeyDocumentError(refused)
  return { id, keys }
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The size of the curve's field, and a point of order 8: its y. */
const fieldSize = 2n ** 255n - 19n
const order8 = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n

/**
 * Returns false for a point of small order, under which any signature passes, and for a second
 * encoding of a point.
 */
function isSound(publicKey: Bytes): boolean {
  const number = publicKey.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  // Without the sign, the highest bit.
  const y = BigInt.asUintN(255, number)
  return (
    publicKey.length === 32 &&
    y < fieldSize &&
    ![0n, 1n, order8, fieldSize - order8, fieldSize - 1n].includes(y)
  )
}

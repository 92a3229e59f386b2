/** Pure: reads the issuer and its keys from a key document or a did.json, to verify offline. */
import { isJsonObject } from '../platform/json/closed-object.ts'
import { KeyRefused, kidOf, publicKeyOfKid, trustedPublicKey } from './signing-key.ts'
import { type SigningKey, type Trust, trustOf } from './trust.ts'

/** Thrown if a file is not a key document or a did.json. The message gives the reason. */
export class KeyFileRefused extends Error {
  override readonly name = 'KeyFileRefused'
}

type Json = Record<string, unknown>

/** Continues a sentence that begins with the key: only the issuer's did.json has every key. */
export const notInKeyFile =
  'is not in the key file: give did.json. If it is did.json, fetch it again'

/**
 * Returns the trust in the one issuer of the document. The signed context URL of `presented`
 * decides only whether a did:web host means http or https. Throws `KeyFileRefused` if the document
 * holds no sound key of its issuer.
 */
export function trustOfKeyFile(document: unknown, presented: Json): Trust {
  if (!isJsonObject(document)) throw new KeyFileRefused('it is not a JSON object')
  const { issuer, keys } = Array.isArray(document.verificationMethod)
    ? keysOfDid(document)
    : keysOfKeyDocument(document)
  const trust = trustOf([publicUrlOf(issuer, presented)], keys)
  if (!trust.has(issuer)) throw new KeyFileRefused(`${issuer} is not a did:web of a host`)
  return trust
}

interface Keys {
  issuer: string
  keys: SigningKey[]
}

function keysOfKeyDocument({ issuer, verificationMethod }: Json): Keys {
  if (typeof issuer !== 'string' || !isJsonObject(verificationMethod))
    throw new KeyFileRefused('it is neither a key document nor a DID document')
  const { id, publicKeyBase64url } = verificationMethod
  const publicKey = Buffer.from(textOf(publicKeyBase64url), 'base64url')
  return { issuer, keys: [soundKey(issuer, { id, publicKey, revokedAt: null })] }
}

/**
 * Reads the keys whose signatures count, and the revoked ones. A key of another kind is left out,
 * and so is a pending one, which no `assertionMethod` names yet. Throws `KeyFileRefused` if no key
 * is left.
 */
function keysOfDid({ id: issuer, verificationMethod, assertionMethod }: Json): Keys {
  if (typeof issuer !== 'string') throw new KeyFileRefused('the DID document has no id')
  const methods = (verificationMethod as unknown[]).filter(isJsonObject)
  const asserting = Array.isArray(assertionMethod) ? assertionMethod : []
  const keys: SigningKey[] = []
  let refused = new KeyFileRefused('the DID document has no key that signs')
  for (const { id, publicKeyMultibase, revoked } of methods) {
    if (revoked === undefined && !asserting.includes(id)) continue
    try {
      const publicKey = publicKeyOfKid(textOf(publicKeyMultibase))
      const revokedAt = revoked === undefined ? null : dateOf(revoked)
      keys.push(soundKey(issuer, { id, publicKey, revokedAt }))
    } catch (error) {
      if (!(error instanceof KeyFileRefused)) throw error
      refused = error
    }
  }
  if (keys.length === 0) throw refused
  return { issuer, keys }
}

interface ReadKey {
  id: unknown
  /** Null if the member with the key is no Ed25519 Multikey. */
  publicKey: Uint8Array | null
  revokedAt: Date | null
}

/** Throws `KeyFileRefused`. Neither document tells since when a key signs. */
function soundKey(issuer: string, { id, publicKey, revokedAt }: ReadKey): SigningKey {
  const named = textOf(id) || 'a key without a name'
  if (publicKey === null) throw new KeyFileRefused(`${named} is not an Ed25519 Multikey`)
  const kid = kidOf(publicKey)
  if (id !== `${issuer}#${kid}`)
    throw new KeyFileRefused(`${named} is not the name of the key that it holds`)
  try {
    trustedPublicKey(publicKey)
  } catch (error) {
    if (!(error instanceof KeyRefused)) throw error
    throw new KeyFileRefused(`${named}: ${error.message}`, { cause: error })
  }
  const since = new Date(0)
  const state = revokedAt === null ? 'active' : 'revoked'
  return { kid, publicKey, state, createdAt: since, activatedAt: since, retiredAt: null, revokedAt }
}

function dateOf(revoked: unknown): Date {
  const date = new Date(textOf(revoked))
  return Number.isNaN(date.getTime()) ? new Date(0) : date
}

function publicUrlOf(issuer: string, presented: Json): string {
  const host = issuer.replace(/^did:web:/, '').replace('%3A', ':')
  const contexts = Array.isArray(presented['@context']) ? presented['@context'] : []
  const isPlain = textOf(contexts[1]).startsWith(`http://${host}/`)
  const url = `${isPlain ? 'http' : 'https'}://${host}`
  if (!URL.canParse(url)) throw new KeyFileRefused(`${issuer} is not a did:web of a host`)
  return url
}

/** An object of JSON may have a `toString` that is no function. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

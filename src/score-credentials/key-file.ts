/** Pure: reads the issuer and its keys from a key document or a did.json, to verify offline. */
import { isJsonObject } from '../platform/json/json-object.ts'
import { kidOf, publicKeyOfKid } from './signing-key.ts'
import { type SigningKey, type Trust, trustOf } from './trust.ts'

/** Thrown if a file is not a key document or a did.json. The message gives the reason. */
export class KeyFileRefused extends Error {
  override readonly name = 'KeyFileRefused'
}

type Json = Record<string, unknown>

/**
 * Returns the trust in the one issuer of the document. The signed context URL of `presented`
 * decides only whether a did:web host means http or https. Throws `KeyFileRefused`, or `KeyRefused`
 * if a key is not a valid curve point.
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

function keysOfKeyDocument({ issuer, verificationMethod }: Json): Keys {
  if (typeof issuer !== 'string' || !isJsonObject(verificationMethod))
    throw new KeyFileRefused('it is neither a key document nor a DID document')
  const { id, publicKeyBase64url } = verificationMethod
  const publicKey = Buffer.from(String(publicKeyBase64url), 'base64url')
  return { issuer, keys: [keyOf(issuer, id, { publicKey, revokedAt: null })] }
}

function keysOfDid({ id: issuer, verificationMethod, assertionMethod }: Json): Keys {
  if (typeof issuer !== 'string') throw new KeyFileRefused('the DID document has no id')
  const methods = (verificationMethod as unknown[]).filter(isJsonObject)
  const asserting = Array.isArray(assertionMethod) ? assertionMethod : []
  const keys = methods.map(({ id, publicKeyMultibase, revoked }) => {
    const publicKey = publicKeyOfKid(String(publicKeyMultibase))
    if (publicKey === null) throw new KeyFileRefused(`${String(id)} is not an Ed25519 Multikey`)
    const isRevoked = revoked !== undefined || !asserting.includes(id)
    return keyOf(issuer, id, { publicKey, revokedAt: isRevoked ? dateOf(revoked) : null })
  })
  if (keys.length === 0) throw new KeyFileRefused('the DID document has no key')
  return { issuer, keys }
}

interface Keys {
  issuer: string
  keys: SigningKey[]
}

/** Neither document tells since when a key signs. */
function keyOf(
  issuer: string,
  id: unknown,
  { publicKey, revokedAt }: { publicKey: Uint8Array; revokedAt: Date | null },
): SigningKey {
  const kid = kidOf(publicKey)
  if (id !== `${issuer}#${kid}`)
    throw new KeyFileRefused(`${String(id)} is not the name of the key that it holds`)
  const since = new Date(0)
  const state = revokedAt === null ? 'active' : 'revoked'
  return { kid, publicKey, state, createdAt: since, activatedAt: since, retiredAt: null, revokedAt }
}

function dateOf(revoked: unknown): Date {
  const date = new Date(String(revoked))
  return Number.isNaN(date.getTime()) ? new Date(0) : date
}

function publicUrlOf(issuer: string, presented: Json): string {
  const host = issuer.replace(/^did:web:/, '').replace('%3A', ':')
  const contexts = Array.isArray(presented['@context']) ? presented['@context'] : []
  const isPlain = String(contexts[1]).startsWith(`http://${host}/`)
  const url = `${isPlain ? 'http' : 'https'}://${host}`
  if (!URL.canParse(url)) throw new KeyFileRefused(`${issuer} is not a did:web of a host`)
  return url
}

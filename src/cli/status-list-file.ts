/** Pure: reads a revocation list that somebody fetched, after checking that its issuer signed it and that it is not too old. */
import { gunzipSync } from 'node:zlib'
import { verifyEd25519 } from '../platform/crypto/ed25519.ts'
import { isJsonObject } from '../platform/json/json-object.ts'
import { w3cContext } from '../score-credentials/payload.ts'
import { readProof, signedBytes } from '../score-credentials/proof.ts'
import { statusListShape } from '../score-credentials/rdf.ts'
import { signedWhileActive, type Trust, vcSha256Of } from '../score-credentials/trust.ts'

type Json = Record<string, unknown>

/** Whether the entry is set, or why the list does not tell. */
export type ListAnswer = { isRevoked: boolean } | { unusable: string }

const skewMs = 300_000
/** 128 Mi entries. A list that unpacks to more is a bomb. */
const listBytesMax = 16 * 1024 * 1024
const listBytesMin = 16_384

export function askStatusList(
  list: unknown,
  credential: Json,
  { trust, now }: { trust: Trust; now: Date },
): ListAnswer {
  if (!isJsonObject(list)) return unusable('it is not a JSON object')
  const why =
    notTheList(list, credential) ?? notSigned(list, credential, trust) ?? notCurrent(list, now)
  return why === null ? entryOf(list, credential) : unusable(why)
}

/** The list that the credential names, of its issuer and its purpose. */
function notTheList(list: Json, credential: Json): string | null {
  const { credentialStatus: entry } = credential
  const { '@context': context, type, credentialSubject: subject } = list
  if (!isJsonObject(entry)) return 'the credential names no list'
  if (!isJsonObject(subject)) return 'it is not a status list'
  if (list.id !== entry.statusListCredential)
    return `it is ${JSON.stringify(list.id)}, the credential names ${JSON.stringify(entry.statusListCredential)}`
  if (list.issuer !== credential.issuer) return 'it is of another issuer'
  if (!Array.isArray(context) || context.length !== 1 || context[0] !== w3cContext)
    return 'it has a context that our lists do not have'
  if (!Array.isArray(type) || !type.includes('BitstringStatusListCredential'))
    return 'it is not a status list'
  if (entry.statusPurpose !== 'revocation' || subject.statusPurpose !== 'revocation')
    return 'it is not about revocation'
  return null
}

function notSigned(list: Json, credential: Json, trust: Trust): string | null {
  const { proof, ...payload } = list
  const issuer = trust.get(String(credential.issuer))
  const read = readProof(proof, payload, issuer?.origin.contextUrl)
  if ('unsupported' in read) return read.unsupported
  const key = issuer?.keys.get(read.verificationMethod)
  if (key === undefined) return 'its proof names a key that is not in the key file'
  if (key.state === 'revoked') return 'the key that signed it is revoked'
  const signed = { document: payload, shape: statusListShape, jcsSha256: vcSha256Of(payload) }
  const bytes = signedBytes(signed, read)
  const holds =
    bytes !== null &&
    read.signature !== null &&
    signedWhileActive(key, read.created) &&
    verifyEd25519(bytes, key, read.signature)
  return holds ? null : 'its signature does not match'
}

function notCurrent({ validFrom, validUntil }: Json, now: Date): string | null {
  const from = Date.parse(String(validFrom))
  const until = Date.parse(String(validUntil))
  if (!(from <= now.getTime() + skewMs)) return `it is valid from ${String(validFrom)}`
  if (!(until >= now.getTime() - skewMs)) return `it is past its end, ${String(validUntil)}`
  return null
}

function entryOf(list: Json, credential: Json): ListAnswer {
  const { encodedList } = list.credentialSubject as Json
  const { statusListIndex } = credential.credentialStatus as Json
  const index = /^\d{1,9}$/.test(String(statusListIndex)) ? Number(statusListIndex) : -1
  const bits = bitsOf(encodedList)
  if (bits === null || bits.length < listBytesMin) return unusable('its bits cannot be read')
  const byte = bits[index >> 3]
  if (index < 0 || byte === undefined) return unusable('the credential’s place is not in it')
  return { isRevoked: (byte & (0x80 >> (index & 7))) !== 0 }
}

function bitsOf(encodedList: unknown): Buffer | null {
  if (typeof encodedList !== 'string' || !/^u[A-Za-z0-9_-]+$/.test(encodedList)) return null
  try {
    const packed = Buffer.from(encodedList.slice(1), 'base64url')
    return gunzipSync(packed, { maxOutputLength: listBytesMax })
  } catch {
    return null
  }
}

function unusable(why: string): { unusable: string } {
  return { unusable: why }
}

/** Reads the revocation list of a credential (W3C Bitstring Status List). */
import { base64UrlDecode, inflate, sha256, utf8 } from './bytes.ts'
import { canonicalJson } from './canonical-json.ts'
import { type Issuer, isObject } from './keys.ts'
import { isBeforeRevocation, readProof, signatureHolds } from './proof.ts'
import { w3cContext } from './structure.ts'

type Json = Record<string, unknown>

export interface ListEntry {
  isRevoked: boolean
  url: string
  index: number
  /** Time of the list's publication. */
  validFrom: string
  length: number
}

export type ListAnswer = ListEntry | { unusable: string }

const skewMs = 300_000
/** 128 Mi entries. A list that unpacks to more is a bomb. */
const listBytesMax = 16 * 1_024 * 1_024
const listBytesMin = 16_384

export interface AskOptions {
  issuer: Issuer
  contextUrl: string
  now: Date
}

/**
 * Asks the lists that the credential names. A revocation is final, so one list that tells of it is
 * enough.
 */
export async function askStatusLists(
  lists: readonly unknown[],
  credential: Json,
  options: AskOptions,
): Promise<ListAnswer> {
  const { credentialStatus: entry } = credential
  const url = isObject(entry) ? entry.statusListCredential : undefined
  if (typeof url !== 'string') return { unusable: 'The credential names no status list.' }
  const named = lists.filter(isObject).filter(({ id }) => id === url)
  const answers = await Promise.all(named.map((list) => askStatusList(list, credential, options)))
  const usable = answers.filter((answer) => 'isRevoked' in answer)
  return (
    usable.find(({ isRevoked }) => isRevoked) ??
    usable[0] ??
    answers[0] ?? { unusable: `The status list ${url} is missing.` }
  )
}

async function askStatusList(
  list: Json,
  credential: Json,
  options: AskOptions,
): Promise<ListAnswer> {
  const why =
    notTheList(list, credential) ??
    (await notSigned(list, options)) ??
    notCurrent(list, options.now)
  return why === null ? entryOf(list, credential) : unusable(why)
}

function notTheList(list: Json, credential: Json): string | null {
  const { '@context': context, type, credentialSubject: subject } = list
  const entry = credential.credentialStatus as Json
  if (!isObject(subject)) return 'it is not a status list'
  if (list.issuer !== credential.issuer) return 'it is of another issuer'
  if (!Array.isArray(context) || context.length !== 1 || context[0] !== w3cContext)
    return 'it has a context that our lists do not have'
  if (!Array.isArray(type) || !type.includes('BitstringStatusListCredential'))
    return 'it is not a status list'
  if (entry.statusPurpose !== 'revocation' || subject.statusPurpose !== 'revocation')
    return 'it is not about revocation'
  return null
}

async function notSigned(list: Json, { issuer, contextUrl }: AskOptions): Promise<string | null> {
  const { proof, ...payload } = list
  const read = readProof(proof, payload, contextUrl)
  if ('unsupported' in read) return read.unsupported
  if (read.form === 'eddsa-rdfc-2022')
    return 'its proof form needs RDF; fetch it with ?proof=eddsa-jcs-2022'
  const key = issuer.keys.get(read.verificationMethod)
  if (key === undefined) return 'its proof names a key that is not in the key document'
  if (key.revokedAt !== null) return 'the key that signed it is revoked'
  const holds =
    isBeforeRevocation(read.created, key) &&
    (await signatureHolds(read, await sha256(utf8(canonicalJson(payload))), key))
  return holds ? null : 'its signature does not match'
}

function notCurrent({ validFrom, validUntil }: Json, now: Date): string | null {
  if (!(Date.parse(String(validFrom)) <= now.getTime() + skewMs))
    return `it is valid from ${String(validFrom)}`
  if (!(Date.parse(String(validUntil)) >= now.getTime() - skewMs))
    return `it is past its end, ${String(validUntil)}`
  return null
}

async function entryOf(list: Json, credential: Json): Promise<ListAnswer> {
  const { encodedList } = list.credentialSubject as Json
  const { statusListIndex } = credential.credentialStatus as Json
  const packed =
    typeof encodedList === 'string' && encodedList.startsWith('u')
      ? base64UrlDecode(encodedList.slice(1))
      : null
  const bits = packed === null ? null : await inflate(packed, 'gzip', listBytesMax)
  if (bits === null || bits.length < listBytesMin) return unusable('its bits cannot be read')
  const index = /^\d{1,9}$/.test(String(statusListIndex)) ? Number(statusListIndex) : -1
  const byte = bits[index >> 3]
  if (index < 0 || byte === undefined) return unusable('the credential’s place is not in it')
  return {
    isRevoked: (byte & (0x80 >> (index & 7))) !== 0,
    url: String(list.id),
    index,
    validFrom: String(list.validFrom),
    length: bits.length * 8,
  }
}

function unusable(why: string): { unusable: string } {
  return { unusable: `The status list cannot be used: ${why}.` }
}

/** Reads the revocation list of a credential (W3C Bitstring Status List). */
import { type Bytes, base64UrlDecode, inflate } from './bytes.ts'
import { type Issuer, type IssuerKey, isObject, textOf } from './keys.ts'
import { type ReadProof, readProof, signatureHolds, skewMs } from './proof.ts'
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

export type ListFault =
  | 'list_missing'
  | 'list_needs_rdf'
  | 'list_invalid'
  | 'list_key_missing'
  | 'list_not_current'

/** The entry, or why there is none. */
export type ListAnswer = ListEntry | ListFault

/** 128 Mi entries. A list that unpacks to more is a bomb. */
const listBytesMax = 2 ** 24
const listBytesMin = 16_384

export interface AskOptions {
  issuer: Issuer
  /** Milliseconds. */
  now: number
  /** The context that defines the terms of a native proof. */
  nativeContext: string
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
  const entry = isObject(credential.credentialStatus) ? credential.credentialStatus : {}
  const url = textOf(entry.statusListCredential)
  const named = lists.filter(isObject).filter(({ id }) => id === url)
  const answers = await Promise.all(
    // A parsed list may be nested deeper than the stack, or hold no JSON.
    named.map((list) => askStatusList(list, entry, options).catch(() => 'list_invalid' as const)),
  )
  return (
    answers.find((answer) => typeof answer === 'object' && answer.isRevoked) ??
    answers.find((answer) => typeof answer === 'object') ??
    answers[0] ??
    'list_missing'
  )
}

async function askStatusList(
  list: Json,
  entry: Json,
  { issuer, now, nativeContext }: AskOptions,
): Promise<ListAnswer> {
  const { proof, ...payload } = list
  const { '@context': context, type, credentialSubject: subject, validFrom, validUntil } = payload
  const read = readProof(proof, payload, nativeContext)
  if (read?.form === 'eddsa-rdfc-2022') return 'list_needs_rdf'
  const key = issuer.keys.get(textOf(read?.verificationMethod))
  if (
    payload.issuer !== issuer.id ||
    JSON.stringify(context) !== JSON.stringify([w3cContext]) ||
    !Array.isArray(type) ||
    !type.includes('BitstringStatusListCredential') ||
    !isObject(subject) ||
    entry.statusPurpose !== 'revocation' ||
    subject.statusPurpose !== 'revocation' ||
    read === null ||
    (key && key.revokedAt !== null)
  )
    return 'list_invalid'
  if (!key) return 'list_key_missing'
  const bits = await signedBits(read, key, textOf(subject.encodedList))
  const index = textOf(entry.statusListIndex)
  const byte = /^\d{1,9}$/.test(index) ? bits?.[Number(index) >> 3] : undefined
  if (bits === null || bits.length < listBytesMin || byte === undefined) return 'list_invalid'
  if (
    !(Date.parse(textOf(validFrom)) <= now + skewMs) ||
    !(Date.parse(textOf(validUntil)) >= now - skewMs)
  )
    return 'list_not_current'
  return {
    isRevoked: (byte & (0x80 >> (Number(index) & 7))) !== 0,
    // It is the one that was named.
    url: list.id as string,
    index: Number(index),
    validFrom: textOf(validFrom),
    length: bits.length * 8,
  }
}

/** The last list that was read: many checks name one list. Its proof and text are its name. */
let last: readonly [string, Bytes | null] = ['', null]

/** Null if the signature does not hold, or there are no bits. */
async function signedBits(read: ReadProof, key: IssuerKey, encoded: string): Promise<Bytes | null> {
  // The options name the key, and its name is the key.
  const name = read.proofValue + read.canonicalOptions + read.canonicalPayload
  if (last[0] === name) return last[1]
  const isSigned = encoded[0] === 'u' && (await signatureHolds(read, key))
  const packed = isSigned ? base64UrlDecode(encoded.slice(1)) : null
  const bits = packed && (await inflate(packed, 'gzip', listBytesMax))
  last = [name, bits]
  return bits
}

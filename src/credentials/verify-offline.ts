/**
 * Verification from files alone: the same checks as the service's, with status lists in place of
 * the registry.
 */
import { gunzipSync } from 'node:zlib'
import { verifyEd25519 } from '../platform/crypto/ed25519.ts'
import { isJsonObject } from '../platform/json/closed-object.ts'
import { notInKeyFile, trustOfKeyFile } from './key-file.ts'
import { w3cContext } from './payload.ts'
import { readProof, signedBytes } from './proof.ts'
import { statusListShape } from './rdf.ts'
import type { VerifyResult } from './schema.ts'
import { signatureCache } from './signature-cache.ts'
import { signedWhileActive, type Trust, vcSha256Of } from './trust.ts'
import { checkCredential, verdict } from './verify.ts'

interface OfflineFiles {
  key: unknown
  /**
   * Must hold the list that the credential names: unless revocation is checked, nothing is valid
   * (decision D29).
   */
  lists: readonly unknown[]
}

/** Throws `KeyFileRefused` if the key file holds no sound key of its issuer. */
export function verifyOffline(
  presented: Record<string, unknown>,
  ambiguity: string | null,
  { files, now }: { files: OfflineFiles; now: Date },
): VerifyResult {
  const trust = trustOfKeyFile(files.key, presented)
  const findings = checkCredential(presented, ambiguity, {
    trust,
    signatures: signatureCache(),
    now,
  })
  const { failures, notes } = findings
  // A file cannot tell that a key never signed: it may be older than the key, or hold one of many.
  if (failures.has('unknown_key'))
    failures.set('unknown_key', `The key that signed this credential ${notInKeyFile}.`)
  // A list says nothing of a credential that is not this issuer's, or not as it was signed.
  if (!findings.signatureValid) {
    notes.push('revocation_not_checked')
    return verdict(findings, null)
  }
  const answer = askStatusLists(files.lists, presented, { trust, now })
  if ('unusable' in answer) {
    notes.push('revocation_not_checked')
    failures.set('status_unavailable', answer.unusable)
  } else {
    notes.push('status_source:list')
    if (answer.isRevoked)
      failures.set('revoked', 'The issuer’s status list says that this credential is revoked.')
  }
  return { ...verdict(findings, null), revocation: revocationOf(answer) }
}

/** A list does not tell when. */
function revocationOf(answer: ListAnswer): VerifyResult['revocation'] {
  if ('unusable' in answer) return { checked: false, revoked: false }
  return answer.isRevoked
    ? { checked: true, revoked: true }
    : { checked: true, revoked: false, revokedAt: null }
}

type Json = Record<string, unknown>

/** Whether the entry is set, or a sentence that says why no list tells. */
type ListAnswer = { isRevoked: boolean } | { unusable: string }

const skewMs = 300_000
/** 128 Mi entries. A list that unpacks to more is a bomb. */
const listBytesMax = 16 * 1024 * 1024
const listBytesMin = 16_384

interface Asking {
  trust: Trust
  now: Date
}

/**
 * Asks the list that the credential names. `lists` may hold it several times, fetched at different
 * times: a revocation is final, so one copy that tells of it is enough. A list counts only if the
 * issuer signed it and it is not too old.
 */
function askStatusLists(lists: readonly unknown[], credential: Json, asking: Asking): ListAnswer {
  const { credentialStatus: entry } = credential
  const url = isJsonObject(entry) ? entry.statusListCredential : undefined
  if (typeof url !== 'string') return { unusable: 'The credential names no status list.' }
  const answers = lists
    .filter(isJsonObject)
    .filter(({ id }) => id === url)
    .map((list) => askStatusList(list, credential, asking))
  const usable = answers.filter((answer) => 'isRevoked' in answer)
  return (
    usable.find(({ isRevoked }) => isRevoked) ??
    usable[0] ??
    answers[0] ?? {
      unusable: `The status list ${url} is missing. Fetch it and name it with --list.`,
    }
  )
}

function askStatusList(list: Json, credential: Json, { trust, now }: Asking): ListAnswer {
  const why =
    notTheList(list, credential) ?? notSigned(list, credential, trust) ?? notCurrent(list, now)
  return why === null ? entryOf(list, credential) : unusable(why)
}

/** Why the list with the right id is not one of the credential's issuer and purpose. */
function notTheList(list: Json, credential: Json): string | null {
  const { credentialStatus: entry } = credential
  const { '@context': context, type, credentialSubject: subject } = list
  if (!isJsonObject(entry)) return 'the credential names no list'
  if (!isJsonObject(subject)) return 'it is not a status list'
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
  if (key === undefined) return `the key that signed it ${notInKeyFile}`
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
  return { unusable: `The status list cannot be used: ${why}.` }
}

/**
 * Verifies a score credential without the service: issuer, signature, revocation and validity, from
 * the issuer's key document and its signed status lists. Runs wherever `fetch` and WebCrypto do,
 * and has the verdicts and reasons of the service, with two exceptions: a proof that needs RDF is
 * `unsupported_form`, and only the service knows whether a credential is in its registry.
 */
import { type Bytes, hex, sha256, utf8 } from './bytes.ts'
import { canonicalJson } from './canonical-json.ts'
import { type Issuer, isObject, readKeyDocument } from './keys.ts'
import { isBeforeRevocation, readProof, signatureHolds } from './proof.ts'
import { askStatusLists, type ListAnswer, type ListEntry } from './status-list.ts'
import { readStrictJson } from './strict-json.ts'
import { memberTypeError, structureError } from './structure.ts'

export { KeyDocumentError } from './keys.ts'

type Json = Record<string, unknown>

/** If several reasons apply, the first of this order is the verdict's. */
const reasonMessage = {
  malformed_credential: 'The document is not a score credential.',
  ambiguous_json: 'Two JSON readers could read this document differently.',
  unsupported_proof: 'The proof is not of a form we accept.',
  issuer_mismatch: 'The credential names another issuer than the key document.',
  unknown_key: 'The proof names a key that is not in the key document.',
  key_revoked: 'The issuer revoked the key that signed this credential.',
  unsupported_form: 'Only the service can check this form of proof: it needs RDF.',
  signature_invalid:
    'The signature does not match: the credential was changed, or was not signed by this key.',
  not_yet_valid: 'The credential is not valid yet.',
  expired: 'The credential has expired.',
  revoked: 'The issuer’s status list says that this credential is revoked.',
  status_unavailable: 'The revocation status could not be read.',
} as const

export type Reason = keyof typeof reasonMessage

export interface Verdict {
  valid: boolean
  /** Absent if the credential is valid. */
  reason?: Reason
  message: string
  issuerMatch: boolean
  signatureValid: boolean
  revocation: { checked: boolean; revoked: boolean }
  /** The claims. Only for a genuine credential: others may be forged. */
  credential?: Json
  notes: string[]
  /** The intermediate values, so that a reader can follow the steps. */
  work: Work
}

export interface Work {
  canonicalPayload?: string
  payloadSha256?: string
  optionsSha256?: string
  verificationMethod?: string
  proofValue?: string
  form?: string
  list?: ListEntry
}

export interface VerifyOptions {
  /** The issuer's key document, or its did.json, which holds all its keys. */
  keyDocument: unknown
  /** Must hold the list that the credential names, with a native or `eddsa-jcs-2022` proof. */
  statusLists: readonly unknown[]
  now?: Date
}

/**
 * Verifies a document: JSON as text, which is also checked for ambiguity, or a parsed value.
 * Throws `KeyDocumentError` if the key document cannot be used, and nothing else.
 */
export async function verifyCredential(
  document: unknown,
  { keyDocument, statusLists, now = new Date() }: VerifyOptions,
): Promise<Verdict> {
  const issuer = readKeyDocument(keyDocument)
  const found: Found = { failures: new Map(), notes: [], work: {}, issuerMatch: false }
  const presented = presentedOf(document, found.failures)
  if (presented === null) return verdictOf(found)
  const { proof, ...payload } = presented
  found.issuerMatch = payload.issuer === issuer.id
  const contextUrl = contextUrlOf(issuer, payload)
  // A value of ambiguous JSON has no single type.
  const hasTypes = found.issuerMatch && found.failures.size === 0
  const malformed =
    structureError(payload, proof, found.issuerMatch ? contextUrl : undefined) ??
    (hasTypes ? memberTypeError(payload, proof) : null)
  if (malformed !== null) found.failures.set('malformed_credential', malformed)
  if (found.failures.size > 0) return verdictOf(found)
  if (!found.issuerMatch) found.failures.set('issuer_mismatch', reasonMessage.issuer_mismatch)
  checkValidity(payload, now, found.failures)
  const canonicalPayload = canonicalJson(payload)
  const digest = await sha256(utf8(canonicalPayload))
  Object.assign(found.work, { canonicalPayload, payloadSha256: hex(digest) })
  const signatureValid = await checkProof({ proof, payload, digest, issuer }, found)
  if (!signatureValid) {
    found.notes.push('revocation_not_checked')
    return verdictOf(found)
  }
  const answer = await askStatusLists(statusLists, presented, { issuer, contextUrl, now })
  return verdictOf(found, { answer, claims: claimsOf(payload, proof) })
}

interface Found {
  failures: Map<Reason, string>
  notes: string[]
  work: Work
  issuerMatch: boolean
}

/** Null, with its failure, if there is no object to check. */
function presentedOf(document: unknown, failures: Found['failures']): Json | null {
  let value = document
  if (typeof document === 'string') {
    const read = readStrictJson(document)
    if (read.kind === 'invalid') {
      failures.set('malformed_credential', read.why)
      return null
    }
    if (read.kind === 'ambiguous') failures.set('ambiguous_json', read.why)
    value = read.value
  }
  if (isObject(value)) return value
  failures.set('malformed_credential', 'The document is not a JSON object.')
  return null
}

/** A did:web does not say whether its host is http or https. The signed context does. */
function contextUrlOf({ id }: Issuer, payload: Json): string {
  const host = id.slice('did:web:'.length).replace('%3A', ':')
  const contexts = payload['@context']
  const isPlain = Array.isArray(contexts) && String(contexts[1]).startsWith(`http://${host}/`)
  return `${isPlain ? 'http' : 'https'}://${host}/standard/v1/context.jsonld`
}

const validitySkewMs = 300_000

function checkValidity(payload: Json, now: Date, failures: Found['failures']): void {
  for (const from of [payload.validFrom, payload.issuanceDate])
    if (typeof from === 'string' && Date.parse(from) > now.getTime() + validitySkewMs)
      failures.set('not_yet_valid', `The credential is valid from ${from}.`)
  const { validUntil } = payload
  if (typeof validUntil === 'string' && Date.parse(validUntil) < now.getTime() - validitySkewMs)
    failures.set('expired', `The credential expired on ${validUntil.slice(0, 10)}.`)
}

interface Signed {
  proof: unknown
  payload: Json
  digest: Bytes
  issuer: Issuer
}

/** Returns whether issuer and signature hold. */
async function checkProof(
  { proof, payload, digest, issuer }: Signed,
  { failures, notes, work, issuerMatch }: Found,
): Promise<boolean> {
  const fail = (reason: Reason, message: string = reasonMessage[reason]): false => {
    failures.set(reason, message)
    return false
  }
  const read = readProof(proof, payload)
  if ('unsupported' in read) return fail('unsupported_proof', read.unsupported)
  const { form, verificationMethod } = read
  const { proofValue } = proof as { proofValue: string }
  Object.assign(work, { form, verificationMethod, proofValue })
  notes.push(`proof:${form}`)
  if (!issuerMatch) return false
  const key = issuer.keys.get(verificationMethod)
  if (key === undefined) return fail('unknown_key')
  if (key.revokedAt !== null) fail('key_revoked')
  if (form === 'eddsa-rdfc-2022') return fail('unsupported_form')
  work.optionsSha256 = hex(await sha256(utf8(read.canonicalOptions)))
  if (!isBeforeRevocation(read.created, key)) {
    notes.push('created_outside_key_window')
    return fail('signature_invalid')
  }
  return (await signatureHolds(read, digest, key)) || fail('signature_invalid')
}

function claimsOf(payload: Json, proof: unknown): Json {
  const subject = payload.credentialSubject as Json
  return {
    issuer: payload.issuer,
    subject: subject.id,
    score: subject.score,
    scoreBand: subject.scoreBand,
    confidenceLow: subject.confidenceLow,
    confidenceHigh: subject.confidenceHigh,
    issuedAt: payload.validFrom,
    engineId: subject.engineId,
    engineVersion: subject.engineVersion,
    engineBinarySha256: subject.engineBinarySha256,
    verificationMethod: (proof as Json).verificationMethod,
  }
}

const ofGenuine: ReadonlySet<Reason> = new Set([
  'not_yet_valid',
  'expired',
  'revoked',
  'status_unavailable',
])

/** `held` is present if issuer and signature hold. */
function verdictOf(
  { failures, notes, work, issuerMatch }: Found,
  held?: { answer: ListAnswer; claims: Json },
): Verdict {
  const revocation = { checked: false, revoked: false }
  if (held !== undefined && 'isRevoked' in held.answer) {
    work.list = held.answer
    notes.push('status_source:list')
    Object.assign(revocation, { checked: true, revoked: held.answer.isRevoked })
    if (held.answer.isRevoked) failures.set('revoked', reasonMessage.revoked)
  } else if (held !== undefined && 'unusable' in held.answer) {
    notes.push('revocation_not_checked')
    failures.set('status_unavailable', held.answer.unusable)
  }
  const order = Object.keys(reasonMessage) as Reason[]
  const reason = order.find((one) => failures.has(one))
  const isGenuine = [...failures.keys()].every((failure) => ofGenuine.has(failure))
  return {
    valid: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    message:
      reason === undefined
        ? 'The credential is genuine and valid.'
        : (failures.get(reason) ?? reasonMessage[reason]),
    issuerMatch,
    signatureValid: held !== undefined,
    revocation,
    ...(held !== undefined && isGenuine ? { credential: held.claims } : {}),
    notes,
    work,
  }
}

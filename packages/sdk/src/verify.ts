/**
 * Verifies a score credential without the service: issuer, signature, revocation and validity, from
 * the issuer's key document and its signed status lists. Runs wherever `fetch` and WebCrypto do,
 * and has the verdicts and reasons of the service, with two exceptions: a proof that needs RDF is
 * `unsupported_form`, and only the service knows whether a credential is in its registry.
 */
import { utf8 } from './bytes.ts'
import { type Issuer, isObject, readKeyDocument, textOf } from './keys.ts'
import { type ReadProof, readProof, signatureHolds, skewMs } from './proof.ts'
import { askStatusLists, type ListEntry, type ListFault } from './status-list.ts'
import { readStrictJson } from './strict-json.ts'
import { structureError } from './structure.ts'

export { KeyDocumentError } from './keys.ts'

type Json = Record<string, unknown>

/** If several reasons apply, the first of this order is the verdict's. */
const reasons = [
  'malformed_credential',
  'ambiguous_json',
  'unsupported_proof',
  'issuer_mismatch',
  'unknown_key',
  'key_revoked',
  'unsupported_form',
  'signature_invalid',
  'not_yet_valid',
  'expired',
  'revoked',
  'status_unavailable',
] as const

export type Reason = (typeof reasons)[number]

export interface Verdict {
  valid: boolean
  /** Absent if the credential is valid. */
  reason?: Reason
  issuerMatch: boolean
  signatureValid: boolean
  revocation: { checked: boolean; revoked: boolean }
  /** Why no status list tells, if it does not. */
  listFault?: ListFault
  /** The claims. Only for a genuine credential: others may be forged. */
  credential?: Json
  /** The intermediate values, so that a reader can follow the steps. */
  work: Work
}

export interface Work {
  /** The signed text. Its SHA-256 is the `vcSha256` of the service. */
  canonicalPayload?: string
  list?: ListEntry
}

export interface VerifyOptions {
  /**
   * The issuer's did.json, which holds all its keys. The key document holds one, so it serves only
   * until the issuer signs with another: then the reason is `unknown_key` or `status_unavailable`.
   */
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
  const failures = new Set<Reason>()
  const found: Found = {
    issuerMatch: false,
    signatureValid: false,
    revocation: { checked: false, revoked: false },
    work: {},
  }
  const claims = await checkDocument(document, {
    issuer,
    statusLists,
    now: now.getTime(),
    failures,
    found,
  })
  const reason = reasons.find((one) => failures.has(one))
  const isGenuine = [...failures].every((one) => ofGenuine.test(one))
  return {
    valid: !reason,
    ...(reason && { reason }),
    ...found,
    ...(claims && isGenuine && { credential: claims }),
  }
}

/** The claims of a credential with another failure may be forged. */
const ofGenuine = /^(not_yet_valid|expired|revoked|status_unavailable)$/

type Found = Pick<Verdict, 'issuerMatch' | 'signatureValid' | 'revocation' | 'listFault' | 'work'>

interface Checking {
  issuer: Issuer
  statusLists: readonly unknown[]
  /** Milliseconds. */
  now: number
  failures: Set<Reason>
  found: Found
}

/** Returns the claims if issuer and signature hold, otherwise null. */
async function checkDocument(document: unknown, checking: Checking): Promise<Json | null> {
  const { issuer, statusLists, now, failures, found } = checking
  const { work } = found
  const presented = presentedOf(document, failures)
  if (presented === null) return null
  const { proof, ...payload } = presented
  const isMatch = payload.issuer === issuer.id
  found.issuerMatch = isMatch
  const host = issuer.id.slice('did:web:'.length).replace('%3A', ':')
  const error = structureError(payload, proof, {
    // A did:web does not say whether its host is http or https. The signed context does.
    isContext: isMatch
      ? (url) => textOf(url).replace(/^https?/, '') === `://${host}/standard/v1/context.jsonld`
      : undefined,
    // A member of ambiguous JSON has no single value.
    isOurs: isMatch && failures.size === 0,
  })
  if (error !== null) failures.add('malformed_credential')
  if (failures.size > 0) return null
  if (!isMatch) failures.add('issuer_mismatch')
  checkValidity(payload, now, failures)
  const read = readProof(proof, payload)
  if (read === null) failures.add('unsupported_proof')
  if (read === null || !(await checkProof(read, checking))) return null
  found.signatureValid = true
  const answer = await askStatusLists(statusLists, presented, {
    issuer,
    now,
    nativeContext: (payload['@context'] as string[])[1] as string,
  })
  if (typeof answer === 'string') {
    failures.add('status_unavailable')
    found.listFault = answer
  } else {
    work.list = answer
    found.revocation = { checked: true, revoked: answer.isRevoked }
    if (answer.isRevoked) failures.add('revoked')
  }
  return claimsOf(payload, read)
}

/** The service refuses longer ones. */
export const documentBytesMax = 262_144

/** Null, with its failure, if there is no object to check. */
function presentedOf(document: unknown, failures: Set<Reason>): Json | null {
  try {
    // A parsed value becomes a text: so it is JSON, is read once, and has the limits of a text.
    const text = typeof document === 'string' ? document : JSON.stringify(document)
    const { value, isAmbiguous } = readStrictJson(utf8(text).length > documentBytesMax ? '' : text)
    if (isAmbiguous) failures.add('ambiguous_json')
    if (isObject(value)) return value
  } catch {}
  failures.add('malformed_credential')
  return null
}

function checkValidity(
  { validFrom, issuanceDate, validUntil }: Json,
  now: number,
  failures: Set<Reason>,
): void {
  // The structure was checked: each is a date-time or absent.
  for (const from of [validFrom, issuanceDate])
    if (Date.parse(textOf(from)) > now + skewMs) failures.add('not_yet_valid')
  if (Date.parse(textOf(validUntil)) < now - skewMs) failures.add('expired')
}

/** Returns whether issuer and signature hold. */
async function checkProof(
  read: ReadProof,
  { issuer, failures, found: { work, issuerMatch } }: Checking,
): Promise<boolean> {
  work.canonicalPayload = read.canonicalPayload
  if (!issuerMatch) return false
  const key = issuer.keys.get(read.verificationMethod)
  if (key && key.revokedAt !== null) failures.add('key_revoked')
  const reason =
    key === undefined
      ? 'unknown_key'
      : read.form === 'eddsa-rdfc-2022'
        ? 'unsupported_form'
        : (await signatureHolds(read, key)) || 'signature_invalid'
  if (reason !== true) failures.add(reason)
  return reason === true
}

const claims =
  'scoreBand engineId engineVersion engineBinarySha256 score confidenceLow confidenceHigh'

function claimsOf({ issuer, validFrom, credentialSubject }: Json, proof: ReadProof): Json {
  const subject = credentialSubject as Json
  const named = Object.fromEntries(claims.split(' ').map((name) => [name, subject[name]]))
  const { verificationMethod } = proof
  return { issuer, subject: subject.id, issuedAt: validFrom, ...named, verificationMethod }
}

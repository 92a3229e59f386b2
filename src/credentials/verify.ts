/**
 * Verifies a credential: three independent checks (issuer, signature, revocation) and the time of
 * validity. The credential is valid if nothing fails; otherwise the reason is the first failure in
 * the order of `reasonMessage`. Nothing is fetched, and a bad credential throws nothing. Verdicts
 * are not cached; only successful signature checks are.
 */
import { structureError } from '../../packages/sdk/src/structure.ts'
import { schemaVersion } from '../edge/http/identifiers.ts'
import { wireTime } from '../platform/clock.ts'
import { verifyEd25519 } from '../platform/crypto/ed25519.ts'
import { isJsonObject } from '../platform/json/closed-object.ts'
import { type ReadProof, readProof, type SignedDocument, signedBytes } from './proof.ts'
import { failuresOfGenuine, type Reason, reasonMessage } from './reasons.ts'
import type { VerifyResult } from './schema.ts'
import type { SignatureCache } from './signature-cache.ts'
import {
  signedWhileActive,
  type Trust,
  type TrustedIssuer,
  type TrustedKey,
  vcSha256Of,
} from './trust.ts'

/** State of a credential in the registry. */
export type RegisteredStatus =
  | {
      kind: 'registered'
      vcSha256: Buffer
      revokedAt: Date | null
      supersededAt: Date | null
      keyRevokedAt: Date | null
    }
  | { kind: 'unknown' }
  /** The database is unavailable: the verdict fails closed (decision D29). */
  | { kind: 'unavailable' }

export interface StatusQuestion {
  /** 32 bytes from `credentialStatus.id`, or null if that is no status URL of this deployment. */
  token: Buffer | null
  vcSha256: Buffer
}

export interface VerifyContext {
  trust: Trust
  /** Reads the database on every call. */
  statusOf(question: StatusQuestion): Promise<RegisteredStatus>
  signatures: SignatureCache
  now: Date
  /**
   * SHA-256 of every engine of this release and of earlier ones. Undefined if unknown, as in
   * offline verification.
   */
  engines?: ReadonlySet<string>
}

/** Tolerance for clock differences at both ends of the validity, in milliseconds. */
const validitySkewMs = 300_000

export async function verifyCredential(
  presented: Record<string, unknown>,
  ambiguity: string | null,
  context: VerifyContext,
): Promise<VerifyResult> {
  const findings = checkCredential(presented, ambiguity, context)
  const { status } = findings
  const registered = status === null ? null : await context.statusOf(status)
  return verdict(findings, registered)
}

export interface Findings {
  /** Failures with their messages. The first in the order of `reasonMessage` becomes the reason. */
  failures: Map<Reason, string>
  issuerMatch: boolean
  signatureValid: boolean
  notes: string[]
  presented: Record<string, unknown>
  /**
   * The claims if issuer and signature hold. The verdict shows them only for a genuine credential.
   */
  claims: Record<string, unknown> | null
  /** The question for the registry, or null if the document is malformed or ambiguous. */
  status: StatusQuestion | null
}

/** Runs every check that does not need the registry. */
export function checkCredential(
  presented: Record<string, unknown>,
  ambiguity: string | null,
  context: Omit<VerifyContext, 'statusOf'>,
): Findings {
  const findings: Findings = {
    failures: new Map(),
    issuerMatch: false,
    signatureValid: false,
    notes: [],
    presented: {},
    claims: null,
    status: null,
  }
  const { failures } = findings
  if (ambiguity !== null) failures.set('ambiguous_json', ambiguity)
  const { proof, ...payload } = presented
  const issuer = typeof payload.issuer === 'string' ? context.trust.get(payload.issuer) : undefined
  findings.issuerMatch = issuer !== undefined
  if (typeof payload.issuer === 'string') findings.presented.issuer = payload.issuer
  // A member of ambiguous JSON has no single value. The members of other issuers' credentials are
  // not checked.
  const isOurs = ambiguity === null && issuer !== undefined
  const malformed = structureError(payload, proof, {
    isContext: issuer && ((url) => url === issuer.origin.contextUrl),
    isOurs,
  })
  if (malformed !== null) failures.set('malformed_credential', malformed)
  // Ambiguous JSON has no single meaning, so a digest of it would prove nothing.
  if (malformed !== null || ambiguity !== null) return findings

  if (issuer === undefined) failures.set('issuer_mismatch', reasonMessage.issuer_mismatch)
  const vcSha256 = vcSha256Of(payload)
  findings.presented.payloadSha256 = vcSha256.toString('hex')
  findings.status = { token: tokenOf(payload, context.trust), vcSha256 }
  checkValidity(payload, context.now, failures)
  checkProof({ payload, proof, issuer, vcSha256 }, context, findings)
  if (findings.issuerMatch && findings.signatureValid) {
    findings.claims = claimsOf(payload, proof)
    const isKnown = context.engines?.has(String(findings.claims.engineBinarySha256)) ?? true
    // This deployment cannot reproduce a score of that engine, for example one that the operator
    // computed elsewhere.
    if (!isKnown) findings.notes.push('engine_not_kept')
  }
  return findings
}

function checkValidity(
  payload: Record<string, unknown>,
  now: Date,
  failures: Map<Reason, string>,
): void {
  for (const from of [payload.validFrom, payload.issuanceDate]) {
    if (typeof from === 'string' && Date.parse(from) > now.getTime() + validitySkewMs)
      failures.set('not_yet_valid', `The credential is valid from ${from}.`)
  }
  const { validUntil } = payload
  if (typeof validUntil === 'string' && Date.parse(validUntil) < now.getTime() - validitySkewMs)
    failures.set('expired', `The credential expired on ${validUntil.slice(0, 10)}.`)
}

interface Checked {
  payload: Record<string, unknown>
  proof: unknown
  issuer: TrustedIssuer | undefined
  vcSha256: Buffer
}

function checkProof(
  { payload, proof, issuer, vcSha256 }: Checked,
  { signatures }: Pick<VerifyContext, 'signatures'>,
  findings: Findings,
): void {
  const { failures, notes } = findings
  const read = readProof(proof, payload)
  if ('unsupported' in read) {
    failures.set('unsupported_proof', read.unsupported)
    return
  }
  findings.presented.proofType = read.type
  findings.presented.verificationMethod = read.verificationMethod
  notes.push(`proof:${read.form}`)
  if (issuer === undefined) return
  const signed = { document: payload, shape: issuer.origin.shape, jcsSha256: vcSha256 }
  const key = issuer.keys.get(read.verificationMethod)
  if (key === undefined) {
    failures.set('unknown_key', reasonMessage.unknown_key)
    return
  }
  if (key.state === 'revoked') failures.set('key_revoked', reasonMessage.key_revoked)
  if (key.state === 'retired') notes.push('key_retired')
  if (!signedWhileActive(key, read.created)) notes.push('created_outside_key_window')
  else findings.signatureValid = signatureHolds(signed, read, { key, signatures, findings })
  if (!findings.signatureValid) failures.set('signature_invalid', reasonMessage.signature_invalid)
}

function signatureHolds(
  signed: SignedDocument,
  read: ReadProof,
  {
    key,
    signatures,
    findings,
  }: { key: TrustedKey; signatures: SignatureCache; findings: Findings },
): boolean {
  const bytes = signedBytes(signed, read)
  if (bytes === null) return false
  findings.presented.optionsSha256 = bytes.toString('hex', 0, 32)
  const { signature } = read
  if (signature === null) return false
  return signatures.holds({ kid: key.kid, bytes, signature }, () =>
    verifyEd25519(bytes, key, signature),
  )
}

/**
 * Returns the token of a status URL under one of our own prefixes, otherwise null. The token counts
 * for every issuer that the credential names, because the checks are independent. The URL is
 * compared as text and never fetched.
 */
function tokenOf(payload: Record<string, unknown>, trust: Trust): Buffer | null {
  const id = isJsonObject(payload.credentialStatus) ? payload.credentialStatus.id : undefined
  if (typeof id !== 'string') return null
  const [prefix, token] = [id.slice(0, -64), id.slice(-64)]
  const isOurs = [...trust.values()].some(({ origin }) => origin.statusUrlPrefix === prefix)
  return isOurs && /^[0-9a-f]{64}$/.test(token) ? Buffer.from(token, 'hex') : null
}

function claimsOf(payload: Record<string, unknown>, proof: unknown): Record<string, unknown> {
  const subject = payload.credentialSubject as Record<string, unknown>
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
    verificationMethod: (proof as Record<string, unknown>).verificationMethod,
  }
}

/** Combines the findings with the state in the registry. */
export function verdict(findings: Findings, registered: RegisteredStatus | null): VerifyResult {
  const { failures, notes } = findings
  const revocation = revocationOf(findings, registered)
  const reason = [...failures.keys()].sort(
    (a, b) => reasonOrder.indexOf(a) - reasonOrder.indexOf(b),
  )[0]
  const isGenuine = [...failures.keys()].every((failure) => failuresOfGenuine.has(failure))
  return {
    schemaVersion: schemaVersion('score_vc_verify'),
    valid: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    message:
      reason === undefined ? 'The credential is genuine and valid.' : (failures.get(reason) ?? ''),
    signatureValid: findings.signatureValid,
    issuerMatch: findings.issuerMatch,
    revocation,
    ...(findings.claims === null || !isGenuine ? {} : { credential: findings.claims }),
    presented: findings.presented,
    notes,
  }
}

const reasonOrder = Object.keys(reasonMessage) as Reason[]

function revocationOf(
  findings: Findings,
  registered: RegisteredStatus | null,
): VerifyResult['revocation'] {
  const { failures, notes } = findings
  if (registered === null) return { checked: false, revoked: false }
  if (registered.kind === 'unavailable') {
    failures.set('status_unavailable', reasonMessage.status_unavailable)
    return { checked: false, revoked: false }
  }
  const isOurs =
    registered.kind === 'registered' &&
    registered.vcSha256.equals(findings.status?.vcSha256 ?? Buffer.of())
  if (!isOurs) failures.set('status_unknown', reasonMessage.status_unknown)
  if (registered.kind === 'unknown') return { checked: false, revoked: false }
  notes.push('status_source:live')
  if (registered.keyRevokedAt !== null && isOurs)
    failures.set('key_revoked', reasonMessage.key_revoked)
  if (registered.supersededAt !== null && isOurs) notes.push('superseded')
  if (registered.revokedAt === null) return { checked: true, revoked: false, revokedAt: null }
  const revokedAt = wireTime(registered.revokedAt)
  // The token of another credential proves nothing about this one.
  if (isOurs)
    failures.set('revoked', `The issuer revoked this credential on ${revokedAt.slice(0, 10)}.`)
  return { checked: true, revoked: true, revokedAt }
}

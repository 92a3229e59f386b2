/** Verification from files alone: the same checks as the service's, with a list in place of the registry. */
import type { VerifyResult } from '../score-credentials/schema.ts'
import { signatureCache } from '../score-credentials/signature-cache.ts'
import { checkCredential, verdict } from '../score-credentials/verify.ts'
import { trustOfKeyFile } from './key-file.ts'
import { askStatusList, type ListAnswer } from './status-list-file.ts'

export interface OfflineFiles {
  key: unknown
  /** Without one revocation is not checked, and so nothing is valid (decision D29). */
  list?: unknown
}

/** Throws `KeyFileRefused` or `KeyRefused` where the key file tells nothing. */
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
  if (files.list === undefined)
    failures.set('status_unavailable', 'Revocation was not checked: name the status list, --list.')
  // Of a credential that is not this issuer's, or not as it was signed, the list tells nothing.
  if (files.list === undefined || !findings.signatureValid) {
    notes.push('revocation_not_checked')
    return verdict(findings, null)
  }
  const answer = askStatusList(files.list, presented, { trust, now })
  if ('unusable' in answer)
    failures.set('status_unavailable', `The status list cannot be used: ${answer.unusable}.`)
  else {
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

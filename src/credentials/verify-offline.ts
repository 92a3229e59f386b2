/**
 * Verification from files alone: the same checks as the service's, with status lists in place of
 * the registry.
 */
import { notInKeyFile, trustOfKeyFile } from './key-file.ts'
import type { VerifyResult } from './schema.ts'
import { signatureCache } from './signature-cache.ts'
import { askStatusLists, type ListAnswer } from './status-list-file.ts'
import { checkCredential, verdict } from './verify.ts'

export interface OfflineFiles {
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

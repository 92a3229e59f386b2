/** Pure: three checks and a verdict as the page shows them. The server and the browser share it. */

/** The part of a verdict that service and browser have in common. */
export interface Checked {
  valid: boolean
  reason?: string
  issuerMatch: boolean
  signatureValid: boolean
  revocation: { checked: boolean; revoked: boolean }
}

/** `nothing`: without a right signature, the words of a document prove nothing. */
export type State = 'passed' | 'failed' | 'unknown' | 'nothing'

export interface Rows {
  issuer: State
  signature: State
  revocation: State
  verdict: State
}

/** Reasons with which the signature was never compared. */
const notCompared = new Set([
  'malformed_credential',
  'ambiguous_json',
  'unsupported_proof',
  'unsupported_form',
  'issuer_mismatch',
])
/** Reasons that say nothing against the credential. */
export const inconclusive = new Set(['status_unavailable', 'unsupported_form'])

/** Only below a right signature can another check pass. */
export function rowsOf({ valid, reason = '', ...checked }: Checked): Rows {
  const { issuerMatch, signatureValid, revocation } = checked
  const isRead = reason !== 'malformed_credential' && reason !== 'ambiguous_json'
  const isProven = signatureValid && reason !== 'key_revoked' && !notCompared.has(reason)
  const signature = isProven ? 'passed' : notCompared.has(reason) ? 'unknown' : 'failed'
  const unproven = inconclusive.has(reason) || !issuerMatch || !isRead ? 'unknown' : 'nothing'
  const status = revocation.checked ? (revocation.revoked ? 'failed' : 'passed') : 'unknown'
  return {
    issuer: isProven ? 'passed' : isRead && !issuerMatch ? 'failed' : unproven,
    signature,
    // The registry knows the token of another credential, and not this one.
    revocation: isProven ? (reason === 'status_unknown' ? 'failed' : status) : unproven,
    verdict: valid ? 'passed' : inconclusive.has(reason) ? 'unknown' : 'failed',
  }
}

/** Reasons that only the service's live registry can give. */
const ofRegistry = new Set(['status_unknown', 'status_unavailable', 'revoked', 'key_revoked'])

/**
 * Compares both verdicts. `alone`: one side could not check, or the registry of the service knows
 * more than the signed list, which is up to a minute older.
 */
export function compare(service: Checked, browser: Checked): 'agree' | 'disagree' | 'alone' {
  if (inconclusive.has(browser.reason ?? '')) return 'alone'
  if (service.valid === browser.valid) return 'agree'
  return browser.valid && ofRegistry.has(service.reason ?? '') ? 'alone' : 'disagree'
}

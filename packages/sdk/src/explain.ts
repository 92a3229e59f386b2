/** Says in a sentence why a credential is not valid. Apart, so that verification stays small. */
import type { ListFault } from './status-list.ts'
import type { Reason, Verdict } from './verify.ts'

const keyMissing = 'is not in the key file: give did.json. If it is did.json, fetch it again'

const reasons: Record<Reason, string> = {
  malformed_credential: 'The document is not a score credential.',
  ambiguous_json:
    'Two JSON readers could read this document differently: a name occurs twice, a number is not exact, or it is too deep.',
  unsupported_proof: 'The proof is not of a form that the service has.',
  issuer_mismatch: 'The credential names another issuer than the key document.',
  unknown_key: `The key that signed this credential ${keyMissing}.`,
  key_revoked: 'The issuer revoked the key that signed this credential.',
  unsupported_form: 'Only the service can check this form of proof: it needs RDF.',
  signature_invalid:
    'The signature does not match: the credential was changed, or was not signed by this key.',
  not_yet_valid: 'The credential is not valid yet.',
  expired: 'The credential has expired.',
  revoked: 'The issuer’s status list says that this credential is revoked.',
  status_unavailable: 'The revocation status could not be read.',
}

const listFaults: Record<ListFault, string> = {
  list_missing: 'the status list that the credential names is not there',
  list_needs_rdf: 'the proof of the status list needs RDF. Fetch it with ?proof=eddsa-jcs-2022',
  list_invalid: 'the status list is damaged, or was not signed by this issuer',
  list_key_missing: `the key that signed the status list ${keyMissing}`,
  list_not_current: 'the status list is too old. Fetch it again',
}

/** Returns what a verdict says, for a person. */
export function explain({ reason, listFault }: Pick<Verdict, 'reason' | 'listFault'>): string {
  if (reason === undefined) return 'The credential is genuine and valid.'
  if (reason !== 'status_unavailable' || listFault === undefined) return reasons[reason]
  return `${reasons[reason].slice(0, -1)}: ${listFaults[listFault]}.`
}

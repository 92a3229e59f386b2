/** Pure: the reasons for which a credential fails. */

/** Message of each reason. If several reasons apply, the first row wins. */
export const reasonMessage = {
  malformed_credential: 'The document is not a score credential.',
  ambiguous_json: 'Two JSON readers could read this document differently.',
  unsupported_proof: 'The proof is not of a form we accept.',
  issuer_mismatch: 'The credential names an issuer that is not this service.',
  unknown_key: 'The proof names a key that has never signed for this issuer.',
  key_revoked: 'The issuer revoked the key that signed this credential.',
  signature_invalid:
    'The signature does not match: the credential was changed, or was not signed by this key.',
  not_yet_valid: 'The credential is not valid yet.',
  expired: 'The credential has expired.',
  revoked: 'The issuer revoked this credential.',
  status_unknown: 'The signature is right, but this credential is not in the issuer’s registry.',
  status_unavailable: 'The revocation status could not be read. Try again.',
} as const

export type Reason = keyof typeof reasonMessage

/**
 * The failures that a genuine credential can have. With any other failure the claims may be forged,
 * so the verdict omits them (decision D56).
 */
export const failuresOfGenuine: ReadonlySet<Reason> = new Set([
  'not_yet_valid',
  'expired',
  'revoked',
  'status_unavailable',
])

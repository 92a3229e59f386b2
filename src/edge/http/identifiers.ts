/**
 * Every name on the wire that contains the operator's brand word. Change `brand` to re-brand a
 * deployment (decision D2).
 */

const brand = 'Service'
const brandLower = 'service'

/** The version of the interface contract, and the only one supported (decision D4). */
export const interfaceVersion = '2026-05-14'

export const versionHeader = `${brand}-Version` as const

/** The price of a call in credits, and the balance of its account (decision D19). */
export const creditsChargedHeader = `${brand}-Credits-Charged` as const
export const creditsRemainingHeader = `${brand}-Credits-Remaining` as const

/**
 * Returns the constant `schemaVersion` of a document or payload, e.g. `service.score_vc_status.v1`.
 */
export function schemaVersion<Name extends string>(name: Name) {
  return `${brandLower}.${name}.v1` as const
}

/** Returns the path of a well-known document, e.g. `/.well-known/service-engine.json`. */
export function wellKnownPath<Name extends string>(name: Name) {
  return `/.well-known/${brandLower}-${name}.json` as const
}

export const nativeProofType = `${brand}ScoreEd25519Signature2026` as const
export const credentialType = `${brand}ScoreCredential` as const

/** Returns the name of a header of webhook deliveries, e.g. `Service-Webhook-Id`. */
export function webhookHeader<Name extends string>(name: Name) {
  return `${brand}-Webhook-${name}` as const
}

/** User-Agent of webhook deliveries. */
export const webhookUserAgent = `${brand}-Webhooks/1`

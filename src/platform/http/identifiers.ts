/** Every name on the wire that carries the operator's brand word: change `brand` and a deployment is re-branded (decision D2). */

const brand = 'Service'
const brandLower = 'service'

/** The version of the interface contract (spec §9) and the only one supported (decision D4). */
export const interfaceVersion = '2026-05-14'

export const versionHeader = `${brand}-Version` as const

/** What a call cost in credits, and what its account has left (decision D19). */
export const creditsChargedHeader = `${brand}-Credits-Charged` as const
export const creditsRemainingHeader = `${brand}-Credits-Remaining` as const

/** The constant `schemaVersion` of a document or payload, e.g. `service.score_vc_status.v1`. */
export function schemaVersion<Name extends string>(name: Name) {
  return `${brandLower}.${name}.v1` as const
}

/** The path of a well-known document, e.g. `/.well-known/service-engine.json`. */
export function wellKnownPath<Name extends string>(name: Name) {
  return `/.well-known/${brandLower}-${name}.json` as const
}

export const nativeProofType = `${brand}ScoreEd25519Signature2026` as const
export const credentialType = `${brand}ScoreCredential` as const

/** A header of a webhook delivery (spec §6), e.g. `Service-Webhook-Id`. */
export function webhookHeader<Name extends string>(name: Name) {
  return `${brand}-Webhook-${name}` as const
}

/** Who calls a receiver. */
export const webhookUserAgent = `${brand}-Webhooks/1`

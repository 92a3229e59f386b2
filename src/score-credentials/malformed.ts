/** Pure: whether a document is a score credential at all, before anything is said of who made it. */
import { credentialType } from '../platform/http/identifiers.ts'
import { isJsonObject } from '../platform/json/json-object.ts'
import { w3cContext } from './payload.ts'
import type { TrustedIssuer } from './trust.ts'

/** Why the document is not a score credential at all, or null. The contexts of an issuer that is not ours are not ours to judge. */
export function malformedWhy(
  payload: Record<string, unknown>,
  proof: unknown,
  issuer: TrustedIssuer | undefined,
): string | null {
  const context = payload['@context']
  if (!Array.isArray(context) || context[0] !== w3cContext)
    return '@context must be the list of contexts that the credential was issued with.'
  if (issuer !== undefined && (context.length !== 2 || context[1] !== issuer.origin.contextUrl))
    return '@context holds a context that our credentials do not have.'
  const { type } = payload
  if (!Array.isArray(type) || type[0] !== 'VerifiableCredential' || type[1] !== credentialType)
    return `type must be ["VerifiableCredential", "${credentialType}"].`
  if (typeof payload.issuer !== 'string') return 'issuer must be a string.'
  if (!isJsonObject(payload.credentialSubject)) return 'credentialSubject must be an object.'
  if (payload.credentialStatus !== undefined && !isJsonObject(payload.credentialStatus))
    return 'credentialStatus must be an object.'
  for (const name of ['issuanceDate', 'validFrom', 'validUntil']) {
    if (payload[name] !== undefined && !isDateTime(payload[name]))
      return `${name} must be a date-time with a time zone.`
  }
  if (proof === undefined) return 'proof is missing.'
  return null
}

const dateTimePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

function isDateTime(value: unknown): value is string {
  return (
    typeof value === 'string' && dateTimePattern.test(value) && !Number.isNaN(Date.parse(value))
  )
}

/** Whether a document has the structure of a score credential. */
import { isObject } from './keys.ts'
import { credentialType } from './proof.ts'

type Json = Record<string, unknown>

export const w3cContext = 'https://www.w3.org/ns/credentials/v2'

/**
 * Returns why the document is not structured as a score credential, or null. `contextUrl` is that
 * of the issuer, or undefined for another issuer.
 */
export function structureError(
  payload: Json,
  proof: unknown,
  contextUrl: string | undefined,
): string | null {
  const { '@context': context, type } = payload
  if (!Array.isArray(context) || context[0] !== w3cContext)
    return '@context must be the list of contexts that the credential was issued with.'
  if (contextUrl !== undefined && (context.length !== 2 || context[1] !== contextUrl))
    return '@context holds a context that our credentials do not have.'
  if (!Array.isArray(type) || type[0] !== 'VerifiableCredential' || type[1] !== credentialType)
    return `type must be ["VerifiableCredential", "${credentialType}"].`
  if (typeof payload.issuer !== 'string') return 'issuer must be a string.'
  if (!isObject(payload.credentialSubject)) return 'credentialSubject must be an object.'
  if (payload.credentialStatus !== undefined && !isObject(payload.credentialStatus))
    return 'credentialStatus must be an object.'
  for (const name of ['issuanceDate', 'validFrom', 'validUntil'])
    if (payload[name] !== undefined && !isDateTime(payload[name]))
      return `${name} must be a date-time with a time zone.`
  if (proof === undefined) return 'proof is missing.'
  return null
}

const strings: Record<string, string> = {
  credentialSubject: 'id type scoreBand engineId engineVersion engineBinarySha256',
  credentialStatus: 'id type statusPurpose statusListIndex statusListCredential',
}
const integers = ['score', 'confidenceLow', 'confidenceHigh', 'evidenceCount']

/** Returns a sentence about the first member with a wrong type, or null. */
export function memberTypeError(payload: Json, proof: unknown): string | null {
  if ((payload.type as unknown[]).length !== 2) return 'type must have two members.'
  if (payload.id !== undefined && typeof payload.id !== 'string') return 'id must be a string.'
  for (const [name, members] of Object.entries(strings)) {
    const node = (payload[name] ?? {}) as Json
    for (const member of members.split(' '))
      if (node[member] !== undefined && typeof node[member] !== 'string')
        return `${name}.${member} must be a string.`
  }
  const subject = payload.credentialSubject as Json
  for (const member of integers)
    if (subject[member] !== undefined && !Number.isSafeInteger(subject[member]))
      return `credentialSubject.${member} must be an integer.`
  const created = isObject(proof) ? proof.created : undefined
  return typeof created === 'string' && !isDateTime(created)
    ? 'proof.created must be a date-time with a time zone.'
    : null
}

/** ISO 8601 with a zone. A day that no month has is not moved into the next. */
function isDateTime(value: unknown): boolean {
  const day =
    typeof value === 'string' &&
    /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/.exec(
      value,
    )?.[1]
  if (!day || Number.isNaN(Date.parse(value))) return false
  const start = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day)
}

/**
 * Pure: checks that a document has the structure of a score credential, before its issuer and keys
 * are checked.
 */
import { credentialType } from '../platform/http/identifiers.ts'
import { instantOf } from '../platform/instant.ts'
import { isJsonObject } from '../platform/json/json-object.ts'
import { w3cContext } from './payload.ts'
import type { TrustedIssuer } from './trust.ts'

/**
 * Returns why the document is not structured as a score credential, or null. The contexts are
 * compared only for an issuer that this deployment trusts.
 */
export function structureError(
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
  for (const name of ['issuanceDate', 'validFrom', 'validUntil'])
    if (payload[name] !== undefined && !isDateTime(payload[name]))
      return `${name} must be a date-time with a time zone.`
  if (proof === undefined) return 'proof is missing.'
  return null
}

/**
 * Types of the members of our credentials. A wrong type under our own key would become a wrong type
 * in the verdict. The signature covers missing and additional members, so they are not checked
 * here.
 */
const memberTypes = typesByNode({
  credentialSubject: {
    id: 'string',
    type: 'string',
    score: 'integer',
    scoreBand: 'string',
    confidenceLow: 'integer',
    confidenceHigh: 'integer',
    evidenceCount: 'integer',
    engineId: 'string',
    engineVersion: 'string',
    engineBinarySha256: 'string',
  },
  credentialStatus: {
    id: 'string',
    type: 'string',
    statusPurpose: 'string',
    statusListIndex: 'string',
    statusListCredential: 'string',
  },
})

/** Lists the types once: the verifier needs them for each credential. */
function typesByNode(nodes: Record<string, Record<string, 'string' | 'integer'>>) {
  return Object.entries(nodes).map(([name, types]) => [name, Object.entries(types)] as const)
}

/**
 * Returns a sentence about the first member with a wrong type in a credential of this deployment,
 * or null. Call `structureError` first. The member types of other issuers' credentials are not
 * checked.
 */
export function memberTypeError(payload: Record<string, unknown>, proof: unknown): string | null {
  if ((payload.type as unknown[]).length !== 2) return 'type must have two members.'
  if (payload.id !== undefined && typeof payload.id !== 'string') return 'id must be a string.'
  for (const [name, types] of memberTypes) {
    const node = (payload[name] ?? {}) as Record<string, unknown>
    for (const [member, type] of types) {
      const value = node[member]
      const isRight = type === 'string' ? typeof value === 'string' : Number.isSafeInteger(value)
      if (value !== undefined && !isRight)
        return `${name}.${member} must be ${type === 'string' ? 'a string' : 'an integer'}.`
    }
  }
  const created = isJsonObject(proof) ? proof.created : undefined
  if (typeof created === 'string' && !isDateTime(created))
    return 'proof.created must be a date-time with a time zone.'
  return null
}

function isDateTime(value: unknown): boolean {
  return typeof value === 'string' && instantOf(value) !== null
}

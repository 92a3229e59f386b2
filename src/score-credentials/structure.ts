/**
 * Pure: checks that a document has the structure of a score credential, before its issuer and keys
 * are checked.
 */
import { credentialType } from '../platform/http/identifiers.ts'
import { instantOf } from '../platform/instant.ts'
import { isJsonObject } from '../platform/json/json-object.ts'
import { scoreBands } from '../skill-standard/bands.ts'
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

/** The kinds of members inside our credentials, with the words of the message. */
const memberKinds = {
  text: { words: 'a string', isRight: (value: unknown) => typeof value === 'string' },
  points: { words: 'an integer from 0 to 1000', isRight: (value: unknown) => isCount(value, 1000) },
  count: { words: 'an integer of at least 0', isRight: (value: unknown) => isCount(value) },
  band: { words: 'the name of a score band', isRight: (value: unknown) => bandNames.has(value) },
}

const bandNames = new Set<unknown>(scoreBands.map(({ band }) => band))

function isCount(value: unknown, max = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max
}

/**
 * Kinds of the members of our credentials. A value that no issuer of ours signs would become a
 * wrong value in the verdict. The signature covers missing and additional members, so they are not
 * checked here.
 */
const membersByNode = kindsByNode({
  credentialSubject: {
    id: 'text',
    type: 'text',
    score: 'points',
    scoreBand: 'band',
    confidenceLow: 'points',
    confidenceHigh: 'points',
    evidenceCount: 'count',
    engineId: 'text',
    engineVersion: 'text',
    engineBinarySha256: 'text',
  },
  credentialStatus: {
    id: 'text',
    type: 'text',
    statusPurpose: 'text',
    statusListIndex: 'text',
    statusListCredential: 'text',
  },
})

/** Lists the kinds once: the verifier needs them for each credential. */
function kindsByNode(nodes: Record<string, Record<string, keyof typeof memberKinds>>) {
  return Object.entries(nodes).map(([name, kinds]) => {
    const members = Object.entries(kinds).map(
      ([member, kind]) => [member, memberKinds[kind]] as const,
    )
    return [name, members] as const
  })
}

/**
 * Returns a sentence about the first member with a wrong value in a credential of this deployment,
 * or null. Call `structureError` first. The members of other issuers' credentials are not checked.
 */
export function memberError(payload: Record<string, unknown>, proof: unknown): string | null {
  if ((payload.type as unknown[]).length !== 2) return 'type must have two members.'
  if (payload.id !== undefined && typeof payload.id !== 'string') return 'id must be a string.'
  for (const [name, members] of membersByNode) {
    const node = (payload[name] ?? {}) as Record<string, unknown>
    for (const [member, { words, isRight }] of members)
      if (node[member] !== undefined && !isRight(node[member]))
        return `${name}.${member} must be ${words}.`
  }
  const { confidenceLow: low, confidenceHigh: high } = payload.credentialSubject as Range
  if (low !== undefined && high !== undefined && low > high)
    return 'credentialSubject.confidenceLow must not be above confidenceHigh.'
  const created = isJsonObject(proof) ? proof.created : undefined
  if (typeof created === 'string' && !isDateTime(created))
    return 'proof.created must be a date-time with a time zone.'
  return null
}

interface Range {
  confidenceLow?: number
  confidenceHigh?: number
}

function isDateTime(value: unknown): boolean {
  return typeof value === 'string' && instantOf(value) !== null
}

/** Why a document does not have the structure of a score credential. The service uses it too. */
import { isObject, textOf } from './keys.ts'
import { credentialType } from './proof.ts'

type Json = Record<string, unknown>
type Rule = readonly [words: string, isRight: (value: unknown) => boolean]

export const w3cContext = 'https://www.w3.org/ns/credentials/v2'

const text: Rule = ['a string', (value) => typeof value === 'string']
const object: Rule = ['an object', isObject]
const time: Rule = ['a date-time with a time zone', isDateTime]
const points: Rule = ['an integer from 0 to 1000', (value) => isCount(value, 1000)]
const count: Rule = ['an integer of at least 0', (value) => isCount(value)]
const band: Rule = [
  'the name of a score band',
  (value) => /^(emerging|developing|verified|strong|exceptional)$/.test(textOf(value)),
]

const times = namesOf('issuanceDate validFrom validUntil')
const subjectTexts = namesOf('id type engineId engineVersion engineBinarySha256')
const subjectPoints = namesOf('score confidenceLow confidenceHigh')
const statusTexts = namesOf('id type statusPurpose statusListIndex statusListCredential')

function namesOf(names: string): readonly string[] {
  return names.split(' ')
}

export interface Expectation {
  /** Tells the context of the issuer. Absent for another issuer. */
  isContext?: ((url: unknown) => boolean) | undefined
  /**
   * Only then, the members inside must have values that the issuer signs. The signature covers
   * missing and additional members.
   */
  isOurs: boolean
}

/** Returns a sentence about the first fault of the structure, or null. */
export function structureError(
  payload: Json,
  proof: unknown,
  { isContext, isOurs }: Expectation,
): string | null {
  const { '@context': context, type } = payload
  if (
    !Array.isArray(context) ||
    context[0] !== w3cContext ||
    (isContext && (context.length !== 2 || !isContext(context[1])))
  )
    return '@context must be the list of contexts that the credential was issued with.'
  if (
    !Array.isArray(type) ||
    type[0] !== 'VerifiableCredential' ||
    type[1] !== credentialType ||
    (isOurs && type.length !== 2)
  )
    return `type must be ["VerifiableCredential", "${credentialType}"].`
  if (typeof payload.issuer !== 'string') return 'issuer must be a string.'
  if (!isObject(payload.credentialSubject)) return 'credentialSubject must be an object.'
  const fault = wrong(payload, '', ['credentialStatus'], object) ?? wrong(payload, '', times, time)
  if (fault !== null) return fault
  if (proof === undefined) return 'proof is missing.'
  return isOurs ? memberError(payload, proof) : null
}

function memberError(payload: Json, proof: unknown): string | null {
  const subject = payload.credentialSubject as Json
  const status = (payload.credentialStatus ?? {}) as Json
  const inSubject = 'credentialSubject.'
  return (
    wrong(payload, '', ['id'], text) ??
    wrong(subject, inSubject, subjectTexts, text) ??
    wrong(subject, inSubject, subjectPoints, points) ??
    wrong(subject, inSubject, ['evidenceCount'], count) ??
    wrong(subject, inSubject, ['scoreBand'], band) ??
    wrong(status, 'credentialStatus.', statusTexts, text) ??
    (Number(subject.confidenceLow) > Number(subject.confidenceHigh)
      ? 'credentialSubject.confidenceLow must not be above confidenceHigh.'
      : isObject(proof) && typeof proof.created === 'string'
        ? wrong(proof, 'proof.', ['created'], time)
        : null)
  )
}

/** Returns a sentence about the first of the named members that is there and not right. */
function wrong(
  node: Json,
  prefix: string,
  names: readonly string[],
  [words, isRight]: Rule,
): string | null {
  const name = names.find((one) => node[one] !== undefined && !isRight(node[one]))
  return name === undefined ? null : `${prefix}${name} must be ${words}.`
}

function isCount(value: unknown, max = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max
}

/** ISO 8601 with a zone. A day that no month has is not moved into the next. */
function isDateTime(value: unknown): boolean {
  const [, day = ''] =
    /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/.exec(
      textOf(value),
    ) ?? []
  const isDay = day !== '' && (new Date(day).toJSON()?.startsWith(day) ?? false)
  return isDay && !Number.isNaN(Date.parse(textOf(value)))
}

/** Whether a document has the structure of a score credential. */
import { isObject, textOf } from './keys.ts'
import { credentialType } from './proof.ts'

type Json = Record<string, unknown>

export const w3cContext = 'https://www.w3.org/ns/credentials/v2'

const subjectTexts = 'id type engineId engineVersion engineBinarySha256'
const statusTexts = 'id type statusPurpose statusListIndex statusListCredential'
const subjectPoints = 'score confidenceLow confidenceHigh'
const bands = /^(emerging|developing|verified|strong|exceptional)$/

/**
 * Returns whether a document is structured as a score credential. `host` is that of the issuer, or
 * false for another issuer. Only with `isOurs` do the members inside have values of ours.
 */
export function isStructured(
  payload: Json,
  proof: unknown,
  { host, isOurs }: { host: string | false; isOurs: boolean },
): boolean {
  const { '@context': context, type, id, credentialSubject, credentialStatus = {} } = payload
  const { issuanceDate, validFrom, validUntil } = payload
  return (
    Array.isArray(context) &&
    context[0] === w3cContext &&
    // A did:web does not say whether its host is http or https. The signed context does.
    (!host ||
      (context.length === 2 &&
        textOf(context[1]).replace(/^https?/, '') === `://${host}/standard/v1/context.jsonld`)) &&
    Array.isArray(type) &&
    type[0] === 'VerifiableCredential' &&
    type[1] === credentialType &&
    typeof payload.issuer === 'string' &&
    isObject(credentialSubject) &&
    isObject(credentialStatus) &&
    [issuanceDate, validFrom, validUntil].every(isDateTime) &&
    proof !== undefined &&
    (!isOurs ||
      (type.length === 2 &&
        isText(id) &&
        subjectTexts.split(' ').every((name) => isText(credentialSubject[name])) &&
        statusTexts.split(' ').every((name) => isText(credentialStatus[name])) &&
        subjectPoints.split(' ').every((name) => isCount(credentialSubject[name], 1000)) &&
        isCount(credentialSubject.evidenceCount) &&
        isBand(credentialSubject.scoreBand) &&
        !(Number(credentialSubject.confidenceLow) > Number(credentialSubject.confidenceHigh)) &&
        (!isObject(proof) || typeof proof.created !== 'string' || isDateTime(proof.created))))
  )
}

/** Absent, or a string. */
function isText(value: unknown = ''): boolean {
  return typeof value === 'string'
}

function isBand(value: unknown = 'strong'): boolean {
  return bands.test(textOf(value))
}

/** Absent, or an integer from 0 to `max`. */
function isCount(value: unknown = 0, max = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max
}

/** Absent, or ISO 8601 with a zone. A day that no month has is not moved into the next. */
function isDateTime(value: unknown): boolean {
  if (value === undefined) return true
  const [, day = ''] =
    /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/.exec(
      textOf(value),
    ) ?? []
  const isDay = day !== '' && new Date(day).toJSON()?.startsWith(day)
  return isDay && !Number.isNaN(Date.parse(textOf(value)))
}

/** Whether a document has the structure of a score credential. */
import { isObject, textOf } from './keys.ts'
import { credentialType } from './proof.ts'

type Json = Record<string, unknown>

export const w3cContext = 'https://www.w3.org/ns/credentials/v2'

const subjectTexts = 'id type scoreBand engineId engineVersion engineBinarySha256'
const statusTexts = 'id type statusPurpose statusListIndex statusListCredential'
const subjectIntegers = 'score confidenceLow confidenceHigh evidenceCount'

/**
 * Returns whether a document is structured as a score credential. `host` is that of the issuer, or
 * false for another issuer. Only with `hasTypes` do the members inside have a type.
 */
export function isStructured(
  payload: Json,
  proof: unknown,
  { host, hasTypes }: { host: string | false; hasTypes: boolean },
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
    (!hasTypes ||
      (type.length === 2 &&
        isText(id) &&
        subjectTexts.split(' ').every((name) => isText(credentialSubject[name])) &&
        statusTexts.split(' ').every((name) => isText(credentialStatus[name])) &&
        subjectIntegers.split(' ').every((name) => isInteger(credentialSubject[name])) &&
        (!isObject(proof) || typeof proof.created !== 'string' || isDateTime(proof.created))))
  )
}

/** Absent, or a string. */
function isText(value: unknown = ''): boolean {
  return typeof value === 'string'
}

function isInteger(value: unknown = 0): boolean {
  return Number.isSafeInteger(value)
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

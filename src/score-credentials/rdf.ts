/**
 * Pure: RDFC-1.0 canonical N-Quads of the documents we sign. Every node carries an `id`, so the canonical form is the sorted lines,
 * and a table of terms replaces a JSON-LD processor; equality with one is tested. A document that strays from its table by one
 * member, one type or one character has no canonical form here (null): what the lines would not cover must not pass as signed.
 */
import { credentialType } from '../platform/identifiers.ts'

const xsd = 'http://www.w3.org/2001/XMLSchema#'
const credentials = 'https://www.w3.org/2018/credentials#'
const status = 'https://www.w3.org/ns/credentials/status#'
const security = 'https://w3id.org/security#'
const rdfType = '<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>'

type ValueKind = 'iri' | 'string' | 'integer' | 'dateTime' | 'multibase'

export interface NodeShape {
  /** The exact value of `type`, and the IRI of each. */
  types: readonly (readonly [name: string, iri: string])[]
  /** A single type stands as a string, several as an array. */
  terms: Readonly<Record<string, readonly [iri: string, kind: ValueKind | NodeShape]>>
}

/** The credential's shape for a vocabulary base such as `https://scores.example.org/standard/v1/vocab#`. */
export function credentialShape(vocabulary: string): NodeShape {
  const subject: NodeShape = {
    types: [['ScoredProfile', `${vocabulary}ScoredProfile`]],
    terms: {
      score: [`${vocabulary}score`, 'integer'],
      scoreBand: [`${vocabulary}scoreBand`, 'string'],
      confidenceLow: [`${vocabulary}confidenceLow`, 'integer'],
      confidenceHigh: [`${vocabulary}confidenceHigh`, 'integer'],
      evidenceCount: [`${vocabulary}evidenceCount`, 'integer'],
      engineId: [`${vocabulary}engineId`, 'iri'],
      engineVersion: [`${vocabulary}engineVersion`, 'string'],
      engineBinarySha256: [`${vocabulary}engineBinarySha256`, 'string'],
    },
  }
  return {
    types: [
      ['VerifiableCredential', `${credentials}VerifiableCredential`],
      [credentialType, `${vocabulary}${credentialType}`],
    ],
    terms: {
      issuer: [`${credentials}issuer`, 'iri'],
      issuanceDate: [`${credentials}issuanceDate`, 'dateTime'],
      validFrom: [`${credentials}validFrom`, 'dateTime'],
      validUntil: [`${credentials}validUntil`, 'dateTime'],
      credentialSubject: [`${credentials}credentialSubject`, subject],
      credentialStatus: [`${credentials}credentialStatus`, statusEntryShape],
    },
  }
}

const statusEntryShape: NodeShape = {
  types: [['BitstringStatusListEntry', `${status}BitstringStatusListEntry`]],
  terms: {
    statusPurpose: [`${status}statusPurpose`, 'string'],
    statusListIndex: [`${status}statusListIndex`, 'string'],
    statusListCredential: [`${status}statusListCredential`, 'iri'],
  },
}

export const statusListShape: NodeShape = {
  types: [
    ['VerifiableCredential', `${credentials}VerifiableCredential`],
    ['BitstringStatusListCredential', `${status}BitstringStatusListCredential`],
  ],
  terms: {
    issuer: [`${credentials}issuer`, 'iri'],
    validFrom: [`${credentials}validFrom`, 'dateTime'],
    validUntil: [`${credentials}validUntil`, 'dateTime'],
    credentialSubject: [
      `${credentials}credentialSubject`,
      {
        types: [['BitstringStatusList', `${status}BitstringStatusList`]],
        terms: {
          statusPurpose: [`${status}statusPurpose`, 'string'],
          encodedList: [`${status}encodedList`, 'multibase'],
          ttl: [`${status}ttl`, 'integer'],
        },
      },
    ],
  },
}

/** Canonical N-Quads of `document` (its `@context` is the caller's to check), or null where it strays from `shape`. */
export function canonicalNQuads(
  document: Record<string, unknown>,
  shape: NodeShape,
): string | null {
  const lines: string[] = []
  if (iriOfNode(document, shape, lines, true) === null) return null
  return lines.sort().join('')
}

/** Canonical N-Quads of the options of an `eddsa-rdfc-2022` proof; the arguments must have passed `isIri` and `isPlainText`. */
export function proofOptionsNQuads(created: string, verificationMethod: string): string {
  return (
    `_:c14n0 <http://purl.org/dc/terms/created> "${created}"^^<${xsd}dateTime> .\n` +
    `_:c14n0 ${rdfType} <${security}DataIntegrityProof> .\n` +
    `_:c14n0 <${security}cryptosuite> "eddsa-rdfc-2022"^^<${security}cryptosuiteString> .\n` +
    `_:c14n0 <${security}proofPurpose> <${security}assertionMethod> .\n` +
    `_:c14n0 <${security}verificationMethod> <${verificationMethod}> .\n`
  )
}

/** Adds the node's lines and gives its IRI. */
function iriOfNode(
  node: Record<string, unknown>,
  shape: NodeShape,
  lines: string[],
  isRoot: boolean,
): string | null {
  const { id } = node
  if (!isIri(id) || !hasTypes(node.type, shape)) return null
  for (const [, iri] of shape.types) lines.push(`<${id}> ${rdfType} <${iri}> .\n`)
  for (const name in node) {
    if (name === 'id' || name === 'type' || (isRoot && name === '@context')) continue
    const term = Object.hasOwn(shape.terms, name) ? shape.terms[name] : undefined
    if (term === undefined) return null
    const object = objectOf(node[name], term[1], lines)
    if (object === null) return null
    lines.push(`<${id}> <${term[0]}> ${object} .\n`)
  }
  return id
}

function hasTypes(type: unknown, shape: NodeShape): boolean {
  if (shape.types.length === 1) return type === shape.types[0]?.[0]
  return (
    Array.isArray(type) &&
    type.length === shape.types.length &&
    shape.types.every(([name], i) => type[i] === name)
  )
}

function objectOf(value: unknown, kind: ValueKind | NodeShape, lines: string[]): string | null {
  if (typeof kind === 'object') {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    const iri = iriOfNode(value as Record<string, unknown>, kind, lines, false)
    return iri === null ? null : `<${iri}>`
  }
  if (kind === 'integer')
    return typeof value === 'number' && Number.isSafeInteger(value)
      ? `"${value}"^^<${xsd}integer>`
      : null
  if (kind === 'iri') return isIri(value) ? `<${value}>` : null
  if (!isPlainText(value)) return null
  if (kind === 'dateTime') return `"${value}"^^<${xsd}dateTime>`
  return kind === 'multibase' ? `"${value}"^^<${security}multibase>` : `"${value}"`
}

/** Absolute, ASCII, and free of what could end the IRI or the line and so smuggle in a statement. No scheme of these is a prefix of a context. */
const iriPattern = /^(?:https?|urn|did):[!#-;=?-[\]_a-z~]+$/
/** Printable ASCII without the quote and the backslash: needs no escape in N-Quads. */
const plainTextPattern = /^[ !#-[\]-~]*$/

export function isIri(value: unknown): value is string {
  return typeof value === 'string' && iriPattern.test(value)
}

export function isPlainText(value: unknown): value is string {
  return typeof value === 'string' && plainTextPattern.test(value)
}

/**
 * Pure: RDFC-1.0 canonical N-Quads of the documents that this deployment signs. Every node has an
 * `id`, so the canonical form is the sorted lines, and a table of terms replaces a JSON-LD
 * processor. A test compares both. A document that differs from its table in one member, type or
 * character has no canonical form (null), because a signature must not appear to cover content that
 * is in no line.
 */
import { credentialType } from '../edge/http/identifiers.ts'

const xsd = 'http://www.w3.org/2001/XMLSchema#'
const credentials = 'https://www.w3.org/2018/credentials#'
const status = 'https://www.w3.org/ns/credentials/status#'
const security = 'https://w3id.org/security#'
const rdfType = '<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>'

type ValueKind = 'iri' | 'string' | 'integer' | 'dateTime' | 'multibase'

export interface NodeShape {
  /** The exact value of `type`: one type as a string, several as an array. */
  types: readonly string[]
  /** The statements of the node in canonical order, each without its subject. */
  statements: readonly Statement[]
}

type Statement =
  /** A statement that every node of the shape has: predicate, object and final dot. */
  | { whole: string }
  /** A statement whose object is the value of `member`. */
  | { predicate: string; member: string; kind: ValueKind | NodeShape }

/**
 * Builds a shape. The keys of `types` and `terms` are names in the document; the values hold their
 * IRIs.
 */
function nodeShape(
  types: Readonly<Record<string, string>>,
  terms: Readonly<Record<string, readonly [iri: string, kind: ValueKind | NodeShape]>>,
): NodeShape {
  const typed = Object.values(types).map((iri) => ({ whole: `${rdfType} <${iri}> .\n` }))
  const valued = Object.entries(terms).map(([member, [iri, kind]]) => ({
    predicate: `<${iri}> `,
    member,
    kind,
  }))
  const textOf = (statement: Statement): string =>
    'whole' in statement ? statement.whole : statement.predicate
  const statements = [...typed, ...valued].sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1))
  return { types: Object.keys(types), statements }
}

/**
 * Returns the shape of a credential for a vocabulary base such as
 * `https://scores.example.org/standard/v1/vocab#`.
 */
export function credentialShape(vocabulary: string): NodeShape {
  const subject = nodeShape(
    { ScoredProfile: `${vocabulary}ScoredProfile` },
    {
      score: [`${vocabulary}score`, 'integer'],
      scoreBand: [`${vocabulary}scoreBand`, 'string'],
      confidenceLow: [`${vocabulary}confidenceLow`, 'integer'],
      confidenceHigh: [`${vocabulary}confidenceHigh`, 'integer'],
      evidenceCount: [`${vocabulary}evidenceCount`, 'integer'],
      engineId: [`${vocabulary}engineId`, 'iri'],
      engineVersion: [`${vocabulary}engineVersion`, 'string'],
      engineBinarySha256: [`${vocabulary}engineBinarySha256`, 'string'],
    },
  )
  return nodeShape(
    {
      VerifiableCredential: `${credentials}VerifiableCredential`,
      [credentialType]: `${vocabulary}${credentialType}`,
    },
    {
      issuer: [`${credentials}issuer`, 'iri'],
      issuanceDate: [`${credentials}issuanceDate`, 'dateTime'],
      validFrom: [`${credentials}validFrom`, 'dateTime'],
      validUntil: [`${credentials}validUntil`, 'dateTime'],
      credentialSubject: [`${credentials}credentialSubject`, subject],
      credentialStatus: [`${credentials}credentialStatus`, statusEntryShape],
    },
  )
}

const statusEntryShape = nodeShape(
  { BitstringStatusListEntry: `${status}BitstringStatusListEntry` },
  {
    statusPurpose: [`${status}statusPurpose`, 'string'],
    statusListIndex: [`${status}statusListIndex`, 'string'],
    statusListCredential: [`${status}statusListCredential`, 'iri'],
  },
)

const statusListSubjectShape = nodeShape(
  { BitstringStatusList: `${status}BitstringStatusList` },
  {
    statusPurpose: [`${status}statusPurpose`, 'string'],
    encodedList: [`${status}encodedList`, 'multibase'],
    ttl: [`${status}ttl`, 'integer'],
  },
)

export const statusListShape = nodeShape(
  {
    VerifiableCredential: `${credentials}VerifiableCredential`,
    BitstringStatusListCredential: `${status}BitstringStatusListCredential`,
  },
  {
    issuer: [`${credentials}issuer`, 'iri'],
    validFrom: [`${credentials}validFrom`, 'dateTime'],
    validUntil: [`${credentials}validUntil`, 'dateTime'],
    credentialSubject: [`${credentials}credentialSubject`, statusListSubjectShape],
  },
)

/**
 * Returns the canonical N-Quads of `document`, or null if it does not match `shape`. The caller
 * checks the value of `@context`.
 */
export function canonicalNQuads(
  document: Record<string, unknown>,
  shape: NodeShape,
): string | null {
  const { '@context': context, ...root } = document
  if (context === undefined) return null
  const nodes = new Map<string, string>()
  if (iriOfNode(root, shape, nodes) === null) return null
  return [...nodes.keys()]
    .sort()
    .map((subject) => nodes.get(subject))
    .join('')
}

/**
 * Returns the canonical N-Quads of the options of an `eddsa-rdfc-2022` proof. The arguments must
 * have passed `isPlainText` and `isIri`.
 */
export function proofOptionsNQuads(created: string, verificationMethod: string): string {
  return (
    `_:c14n0 <http://purl.org/dc/terms/created> "${created}"^^<${xsd}dateTime> .\n` +
    `_:c14n0 ${rdfType} <${security}DataIntegrityProof> .\n` +
    `_:c14n0 <${security}cryptosuite> "eddsa-rdfc-2022"^^<${security}cryptosuiteString> .\n` +
    `_:c14n0 <${security}proofPurpose> <${security}assertionMethod> .\n` +
    `_:c14n0 <${security}verificationMethod> <${verificationMethod}> .\n`
  )
}

/**
 * Adds the lines of the node under its subject and returns its IRI, or null if the node does not
 * match `shape`.
 */
function iriOfNode(
  node: Record<string, unknown>,
  shape: NodeShape,
  nodes: Map<string, string>,
): string | null {
  const { id } = node
  if (!isIri(id) || !hasTypes(node.type, shape)) return null
  const subject = `<${id}> `
  // Two nodes with the same IRI would be one node with interleaved statements.
  if (nodes.has(subject)) return null
  nodes.set(subject, '')
  let lines = ''
  let covered = 2
  for (const statement of shape.statements) {
    if ('whole' in statement) {
      lines += subject + statement.whole
      continue
    }
    const value = node[statement.member]
    if (value === undefined) continue
    const object = objectOf(value, statement.kind, nodes)
    if (object === null) return null
    lines += `${subject}${statement.predicate}${object} .\n`
    covered++
  }
  // A member that is in no statement must not appear to be signed.
  if (Object.keys(node).length !== covered) return null
  nodes.set(subject, lines)
  return id
}

function hasTypes(type: unknown, { types }: NodeShape): boolean {
  if (types.length === 1) return type === types[0]
  return (
    Array.isArray(type) &&
    type.length === types.length &&
    types.every((name, i) => type[i] === name)
  )
}

function objectOf(
  value: unknown,
  kind: ValueKind | NodeShape,
  nodes: Map<string, string>,
): string | null {
  if (typeof kind === 'object') {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    const iri = iriOfNode(value as Record<string, unknown>, kind, nodes)
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

/**
 * Absolute ASCII IRIs without characters that could end the IRI or the line and so inject a
 * statement. The contexts define no prefix that equals one of these schemes.
 */
const iriPattern = /^(?:https?|urn|did):[!#-;=?-[\]_a-z~]+$/
/** Printable ASCII without quote and backslash: needs no escape in N-Quads. */
const plainTextPattern = /^[ !#-[\]-~]*$/

export function isIri(value: unknown): value is string {
  return typeof value === 'string' && iriPattern.test(value)
}

export function isPlainText(value: unknown): value is string {
  return typeof value === 'string' && plainTextPattern.test(value)
}

/**
 * Pure: the RDF statements of our own JSON-LD documents as N-Quads. Only the parts of JSON-LD 1.1
 * that `context.ts` uses are implemented; anything else throws. A test compares the statements with
 * those of a JSON-LD processor.
 */
import { canonicalJson } from '../platform/json/canonical-json.ts'

const xsd = 'http://www.w3.org/2001/XMLSchema#'
const rdf = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#'

type Json = Readonly<Record<string, unknown>>

/** Terms of a scope by their name: an IRI, or a definition with `@id`. */
type Scope = Readonly<Record<string, unknown>>

interface Term {
  iri: string
  type: string | undefined
  isList: boolean
  scope: Scope
}

/**
 * Returns the statements of a document, one on each line. `context` is the value of its `@context`.
 * Blank nodes are numbered in the order of the document, so the same document gives the same bytes.
 */
export function nQuadsOf(document: Json, context: Scope): string {
  const lines: string[] = []
  let blankNodes = 0
  writeNode(document, {})
  return lines.join('')

  function write(subject: string, predicate: string, object: string): void {
    lines.push(`${subject} <${predicate}> ${object} .\n`)
  }

  function blankNode(): string {
    return `_:b${blankNodes++}`
  }

  /** Writes a node and returns its name. `inherited`: the terms of the property that holds it. */
  function writeNode(node: Json, inherited: Scope): string {
    const typeName = node['@type']
    const type = typeof typeName === 'string' ? definitionOf(context, context, typeName) : undefined
    const scope: Scope = type === undefined ? inherited : { ...inherited, ...type.scope }
    const aliased = Object.keys(node).find((name) => scope[name] === '@id')
    const id = node['@id'] ?? (aliased === undefined ? undefined : node[aliased])
    const subject = id === undefined ? blankNode() : iriRef(context, id)
    if (type !== undefined) write(subject, `${rdf}type`, `<${type.iri}>`)
    for (const [name, value] of Object.entries(node)) {
      if (name.startsWith('@') || name === aliased) continue
      writeProperty(subject, definitionOf(context, scope, name), value)
    }
    return subject
  }

  function writeProperty(subject: string, term: Term, value: unknown): void {
    if (term.type === '@json') write(subject, term.iri, jsonLiteral(value))
    else if (term.isList) write(subject, term.iri, writeList(value, term))
    else
      for (const member of Array.isArray(value) ? value : [value])
        if (member !== null) write(subject, term.iri, objectOf(member, term))
  }

  /** Writes a list from its end to its begin, and returns the name of its first cell. */
  function writeList(value: unknown, term: Term): string {
    if (!Array.isArray(value)) throw new TypeError('a list is an array')
    let rest = `<${rdf}nil>`
    for (const member of value.toReversed()) {
      const cell = blankNode()
      write(cell, `${rdf}first`, objectOf(member, term))
      write(cell, `${rdf}rest`, rest)
      rest = cell
    }
    return rest
  }

  function objectOf(value: unknown, { type, scope }: Term): string {
    if (typeof value === 'object' && value !== null) return writeNode(value as Json, scope)
    if (type === '@id') return iriRef(context, value)
    if (type !== undefined) return `${quoted(value)}^^<${iriOf(context, type)}>`
    if (typeof value === 'number') return numberLiteral(value)
    if (typeof value === 'boolean') return `"${value}"^^<${xsd}boolean>`
    return quoted(value)
  }
}

function definitionOf(context: Scope, scope: Scope, name: string): Term {
  const found = Object.hasOwn(scope, name) ? scope[name] : undefined
  const definition: Json = typeof found === 'string' ? { '@id': found } : Object(found)
  const {
    '@id': id,
    '@type': type,
    '@container': container,
    '@context': terms,
    ...rest
  } = definition
  const isKnown =
    typeof id === 'string' &&
    Object.keys(rest).length === 0 &&
    (container === undefined || container === '@set' || container === '@list')
  if (!isKnown) throw new Error(`the context defines no term ${name} that can be written`)
  const nested: Scope = Object(terms)
  return {
    iri: iriOf(context, id),
    type: typeof type === 'string' ? type : undefined,
    isList: container === '@list',
    scope: nested,
  }
}

function iriRef(context: Scope, value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('the name of a node is a text')
  return `<${iriOf(context, value)}>`
}

/** Replaces a prefix of the context, e.g. that of `hss:git`. */
function iriOf(context: Scope, text: string): string {
  const colon = text.indexOf(':')
  const base = context[text.slice(0, colon)]
  const iri = typeof base === 'string' ? `${base}${text.slice(colon + 1)}` : text
  if (!/^https?:[!#-;=?-[\]_a-z~]+$/.test(iri)) throw new Error(`not an absolute IRI: ${iri}`)
  return iri
}

function jsonLiteral(value: unknown): string {
  return `${quoted(canonicalJson(value))}^^<${rdf}JSON>`
}

/** A number with a fraction is a double in its canonical form, e.g. `3.5E-1`. */
function numberLiteral(value: number): string {
  if (Number.isInteger(value)) return `"${value}"^^<${xsd}integer>`
  const text = value.toExponential(15).replace(/(\d)0*e\+?/, '$1E')
  return `"${text}"^^<${xsd}double>`
}

const escapes: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
}

function quoted(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`not a text: ${String(value)}`)
  return `"${value.replace(/[\b\t\n\f\r"\\]/g, (character) => escapes[character] ?? character)}"`
}

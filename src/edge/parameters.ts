/** Checks path and query parameters against their declaration. Nothing is coerced (decision D8). */
import type { TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import { type Refusal, refuse } from '../platform/errors.ts'

export type Parameters = Readonly<Record<string, string>>
export type ParameterCheck = (values: Parameters) => Parameters | Refusal

/**
 * Builds a check that returns the declared parameters or a refusal that names the malformed one.
 *
 * An absent parameter gets its `default`. If a declaration has `oneSpelling`, its values come back
 * in that spelling, so two spellings of one value are the same call, also for a purchase.
 */
export function parameterCheck(
  schema: TObject | undefined,
  place: 'path' | 'query' = 'query',
): ParameterCheck {
  if (schema === undefined) return () => noValues
  const validator = Compile(schema)
  const forms = Object.entries(schema.properties).map(([name, property]) => ({
    name,
    form: formOf(property),
    unlessSent: unlessSentOf(property),
    spelled: spellingOf(property),
    required: schema.required?.includes(name) ?? false,
    validator: Compile(property),
  }))
  const check: ParameterCheck = (values) => {
    const declared: Record<string, string> = {}
    for (const { name, unlessSent } of forms) {
      const value = values[name] ?? unlessSent
      if (value !== undefined) declared[name] = value
    }
    if (validator.Check(declared)) {
      for (const { name, spelled } of forms)
        if (declared[name] !== undefined) declared[name] = spelled(declared[name])
      return declared
    }
    for (const { name, form, required, validator } of forms) {
      const value = declared[name]
      if (value === undefined && required)
        return refuse('invalid_parameter', {
          message: `Parameter ${name} is required. ${form}`,
          cause: { in: place, name, rule: `It is required. ${form}` },
        })
      if (value !== undefined && !validator.Check(value))
        return refuse('invalid_parameter', {
          message: `Parameter ${name} is not valid. ${form}`,
          cause: { in: place, name, rule: form },
        })
    }
    return refuse('invalid_parameter')
  }
  const ofNothing = check(noValues)
  return (values) => (values === noValues ? ofNothing : check(values))
}

/**
 * Reads the query of a request target. All of its text must be well formed; undeclared parameters
 * are then ignored.
 */
export function queryOf(target: string, check: ParameterCheck): Parameters | Refusal {
  const mark = target.indexOf('?')
  const query = parseQuery(mark === -1 ? '' : target.slice(mark + 1))
  return query.kind === 'problem'
    ? refuse('invalid_parameter', {
        message: query.why,
        cause: { in: 'query', name: null, rule: 'The query is not well formed.' },
      })
    : check(query.values)
}

export function isRefusal(value: object): value is Refusal {
  return 'refusal' in value
}

function unlessSentOf(schema: object): string | undefined {
  return 'default' in schema ? String(schema.default) : undefined
}

type Spelling = (value: string) => string

function spellingOf(schema: object): Spelling {
  return 'oneSpelling' in schema && typeof schema.oneSpelling === 'function'
    ? (schema.oneSpelling as Spelling)
    : (value) => value
}

function formOf(schema: object): string {
  if ('description' in schema) return String(schema.description)
  if ('maxLength' in schema) return `It has at most ${String(schema.maxLength)} characters.`
  return 'pattern' in schema ? `It matches ${String(schema.pattern)}.` : ''
}

export type Query =
  | { kind: 'values'; values: Readonly<Record<string, string>> }
  | { kind: 'problem'; why: string }

/** The values of a target without a query. */
const noValues: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
const none: Query = { kind: 'values', values: noValues }

/** Parses `text`: the part after the first `?`, the empty text, or the body of a form. */
export function parseQuery(text: string, place: 'query' | 'form' = 'query'): Query {
  if (text === '') return none
  const values: Record<string, string> = Object.create(null)
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    if (name === null || value === null)
      return { kind: 'problem', why: `The ${place} is not valid percent-encoded UTF-8.` }
    if (name.includes('\0') || value.includes('\0'))
      return { kind: 'problem', why: `The ${place} holds a NUL.` }
    if (name in values) {
      // A name of any length may be sent, and the answer need not repeat it.
      const named = name.length > 64 ? `A ${place} parameter` : `The ${place} parameter ${name}`
      return { kind: 'problem', why: `${named} occurs twice.` }
    }
    values[name] = value
  }
  return { kind: 'values', values }
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}

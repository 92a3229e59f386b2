/** Pure: the input of an operation from texts, as a command line or a form gives them. */
import type { TProperties } from 'typebox'

export interface FieldForm {
  type?: string
  anyOf?: readonly FieldForm[]
  items?: FieldForm
  enum?: readonly string[]
  default?: unknown
  maxLength?: number
  /** If it begins with "must", it is the text of a refusal. */
  description?: string
  /** What the field means, if the description says only its form. */
  'x-help'?: string
  /** The name of the flag, if it differs from the field's. */
  'x-flag'?: string
  /** The operation whose list shows such ids. */
  'x-shown-by'?: string
}

interface Fields {
  path: TProperties
  input: TProperties
}

/** Returns the schema of each field, path parameters first. */
export function fieldForms({ path, input }: Fields): Record<string, FieldForm> {
  return { ...path, ...input }
}

/** Returns the schema of the value: that of a nullable field without its null. */
export function valueForm(form: FieldForm): FieldForm {
  return form.anyOf?.find(({ type }) => type !== 'null') ?? form
}

/** Texts by field. A boolean, and a list of texts, come as they are. */
export type Texts = Readonly<Record<string, string | boolean | readonly string[]>>

/**
 * Returns the values of the texts by the schemas of their fields. A text that is no such value
 * stays a text, so that the check of the input names the field.
 */
export function valuesOfTexts(operation: Fields, texts: Texts): Record<string, unknown> {
  const forms = fieldForms(operation)
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, valueOf(forms[name] ?? {}, text)]),
  )
}

function valueOf(form: FieldForm, text: string | boolean | readonly string[]): unknown {
  const value = valueForm(form)
  if (value.type === 'array') {
    const texts = typeof text === 'string' ? text.split(/[\s,]+/) : [text].flat()
    return texts.filter((one) => one !== '').map((one) => scalarOf(value.items ?? {}, one))
  }
  if (text === 'off' && value !== form) return null
  return scalarOf(value, text)
}

function scalarOf({ type }: FieldForm, text: unknown): unknown {
  if (typeof text !== 'string') return text
  if (type === 'integer' || type === 'number')
    return /^[+-]?\d{1,15}$/.test(text) ? Number(text) : text
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

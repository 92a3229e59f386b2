/** Pure: the fields of a form from the schemas of an operation, and the texts of a sent form. */
import type { Operation } from '../../operations/operation.ts'
import { type FieldForm, fieldForms, type Texts, valueForm } from '../../operations/text-input.ts'
import {
  checkField,
  choicesField,
  chosenBoxes,
  type FieldErrors,
  selectField,
  textField,
  withCode,
} from '../components.ts'
import type { Html } from '../html.ts'
import type { Fields } from '../page.ts'
import { titled } from './nouns.ts'

type AnyOperation = Pick<Operation, 'path' | 'input'>

/** A form that filters has a choice for each answer, and for none. */
interface FormOf {
  values: Texts
  errors?: FieldErrors
  isFilter?: boolean
}

/** The field for one input. */
export function inputField(
  operation: AnyOperation,
  name: string,
  { values, errors = {}, isFilter = false }: FormOf,
): Html {
  const form = fieldForms(operation)[name] ?? {}
  const value = valueForm(form)
  const isOptional = !isRequired(operation, name)
  const label =
    titled(name) + (isOptional && !isFilter && value.type !== 'boolean' ? ' (optional)' : '')
  const text = values[name] ?? form.default
  const common = {
    name,
    label,
    error: errors[name],
    ...(!isFilter && helpOf(form) !== '' && { help: withCode(helpOf(form)) }),
  }
  const items = value.items?.enum
  if (value.type === 'array' && items !== undefined)
    return choicesField({
      ...common,
      kind: 'box',
      chosen: Array.isArray(text) ? text : [],
      choices: items.map(choiceOf),
    })
  if (value.type === 'boolean' && form.default === false) {
    // A filter has no help, and a name such as `All` says too little.
    const label = isFilter ? helpOf(form).replace(/\.$/, '') || common.label : common.label
    return checkField({ ...common, label, isChecked: text === true || text === 'true' })
  }
  const choices =
    value.type === 'boolean'
      ? [
          { value: 'true', label: 'Yes' },
          { value: 'false', label: 'No' },
        ]
      : value.enum?.map(choiceOf)
  const shown = Array.isArray(text)
    ? text.join('\n')
    : text === undefined
      ? ''
      : `${text as string | number}`
  if (choices !== undefined) {
    const absent = { value: '', label: isFilter ? 'Any' : isOptional ? 'Default' : 'Choose' }
    const all = form.default === undefined ? [absent, ...choices] : choices
    return selectField({ ...common, value: shown, choices: all })
  }
  return textField({
    ...common,
    value: shown,
    isRequired: !isOptional && !isFilter,
    isLong: value.type === 'array' || ((value.maxLength ?? 0) > 300 && name !== 'url'),
    type: value.type === 'integer' || value.type === 'number' ? 'number' : 'text',
  })
}

/** A name of the API, such as `score.updated`, stays as it is. */
function choiceOf(value: string): { value: string; label: string } {
  return { value, label: /[.:]/.test(value) ? value : titled(value) }
}

export function isRequired({ path, input }: AnyOperation, name: string): boolean {
  const schema = path[name] ?? input[name]
  return schema !== undefined && !('~optional' in schema) && !('default' in schema)
}

/** Returns a sentence about the field. A list of its choices says nothing new. */
function helpOf(form: FieldForm): string {
  const value = valueForm(form)
  const choices = value.enum ?? value.items?.enum
  const text = form['x-help'] ?? (form.description ?? '').replace(/^must (be|have) /, '')
  if (text === '' || (choices !== undefined && text.startsWith(choices.slice(0, 2).join(', '))))
    return ''
  const sentence = text.charAt(0).toUpperCase() + text.slice(1)
  const ended = /[.:…)]$/.test(sentence) ? sentence : `${sentence}.`
  return value === form ? ended : `${ended} Write off for none.`
}

/** Returns the texts of a sent form. An empty field is absent. */
export function textsOf(operation: AnyOperation, names: readonly string[], fields: Fields): Texts {
  const forms = fieldForms(operation)
  const texts = names.map((name): [string, Texts[string]] => {
    const form = forms[name] ?? {}
    const value = valueForm(form)
    if (value.type === 'array' && value.items?.enum !== undefined)
      return [name, chosenBoxes(fields, name)]
    if (value.type === 'boolean' && form.default === false) return [name, fields[name] === 'true']
    return [name, (fields[name] ?? '').trim()]
  })
  return Object.fromEntries(
    texts.filter(([, text]) => text !== '' && (text as unknown[]).length !== 0),
  )
}

/** Returns the error under the name of the field that its message begins with, or under `form`. */
export function errorsOf(names: readonly string[], message: string): FieldErrors {
  const first = /^\w+/.exec(message)?.[0] ?? ''
  return { [names.includes(first) ? first : 'form']: message }
}

/** The form of an action, and its answer, made from its operation. */
import { randomUUID } from 'node:crypto'
import { type Operation } from '../../operations/operation.ts'
import { secretFields } from '../../operations/perform.ts'
import { type Texts, valuesOfTexts } from '../../operations/text-input.ts'
import { errorTable, type Refusal, refuse } from '../../platform/errors.ts'
import {
  type FieldErrors,
  facts,
  formErrors,
  hidden,
  notice,
  result,
  secretOnce,
} from '../components.ts'
import { type Html, html } from '../html.ts'
import { type Fields, type Shown } from '../page.ts'
import {
  type Console,
  callerOf,
  doneQuery,
  refusalErrors,
  sentencesOf,
  type Visiting,
} from './console.ts'
import { inputField, textsOf } from './form.ts'
import {
  formPath,
  mayCall,
  type Noun,
  type Nouns,
  nounOfKey,
  recordPath,
  singular,
  titled,
  verbOf,
} from './nouns.ts'
import { recordOf } from './values.ts'

/** A change that cannot be taken back needs a sign-in that is not older. */
const freshMs = 15 * 60_000

export interface Sent {
  fields: Fields
  isPreview: boolean
}

interface FormOptions<Services> {
  noun: Noun<Services>
  operation: Operation<Services>
  sent?: Sent | undefined
}

/** The form of an action, and its answer. */
export async function formShown<Services>(
  console: Console<Services>,
  visit: Visiting,
  { noun, operation, sent }: FormOptions<Services>,
): Promise<Shown> {
  if (!mayCall(operation, callerOf(visit.session))) return refuse('operator_role_required')
  const given: Record<string, string> = {}
  for (const name of Object.keys(operation.path))
    if (visit.query[name] !== undefined) given[name] = visit.query[name]
  const names = Object.keys({ ...operation.path, ...operation.input }).filter(
    (name) => !(name in given),
  )
  const back = backOf(console.nouns, noun, given)
  const isStale =
    operation.danger !== undefined &&
    visit.now.getTime() - visit.session.signedInAt.getTime() > freshMs
  const key = sent?.fields.key ?? randomUUID()
  const values = textsOf(operation, names, sent?.fields ?? visit.query)
  const form = (answer: FormAnswer = {}) =>
    formView({ operation, given, names, back, isStale, key, values, ...answer })
  if (sent === undefined) return form()
  if (isStale) return form({ status: 403 })
  const input = { ...valuesOfTexts(operation, values), ...given }
  const done = await console.perform(visit, operation, input, {
    idempotencyKey: key,
    isDryRun: sent.isPreview,
  })
  if ('refusal' in done) return form(refusedAnswer(names, done))
  const { output } = done
  const lines = sentencesOf(operation, output, input)
  const told = (title: string) => result('info', title, lines.join(' '))
  if (sent.isPreview) return form({ above: told('Nothing was changed yet. This would happen:') })
  const [secret] = secretFields(operation.output)
  if (secret !== undefined) {
    // It is shown in this answer alone, and never after a redirect.
    const title = titled(secret)
    const value = String(Reflect.get(output, secret))
    const text = lines.filter((line) => !line.includes(value)).join(' ')
    const main = secretOnce({ title, label: title, value, text, done: back.url })
    return { title, status: 201, main }
  }
  if ('more' in output)
    return form({
      key: randomUUID(),
      above: told('Items are left. Send the form again to go on.'),
    })
  const target = targetOf(noun, { given, output }) ?? back.url
  const about = doneQuery({ name: operation.name, key, given })
  return { redirectTo: `${target}${target.includes('?') ? '&' : '?'}${about}` }
}

/** A refusal stays on the form. A form that was sent before with other texts gets a new key. */
function refusedAnswer(names: readonly string[], refusal: Refusal): FormAnswer {
  const { status } = errorTable[refusal.refusal]
  if (refusal.refusal !== 'idempotency_key_reused')
    return { status, errors: refusalErrors(names, refusal) }
  const form =
    'This form was sent before with other content, and that was done. Send it again only if you want a second change.'
  return { status, key: randomUUID(), errors: { form } }
}

interface Back {
  url: string
  title: string
}

/** The page from which the form was opened. */
function backOf<Services>(
  nouns: Nouns<Services>,
  noun: Noun<Services>,
  given: Record<string, string>,
): Back {
  const [key, id] = Object.entries(given)[0] ?? []
  const owner = key === undefined ? undefined : nounOfKey(nouns, key)
  if (owner === undefined || id === undefined) return { url: noun.path, title: noun.title }
  return { url: recordPath(owner, id), title: id.length > 20 ? singular(owner.title) : id }
}

/** The page of the record that a change made or changed, if its noun has one. */
function targetOf<Services>(
  { key, path }: Noun<Services>,
  { given, output }: { given: Record<string, string>; output: object },
): string | null {
  if (key === null) return null
  const made = recordOf(output)
  const ids: unknown[] = [given[key], Reflect.get(output, key), Reflect.get(made, key)]
  const id = [...ids, Reflect.get(made, 'id')].find((one) => typeof one === 'string')
  return id === undefined ? null : recordPath({ path }, id)
}

interface FormAnswer {
  key?: string
  errors?: FieldErrors
  status?: number
  above?: Html
}

interface FormView<Services> extends FormAnswer {
  operation: Operation<Services>
  given: Record<string, string>
  names: readonly string[]
  back: Back
  isStale: boolean
  key: string
  values: Texts
}

function formView<Services>({
  operation,
  given,
  names,
  back,
  isStale,
  key,
  values,
  errors = {},
  status,
  above,
}: FormView<Services>): Shown {
  const { summary, danger } = operation
  const label = titled(verbOf(operation))
  const url = formPath(operation, given)
  const again = `/sign-in?${new URLSearchParams({ again: 'yes', next: url }).toString()}`
  const canPreview = danger !== undefined && secretFields(operation.output).length === 0
  const hasErrors = Object.keys(errors).length > 0
  return {
    title: hasErrors ? `Error: ${summary}` : summary,
    ...(status !== undefined && { status }),
    top: above,
    head: { title: summary, above: [back], shortTitle: label },
    main: html`<section class="card form-card" aria-label="${summary}"><form class="card-body stack" method="post" action="${url}" novalidate>
${formErrors('Nothing was changed.', errors)}${hidden('key', key)}${
  Object.keys(given).length > 0 &&
  facts(
    Object.entries(given).map(([name, value]) => ({
      label: titled(name),
      value: html`<span class="mono break">${value}</span>`,
    })),
  )
}${names.map((name) => inputField(operation, name, { values, errors }))}
${danger !== undefined && notice({ tone: 'warning', title: 'You cannot take this back.', text: danger })}
${
  isStale
    ? html`${notice({ tone: 'info', title: 'Sign in again first.', text: 'What cannot be taken back needs a sign-in of the last 15 minutes. You come back to this form.' })}<div class="row"><a class="button primary" href="${again}">Sign in again</a><a class="button quiet" href="${back.url}">Cancel</a></div>`
    : html`<div class="row"><button class="button ${danger === undefined ? 'primary' : 'danger primary'}" type="submit" name="do" value="perform">${label}</button>${canPreview && html`<button class="button" type="submit" name="do" value="preview">Preview</button>`}<a class="button quiet" href="${back.url}">Cancel</a></div>`
}
</form></section>`,
  }
}

/** The page on which a webhook endpoint is added. Its secret is the answer to the form. */
import { randomUUID } from 'node:crypto'
import type { TSchema } from 'typebox'
import { idempotencyKeyPattern } from '../../edge/http/contract.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { type EventType, eventTypeNames, eventTypes } from '../../webhooks/events/event-types.ts'
import { webhooksCreate } from '../../webhooks/operations.ts'
import {
  card,
  choicesField,
  chosenBoxes,
  code,
  type FieldErrors,
  formErrors,
  hidden,
  pageHead,
  secretOnce,
  submit,
  table,
  textField,
} from '../components.ts'
import { type Html, html } from '../html.ts'
import { dashboardPage, type Fields, type PagesContext, type View } from '../page.ts'
import { verifySnippets } from './verify-snippets.ts'
import { endpointPath, webhooksPath } from './webhook-words.ts'

/** Made once, because the types never change. */
const eventDataCard: Html = card({
  title: 'Data of each event',
  text: 'The body of a delivery has these fields as data, beside its id, type and time.',
  isFlush: true,
  body: eventTypeNames.map(typeFold),
})

function typeFold(name: EventType): Html {
  const { data, example, meaning } = eventTypes[name]
  const fields = Object.entries<TSchema>(data.properties).map(([field, schema]) => ({
    field,
    ...factsOf(schema),
  }))
  return html`<details class="fold"><summary>${name}</summary><div class="card-body stack"><p class="muted">${meaning}</p>${table<
    (typeof fields)[number]
  >({
    label: `Data of ${name}`,
    rows: fields,
    columns: [
      { head: 'Field', cell: ({ field }) => html`<code>${field}</code>` },
      { head: 'Type', cell: ({ type }) => type },
      { head: 'Meaning', priority: 2, cell: ({ meaning }) => meaning },
    ],
  })}${code({
    id: `example-${name.replace('.', '-')}`,
    label: 'Example',
    text: JSON.stringify(example, null, 2),
    isShort: true,
  })}</div></details>`
}

/** What the table reads of a JSON Schema. */
interface Shape {
  type?: string
  format?: string
  enum?: readonly string[]
  anyOf?: readonly Shape[]
  items?: Shape
  description?: string
}

function factsOf(schema: TSchema): { type: string; meaning: string } {
  const shape = schema as Shape
  const [first] = shape.anyOf ?? []
  return { type: typeOf(shape), meaning: shape.description ?? first?.description ?? '' }
}

function typeOf({ type = '', format, enum: words, anyOf, items }: Shape): string {
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ')
  if (words !== undefined) return words.join(' | ')
  if (items !== undefined) return `list of ${typeOf(items)}`
  return format ?? type
}

const path = `${webhooksPath}/new`
const keyForm = new RegExp(idempotencyKeyPattern)

export function newWebhookPage(options: PagesContext): Endpoint[] {
  return dashboardPage(options, {
    name: 'newWebhookPage',
    path,
    entry: webhooksPath,
    show: async () =>
      formView({ url: '', description: '', events: eventTypeNames, key: randomUUID() }),
    actions: {
      async create({ perform, session }, fields) {
        const form = formOf(fields)
        const { url, events, description, key } = form
        const input = {
          account: session.accountId,
          url: url.trim(),
          // The operation names a box that is no event type.
          events: events as EventType[],
          ...(description === '' ? {} : { description }),
        }
        const created = await perform(webhooksCreate, input, {
          idempotencyKey: key,
        })
        if ('refusal' in created) return refusedView(form, created, options)
        const { endpoint, signingSecret } = created.output
        return {
          title: 'Your signing secret',
          status: 201,
          main: secretOnce({
            title: 'Your signing secret',
            label: 'Signing secret',
            value: signingSecret,
            text: 'The endpoint receives from now on. Each delivery is signed with this secret: verify it before you use the body.',
            more: verifySnippets,
            done: endpointPath(endpoint.id),
          }),
        }
      },
    },
  })
}

function refusedView(
  form: Form,
  { refusal, message = '' }: Refusal,
  { services: { webhooks } }: PagesContext,
): View | Refusal {
  if (refusal === 'invalid_field') return refused(form, errorsOf(message, form.url.trim()), 400)
  if (refusal === 'webhooks_not_configured')
    return refused(
      form,
      { form: 'This service keeps no webhook secrets. Its operator sets SECRETS_KEYRING.' },
      503,
    )
  if (refusal === 'webhook_endpoints_maximum')
    return refused(
      form,
      {
        form: `The account has ${webhooks.activeMax} active endpoints, which is the maximum. Disable one first.`,
      },
      409,
    )
  if (refusal !== 'idempotency_key_reused') return refuse(refusal)
  return refused(
    { ...form, key: randomUUID() },
    {
      form: 'This form was sent before with other content. Send it again to add a second endpoint.',
    },
    409,
  )
}

interface Form {
  url: string
  description: string
  events: readonly string[]
  /** Idempotency-Key: a form that is sent twice makes one endpoint. */
  key: string
}

function formOf(fields: Fields): Form {
  const { url = '', description = '', key = '' } = fields
  return {
    url,
    description: description.trim(),
    events: chosenBoxes(fields, 'events'),
    key: keyForm.test(key) ? key : randomUUID(),
  }
}

const shownMax = 100

/** `fault` begins with the name of its field. The error of a URL quotes it. */
function errorsOf(fault: string, url: string): FieldErrors {
  const [, name = '', rest = ''] = /^(\w+)\S* (.*)$/s.exec(fault) ?? []
  if (name === 'events') return { events: 'Choose at least one event type.' }
  if (name === 'description') return { description: `The description ${rest}` }
  if (url === '') return { url: 'Enter the URL of your server that receives the events.' }
  const shown = url.length > shownMax ? `${url.slice(0, shownMax)}…` : url
  return { url: `“${shown}” ${rest}` }
}

function refused(form: Form, errors: FieldErrors, status: number): View {
  return { ...formView(form, errors), status }
}

function formView({ url, description, events, key }: Form, errors: FieldErrors = {}): View {
  const isRefused = Object.keys(errors).length > 0
  return {
    title: isRefused ? 'Error: add endpoint' : 'Add endpoint',
    main: html`${pageHead({
      title: 'Add endpoint',
      above: [{ title: 'Webhooks', url: webhooksPath }],
    })}
<section class="card form-card" aria-label="Endpoint"><form class="card-body stack" method="post" action="${path}" novalidate>
${formErrors('The endpoint was not added.', errors)}${hidden('do', 'create')}${hidden('key', key)}
${textField({
  name: 'url',
  label: 'URL',
  type: 'url',
  value: url,
  isRequired: true,
  lengthMax: 2_048,
  error: errors.url,
  help: 'An https URL on a public host, such as https://hooks.example.com/assay.',
})}
${textField({
  name: 'description',
  label: 'Description (optional)',
  value: description,
  lengthMax: 120,
  error: errors.description,
  help: 'Only your team sees it.',
})}
${choicesField({
  name: 'events',
  label: 'Events',
  kind: 'box',
  chosen: events,
  error: errors.events,
  help: html`<a href="/docs/webhook-events">What each event holds</a>`,
  choices: eventTypeNames.map((name) => ({
    value: name,
    label: html`<code>${name}</code>`,
    help: eventTypes[name].meaning,
  })),
})}
<div class="row">${submit({ label: 'Add endpoint', kind: 'primary' })}<a class="button quiet" href="${webhooksPath}">Cancel</a></div>
</form></section>
<div class="form-card">${eventDataCard}</div>`,
  }
}

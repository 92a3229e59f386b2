/** The page of the account's webhook endpoints, and the one on which an endpoint is added. */

import { randomUUID } from 'node:crypto'
import { type TSchema } from 'typebox'
import { idempotencyKeyPattern } from '../../edge/http/contract.ts'
import { type Endpoint } from '../../edge/http/endpoint.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { type EndpointHealth, findEndpointHealth } from '../../webhooks/api.ts'
import { retrySpan } from '../../webhooks/delivery/retry.ts'
import { type EventType, eventTypeNames, eventTypes } from '../../webhooks/events/event-types.ts'
import { webhooksCreate } from '../../webhooks/operations.ts'
import {
  card,
  choicesField,
  chosenBoxes,
  code,
  empty,
  type FieldErrors,
  formErrors,
  hidden,
  none,
  secretOnce,
  submit,
  table,
  textField,
} from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { dashboardPage, type Fields, type PagesContext, type View } from '../page.ts'
import { count, counted, timeTag } from '../text.ts'
import { verifySnippets } from './verify-snippets.ts'
import { endpointPath, stateBadge, urlText, webhooksPath } from './webhook-words.ts'

const newPath = `${webhooksPath}/new`

export function webhooksPage(context: PagesContext): Endpoint[] {
  const span = retrySpan(context.retryWaitsSeconds)
  return dashboardPage(context, {
    path: webhooksPath,
    results: {
      positive: {
        disabled:
          'The endpoint is disabled. Nothing more is sent to it. You can enable it again for 30 days.',
      },
    },
    async show({ session, now }) {
      const all = await findEndpointHealth(context.db, { userId: session.accountId }, now)
      const active = all.filter(({ disabledAt }) => disabledAt === null)
      const disabled = all.filter(({ disabledAt }) => disabledAt !== null)
      const add = html`<a class="button primary" href="${newPath}">${icon('plus')}Add endpoint</a>`
      return {
        title: 'Webhooks',
        head: {
          text: 'Your server gets an event when a score, a credential, a dispute or a consent changes.',
          actions: active.length > 0 && add,
        },
        main: html`${card({
          title: 'Endpoints',
          isFlush: true,
          body:
            active.length === 0
              ? nothingYet(add, { hasDisabled: disabled.length > 0, span })
              : endpointTable('Endpoints', active, now),
        })}
${
  disabled.length > 0 &&
  card({
    title: 'Disabled',
    text: 'A disabled endpoint is deleted after 30 days.',
    isFlush: true,
    body: endpointTable('Disabled', disabled, now),
  })
}`,
      }
    },
  })
}

function nothingYet(
  action: Part,
  { hasDisabled, span }: { hasDisabled: boolean; span: string },
): Html {
  return empty({
    icon: 'hook',
    title: hasDisabled ? 'No active endpoint' : 'No endpoint yet',
    text: `Add the URL of your server. Each event is signed, and is sent again for ${span} until your server takes it.`,
    action,
  })
}

function endpointTable(label: string, rows: readonly EndpointHealth[], now: Date): Html {
  const last = ({ lastSuccessAt, lastFailureAt }: EndpointHealth) => {
    const times = [lastSuccessAt, lastFailureAt].filter((time) => time !== null)
    return times.length === 0 ? null : new Date(Math.max(...times.map(Number)))
  }
  return table<EndpointHealth>({
    label,
    rows,
    columns: [
      {
        head: 'Endpoint',
        cell: (row) =>
          html`<a class="break strong" href="${endpointPath(row.id)}">${urlText(row.url)}</a><span class="sub break" dir="auto">${row.description ?? counted(row.eventTypes.length, 'event type')}</span><span class="sub narrow-only">${stateBadge(row, now)}</span>`,
      },
      { head: 'State', priority: 2, isFit: true, cell: (row) => stateBadge(row, now) },
      {
        head: 'Events',
        priority: 3,
        isNumber: true,
        cell: ({ eventTypes }) => count(eventTypes.length),
      },
      { head: 'Waiting', priority: 3, isNumber: true, cell: ({ waiting }) => count(waiting) },
      {
        head: 'Last attempt',
        isNumber: true,
        priority: 2,
        cell: (row) => {
          const time = last(row)
          return time === null ? none : timeTag(time, now)
        },
      },
    ],
  })
}

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

const keyForm = new RegExp(idempotencyKeyPattern)

export function newWebhookPage(options: PagesContext): Endpoint[] {
  return dashboardPage(options, {
    path: newPath,
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
    head: { title: 'Add endpoint', above: [{ title: 'Webhooks', url: webhooksPath }] },
    main: html`<section class="card form-card" aria-label="Endpoint"><form class="card-body stack" method="post" action="${newPath}" novalidate>
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

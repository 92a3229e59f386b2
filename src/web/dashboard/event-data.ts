/** Pure: the data of each event type: its fields, and an example. */
import type { TSchema } from 'typebox'
import { type EventType, eventTypeNames, eventTypes } from '../../webhooks/events/event-types.ts'
import { card, code, table } from '../components.ts'
import { type Html, html } from '../html.ts'

/** Made once, because the types never change. */
export const eventDataCard: Html = card({
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

/** The page of one record: its facts, the lists that belong to it, and the actions on it. */

import { type Operation } from '../../operations/operation.ts'
import { type OperationCaller } from '../../operations/perform.ts'
import { type Refusal, refuse } from '../../platform/http/errors.ts'
import { card, pageHead } from '../components.ts'
import { html, type Part } from '../html.ts'
import { type Shown } from '../page.ts'
import {
  actionLinks,
  type Console,
  callerOf,
  doneNotice,
  doneParameters,
  messageOf,
  type Visiting,
} from './console.ts'
import { isRequired } from './form.ts'
import { rowLinks } from './list-page.ts'
import { mayCall, type Noun, type Nouns, singular, titled, verbOf, viewPath } from './nouns.ts'
import {
  factsTitle,
  idPart,
  nameOf,
  recordCards,
  recordOf,
  rowsOf,
  rowsTable,
  stateBadge,
} from './values.ts'

/** Rows of a list on the page of a record. */
const partLength = 10

/** The page of one record: its facts, the lists that belong to it, and the actions on it. */
export async function recordShown<Services>(
  console: Console<Services>,
  visit: Visiting,
  noun: Noun<Services>,
): Promise<Shown> {
  const { nouns } = console
  const { show, key } = noun
  if (show === null || key === null) return refuse('not_found')
  const id = visit.path.record ?? ''
  const shown = await console.perform(visit, show, { [key]: id })
  if ('refusal' in shown) return missingRecord(noun, visit, shown)
  const record = recordOf(shown.output)
  const caller = callerOf(visit.session)
  const name = nameOf(record)
  const isNamed = name !== null && (Reflect.get(record, key) === name || 'name' in record)
  const title =
    name === null
      ? `${singular(noun.title)} ${id.slice(-8)}`
      : isNamed
        ? name
        : `${singular(noun.title)}: ${name}`
  const state: unknown = Reflect.get(record, 'state') ?? Reflect.get(record, 'status')
  return {
    title,
    main: html`${await doneNotice(console, visit)}${pageHead({
      title,
      badge: typeof state === 'string' && stateBadge(state),
      text: title !== id && idPart(id),
      above: [{ title: noun.title, url: noun.path }],
      actions: actionLinks(recordActions(nouns, { noun, record }, caller), { [key]: id }, noun),
    })}${recordCards(record, { nouns, now: visit.now, title: factsTitle, hides: ['id', key] })}${await recordParts(console, visit, { noun, key, id })}`,
  }
}

/** A change may have removed the record: its list says so. */
export function missingRecord<Services>(
  noun: Noun<Services>,
  { query }: Visiting,
  refusal: Refusal,
): Shown {
  if (query[doneParameters.name] !== undefined)
    return { redirectTo: `${noun.path}?${new URLSearchParams(query).toString()}` }
  return refusal.refusal === 'invalid_field' ? refuse('not_found') : refusal
}

/** Actions on a record, first those of its own noun. */
export function recordActions<Services>(
  nouns: Nouns<Services>,
  { noun, record }: { noun: Noun<Services>; record: object },
  caller: OperationCaller,
): Operation<Services>[] {
  const all = [...noun.changes, ...[...nouns.values()].flatMap(({ changes }) => changes)]
  return [...new Set(all)].filter(
    (one) =>
      Object.keys(one.path)[0] === noun.key &&
      mayCall(one, caller) &&
      (!noun.changes.includes(one) || (one.when?.(record) ?? true)),
  )
}

/** The lists of all nouns that belong to one record, by the name of its parameter. */
export async function recordParts<Services>(
  console: Console<Services>,
  visit: Visiting,
  { noun, key, id }: { noun: Noun<Services>; key: string; id: string },
): Promise<Part> {
  const { nouns } = console
  const caller = callerOf(visit.session)
  const parts = [...nouns.values()].flatMap((other) =>
    [other.main ?? [], ...other.views]
      .flat()
      .filter((one) => one !== noun.main && mayCall(one, caller) && belongsTo(one, key))
      .map((one) => ({ other, one })),
  )
  // First the lists that have pages of their own, then histories.
  parts.sort((a, b) => Number(b.one === b.other.main) - Number(a.one === a.other.main))
  return Promise.all(
    parts.map(async ({ other, one }) => {
      const limit = 'limit' in one.input ? { limit: partLength } : {}
      const read = await console.perform(visit, one, { [key]: id, ...limit })
      const isOfNoun = one === other.main || verbOf(one) === 'show'
      const ofList = isOfNoun ? other.title : titled(one.name)
      const title = other === noun ? titled(verbOf(one)) : ofList
      if ('refusal' in read) return card({ title, body: messageOf(read) })
      if (one.columns === undefined)
        return recordCards(recordOf(read.output), { nouns, now: visit.now, title, hides: [key] })
      const rows = rowsOf(read.output)
      const isLong = Reflect.get(read.output, 'next') != null
      return card({
        title,
        isFlush: true,
        aside:
          isLong &&
          html`<a class="small" href="${viewPath(other, one, { [key]: id })}">Show all</a>`,
        body:
          rows.length === 0
            ? html`<p class="card-body muted">None.</p>`
            : rowsTable(
                one,
                { rows, ...rowLinks(nouns, { noun: other, operation: one }, caller) },
                { nouns, now: visit.now, hides: [key] },
              ),
      })
    }),
  )
}

/** Whether the read needs nothing but the record. */
function belongsTo<Services>(operation: Operation<Services>, key: string): boolean {
  const { path, input } = operation
  const names = Object.keys(path)
  const isOfPath = names.length === 1 && names[0] === key
  const isFiltered = names.length === 0 && key in input && operation.columns !== undefined
  const needed = Object.keys({ ...path, ...input }).filter((name) => isRequired(operation, name))
  return (isOfPath || isFiltered) && needed.every((name) => name === key)
}

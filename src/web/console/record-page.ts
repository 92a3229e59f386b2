/** The page of one record: its facts, the lists that belong to it, and the actions on it. */
import { type Operation } from '../../operations/operation.ts'
import { type OperationCaller } from '../../operations/perform.ts'
import { type Refusal, refusalText, refuse } from '../../platform/errors.ts'
import { card } from '../components.ts'
import { html, type Part } from '../html.ts'
import { type Shown } from '../page.ts'
import {
  actionLinks,
  type Console,
  callerOf,
  doneNotice,
  doneParameter,
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
  // The lists need only the id, so they are read beside the record.
  const [shown, parts, done] = await Promise.all([
    console.perform(visit, show, { [key]: id }),
    recordParts(console, visit, { noun, key, id }),
    doneNotice(console, visit),
  ])
  if ('refusal' in shown) return missingRecord(noun, visit, shown)
  const record = flatRecord(recordOf(shown.output), key)
  const caller = callerOf(visit.session)
  const name = nameOf(record)
  const isNamed = name !== null && (Reflect.get(record, key) === name || 'name' in record)
  const title =
    name === null
      ? `${singular(noun.title)} ${id.slice(-8)}`
      : isNamed
        ? name
        : `${singular(noun.title)}: ${name}`
  // A list of the record that follows with its own actions is not shown twice.
  const listed = listsOf(nouns, { noun, key }, caller).flatMap(({ one }) =>
    one.columns === undefined ? [] : Object.keys(one.output.properties),
  )
  const state: unknown = Reflect.get(record, 'state') ?? Reflect.get(record, 'status')
  return {
    title,
    top: done,
    head: {
      badge: typeof state === 'string' && stateBadge(state),
      text: title !== id && idPart(id),
      above: [{ title: noun.title, url: noun.path }],
      actions: actionLinks(recordActions(nouns, { noun, record }, caller), { [key]: id }, noun),
    },
    main: html`${recordCards(record, { nouns, now: visit.now, title: factsTitle, hides: ['id', key, ...listed] })}${parts}`,
  }
}

/** The output may hold the record under the name of its parameter, and facts about it beside. */
function flatRecord(record: object, key: string): object {
  const inner: unknown = Reflect.get(record, key)
  if (typeof inner !== 'object' || inner === null) return record
  const { [key]: _, ...others } = record as Record<string, unknown>
  return { ...inner, ...others }
}

/** A change may have removed the record: its list says so. */
export function missingRecord<Services>(
  noun: Noun<Services>,
  { query }: Visiting,
  refusal: Refusal,
): Shown {
  if (query[doneParameter] !== undefined)
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

/** The reads of all nouns that belong to one record, by the name of its parameter. */
function listsOf<Services>(
  nouns: Nouns<Services>,
  { noun, key }: { noun: Noun<Services>; key: string },
  caller: OperationCaller,
) {
  const all = [...nouns.values()].flatMap((other) =>
    [other.main ?? [], ...other.views]
      .flat()
      .filter((one) => one !== noun.main && mayCall(one, caller) && belongsTo(one, key))
      .map((one) => ({ other, one })),
  )
  // First the lists that have pages of their own, then histories.
  return all.toSorted((a, b) => Number(b.one === b.other.main) - Number(a.one === a.other.main))
}

export async function recordParts<Services>(
  console: Console<Services>,
  visit: Visiting,
  { noun, key, id }: { noun: Noun<Services>; key: string; id: string },
): Promise<Part> {
  const { nouns } = console
  const caller = callerOf(visit.session)
  const cards = await Promise.all(
    listsOf(nouns, { noun, key }, caller).map(async ({ other, one }) => {
      const limit = 'limit' in one.input ? { limit: partLength } : {}
      const read = await console.perform(visit, one, { [key]: id, ...limit })
      const isOfNoun = one === other.main || /^(show|list)$/.test(verbOf(one))
      const ofList = isOfNoun ? other.title : titled(one.name)
      const title = other === noun ? titled(verbOf(one)) : ofList
      if ('refusal' in read) return { title, body: card({ title, body: refusalText(read) }) }
      const showing = { nouns, now: visit.now, hides: [key] }
      if (one.columns === undefined)
        return { title, body: recordCards(recordOf(read.output), { ...showing, title }) }
      const rows = rowsOf(read.output)
      if (rows.length === 0) return { title, body: null }
      const isLong = Reflect.get(read.output, 'next') != null
      const links = rowLinks(nouns, { noun: other, operation: one }, caller)
      const body = card({
        title,
        isFlush: true,
        aside:
          isLong &&
          html`<a class="small" href="${viewPath(other, one, { [key]: id })}">Show all</a>`,
        body: rowsTable(one, { rows, ...links }, showing),
      })
      return { title, body }
    }),
  )
  const empty = cards.filter(({ body }) => body === null).map(({ title }) => title)
  return html`${cards.map(({ body }) => body)}${empty.length > 0 && html`<p class="small muted">Empty: ${empty.join(', ')}.</p>`}`
}

/** Whether the read needs nothing but the record. One with a limit of its own is for its own page. */
function belongsTo<Services>(operation: Operation<Services>, key: string): boolean {
  const { path, input, refusals } = operation
  if (refusals.includes('rate_limited')) return false
  const names = Object.keys(path)
  const isOfPath = names.length === 1 && names[0] === key
  const isFiltered = names.length === 0 && key in input && operation.columns !== undefined
  const needed = Object.keys({ ...path, ...input }).filter((name) => isRequired(operation, name))
  return (isOfPath || isFiltered) && needed.every((name) => name === key)
}

/** The page of a list, and of every other read without a record, made from its operation. */

import { type Operation } from '../../operations/operation.ts'
import { type OperationCaller } from '../../operations/perform.ts'
import { valuesOfTexts } from '../../operations/text-input.ts'
import { errorTable, refuse } from '../../platform/http/errors.ts'
import { card, empty, formErrors, pageHead, pagination, submit } from '../components.ts'
import { attributes, type Html, html, type Part } from '../html.ts'
import { type Shown } from '../page.ts'
import { counted } from '../text.ts'
import {
  actionLinks,
  type Console,
  callerOf,
  doneNotice,
  refusalErrors,
  type Visiting,
} from './console.ts'
import { inputField, isRequired, textsOf } from './form.ts'
import {
  formPath,
  mayCall,
  type Noun,
  type Nouns,
  pathOf,
  recordPath,
  titled,
  verbOf,
  viewPath,
} from './nouns.ts'
import { recordCards, recordOf, rowsOf, rowsTable, type Showing } from './values.ts'

/** Rows of one page. */
const pageLength = 50

/** The page of a list, or of any other read without a record. */
export async function listShown<Services>(
  console: Console<Services>,
  visit: Visiting,
  { noun, operation }: { noun: Noun<Services>; operation: Operation<Services> | null },
): Promise<Shown> {
  const caller = callerOf(visit.session)
  if (operation === null) return nounShown(console, visit, noun)
  if (!mayCall(operation, caller)) return refuse('operator_role_required')
  const names = filterNames(operation)
  const texts = textsOf(operation, names, visit.query)
  const { after } = visit.query
  const isAsked = names.every((name) => !isRequired(operation, name) || texts[name] !== undefined)
  const read = isAsked
    ? await console.perform(visit, operation, {
        ...valuesOfTexts(operation, texts),
        ...('limit' in operation.input && { limit: pageLength }),
        ...('after' in operation.input && after !== undefined && { after }),
      })
    : null
  const refusal = read !== null && 'refusal' in read ? read : null
  const errors = refusal === null ? {} : refusalErrors(names, refusal)
  const output = read !== null && 'output' in read ? read.output : null
  const isMain = operation === noun.main
  const title = isMain ? noun.title : withoutVerb(operation.summary)
  const filter =
    names.length > 0 &&
    html`${formErrors('', 'form' in errors ? { form: errors.form ?? '' } : {})}<form class="filters" method="get" novalidate>${names.map((name) => inputField(operation, name, { values: texts, errors, isFilter: true }))}${submit({ label: isMain ? 'Apply' : 'Show' })}${names.some((name) => visit.query[name] !== undefined) && html`<a class="button quiet" href="${viewPath(noun, operation)}">Clear filters</a>`}</form>`
  return {
    title,
    ...(refusal !== null && { status: errorTable[refusal.refusal].status }),
    main: html`${await doneNotice(console, visit)}${pageHead({
      title,
      ...(isMain
        ? { text: withoutVerb(operation.summary) }
        : { above: [{ title: noun.title, url: noun.path }] }),
      actions: isMain && actionLinks(looseActions(noun, caller), {}, noun),
    })}${viewLinks(noun, operation, caller)}${
      operation.columns === undefined
        ? html`${filter !== false && card({ title: 'Choose', body: filter })}${output !== null && resultCards(operation, output, { nouns: console.nouns, now: visit.now })}`
        : html`<section class="card" aria-label="${title}"><h2 class="hidden-visually">${title}</h2>${filter}${output !== null && listBody(console, visit, { noun, operation, output })}</section>`
    }`,
  }
}

/** The names that a visitor may choose by. Others in the address are not kept. */
function filterNames<Services>({ path, input }: Operation<Services>): string[] {
  return Object.keys({ ...path, ...input }).filter((name) => !['limit', 'after'].includes(name))
}

/** `Show every source` is the page `Every source`. */
function withoutVerb(summary: string): string {
  const rest = summary.replace(/^Show (the )?/, '')
  return rest.charAt(0).toUpperCase() + rest.slice(1)
}

function listBody<Services>(
  { nouns }: Console<Services>,
  { session, now, query }: Visiting,
  {
    noun,
    operation,
    output,
  }: { noun: Noun<Services>; operation: Operation<Services>; output: object },
): Html {
  const rows = rowsOf(output)
  if (rows.length === 0)
    return empty({
      icon: 'list',
      title: 'Nothing here',
      text: (operation.none ?? 'There is none.').replace(/ Run `[^`]+`\.$/, ''),
    })
  const links = rowLinks(nouns, { noun, operation }, callerOf(session))
  const table = rowsTable(operation, { rows, ...links }, { nouns, now, hides: [] })
  const { next } = output as { next?: string | null }
  const chosen = Object.fromEntries(
    filterNames(operation).flatMap((name) => {
      const value = query[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const first = viewPath(noun, operation, chosen)
  const step = next == null ? undefined : viewPath(noun, operation, { ...chosen, after: next })
  const isPaged = step !== undefined || query.after !== undefined
  return html`${table}${
    isPaged &&
    pagination({
      summary: counted(rows.length, 'row'),
      newer: query.after === undefined ? undefined : first,
      older: step,
      labels: ['First page', 'Next page'],
    })
  }`
}

/** The page of each row, or its actions if the noun has no such page. */
export function rowLinks<Services>(
  nouns: Nouns<Services>,
  { noun, operation }: { noun: Noun<Services>; operation: Operation<Services> },
  caller: OperationCaller,
) {
  const { show, key } = noun
  const urlOf = (row: object): string | null => {
    const id: unknown = Reflect.get(row, key ?? '') ?? Reflect.get(row, 'id')
    return show !== null && typeof id === 'string' ? recordPath(noun, id) : null
  }
  const own = [...nouns.values()]
    .flatMap(({ changes }) => changes)
    .filter((one) => listOf(one) === operation.name && mayCall(one, caller))
  const linksOf = (row: object) =>
    own.flatMap((one) => {
      const given = pathOf(one, row, operation.name)
      return given !== null && (one.when?.(row) ?? true) ? [{ one, given }] : []
    })
  const actionsOf = (row: object): Part =>
    html`<div class="row">${linksOf(row).map(
      ({ one, given }) =>
        html`<a class="button small quiet" href="${formPath(one, given)}">${titled(verbOf(one))}</a>`,
    )}</div>`
  return { urlOf, actionsOf: show === null && own.length > 0 ? actionsOf : undefined }
}

/** Returns the operation whose list shows the ids that the action needs, or null. */
function listOf<Services>({ path }: Operation<Services>): string | null {
  const [schema] = Object.values(path)
  const name: unknown = schema === undefined ? null : Reflect.get(schema, 'x-shown-by')
  return typeof name === 'string' ? name : null
}

/** Actions of a noun that neither a record nor a row of it leads to, such as those that create one. */
function looseActions<Services>(
  { changes, key, main, views }: Noun<Services>,
  caller: OperationCaller,
): Operation<Services>[] {
  const lists = new Set([main?.name, ...views.map(({ name }) => name)])
  return changes.filter((one) => {
    const [first] = Object.keys(one.path)
    const isReached = first !== undefined && (first === key || lists.has(listOf(one) ?? ''))
    return !isReached && mayCall(one, caller)
  })
}

/** The page of a noun without a list: what it can show and do. */
async function nounShown<Services>(
  console: Console<Services>,
  visit: Visiting,
  noun: Noun<Services>,
): Promise<Shown> {
  const caller = callerOf(visit.session)
  const links = [
    ...noun.views.map((one) => ({ one, url: viewPath(noun, one) })),
    ...noun.changes.map((one) => ({ one, url: formPath(one) })),
  ].filter(({ one }) => mayCall(one, caller))
  return {
    title: noun.title,
    main: html`${await doneNotice(console, visit)}${pageHead({ title: noun.title })}
${card({
  title: 'What you can do',
  body: html`<ul class="plain-list stack tight">${links.map(({ one, url }) => html`<li><a href="${url}">${one.summary}</a></li>`)}</ul>`,
})}`,
  }
}

/** Links to the other reads of a noun. */
function viewLinks<Services>(
  noun: Noun<Services>,
  current: Operation<Services>,
  caller: OperationCaller,
): Part {
  const all = [noun.main ?? [], ...noun.views].flat().filter((one) => mayCall(one, caller))
  if (all.length < 2) return false
  const nameOfView = (one: Operation<Services>) =>
    one === noun.main ? 'All' : titled(verbOf(one).replace(/^list-/, ''))
  return html`<nav class="row" aria-label="Views of ${noun.title}">${all.map(
    (one) =>
      html`<a class="tag" href="${viewPath(noun, one)}"${attributes({ 'aria-current': one === current && 'page' })}>${nameOfView(one)}</a>`,
  )}</nav>`
}

/** The answer of a read that is no list: its sentences, or its facts. */
function resultCards<Services>(
  operation: Operation<Services>,
  output: object,
  showing: Showing<Services>,
): Html {
  return recordCards(recordOf(output), { ...showing, title: titled(operation.name), hides: [] })
}

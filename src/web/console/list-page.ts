/** The page of a list, and of every other read without a record, made from its operation. */
import { type Operation } from '../../operations/operation.ts'
import { type OperationCaller } from '../../operations/perform.ts'
import { valuesOfTexts } from '../../operations/text-input.ts'
import { errorTable, refuse } from '../../platform/errors.ts'
import { card, empty, formErrors, pagination, submit } from '../components.ts'
import { attributes, type Html, html, type Part } from '../html.ts'
import { type Shown } from '../page.ts'
import { counted } from '../text.ts'
import {
  actionLinks,
  actionText,
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
import { recordCards, recordOf, rowsOf, rowsTable } from './values.ts'

/** Rows of one page. */
const pageLength = 50

interface ListOptions<Services> {
  noun: Noun<Services>
  operation: Operation<Services> | null
  /** What a page by hand has in the place of the declared parts. */
  byHand?: {
    title: string
    text: string
    actions: Part
    above: Part
    table(rows: readonly object[]): Html
  }
}

/** The page of a list, or of any other read without a record. */
export async function listShown<Services>(
  console: Console<Services>,
  visit: Visiting,
  { noun, operation, byHand }: ListOptions<Services>,
): Promise<Shown> {
  const caller = callerOf(visit.session)
  if (operation === null) return nounShown(console, visit, noun)
  if (!mayCall(operation, caller)) return refuse('operator_role_required')
  const { path, input, columns, summary } = operation
  // Other parameters of the address are neither sent nor kept.
  const names = Object.keys({ ...path, ...input }).filter((name) => !/^(limit|after)$/.test(name))
  const texts = textsOf(operation, names, visit.query)
  const { after } = visit.query
  const isAsked = names.every((name) => !isRequired(operation, name) || texts[name] !== undefined)
  const read = isAsked
    ? await console.perform(visit, operation, {
        ...valuesOfTexts(operation, texts),
        ...('limit' in input && { limit: pageLength }),
        ...('after' in input && after !== undefined && { after }),
      })
    : undefined
  const refused = read !== undefined && 'refusal' in read ? read : undefined
  const output = read !== undefined && 'output' in read ? read.output : undefined
  const errors = refused === undefined ? {} : refusalErrors(names, refused)
  const isMain = operation === noun.main
  const title = byHand?.title ?? (isMain ? noun.title : withoutVerb(summary))
  const chosen = Object.fromEntries(
    Object.entries(visit.query).filter(([name]) => names.includes(name)),
  )
  const fault = formErrors('', 'form' in errors ? { form: errors.form ?? '' } : {})
  const filter =
    names.length > 0 &&
    html`<form class="card-body filters" method="get" novalidate>${names.map((name) => inputField(operation, name, { values: texts, errors, isFilter: true }))}${submit({ label: isMain ? 'Apply' : 'Show' })}${Object.keys(chosen).length > 0 && html`<a class="button quiet" href="${viewPath(noun, operation)}">Clear filters</a>`}</form>`
  const table = (rows: readonly object[]): Html => {
    const links = rowLinks(console.nouns, { noun, operation }, caller)
    const showing = { nouns: console.nouns, now: visit.now, hides: [] }
    return byHand?.table(rows) ?? rowsTable(operation, { rows, ...links }, showing)
  }
  const list = (output: object): Html => {
    const rows = rowsOf(output)
    const none = (operation.none ?? 'There is none.').replace(/ Run `[^`]+`\.$/, '')
    const text = after === undefined ? none : 'The page before was the last one.'
    const { next = null } = output as { next?: string | null }
    const pageOf = (after: object) => viewPath(noun, operation, { ...chosen, ...after })
    return html`${rows.length === 0 ? empty({ icon: 'list', title: 'Nothing here', text }) : table(rows)}${pagination(
      {
        summary: counted(rows.length, 'row'),
        newer: after !== undefined && pageOf({}),
        older: next !== null && pageOf({ after: next }),
        labels: ['First page', 'Next page'],
      },
    )}`
  }
  const facts = (output: object): Html => {
    const showing = { nouns: console.nouns, now: visit.now, hides: [] }
    return recordCards(recordOf(output), { ...showing, title: titled(operation.name) })
  }
  return {
    title,
    ...(refused !== undefined && { status: errorTable[refused.refusal].status }),
    top: [byHand?.above, await doneNotice(console, visit)],
    head: {
      ...(isMain
        ? { text: byHand?.text ?? withoutVerb(summary) }
        : { above: [{ title: noun.title, url: noun.path }] }),
      actions: byHand?.actions ?? (isMain && actionLinks(looseActions(noun, caller), {}, noun)),
    },
    main: html`${viewLinks(noun, operation, caller)}${
      columns === undefined
        ? html`${fault}${filter !== false && card({ title: 'Choose', isFlush: true, body: filter })}${output !== undefined && facts(output)}`
        : html`<section class="card" aria-label="${title}"><h2 class="hidden-visually">${title}</h2>${fault}${filter}${output !== undefined && list(output)}</section>`
    }`,
  }
}

/** `Show every source` is the page `Every source`. */
function withoutVerb(summary: string): string {
  const rest = summary.replace(/^(Show|List) (the )?/, '')
  return rest.charAt(0).toUpperCase() + rest.slice(1)
}

/** The page of each row, or its actions if the noun has no such page. */
export function rowLinks<Services>(
  nouns: Nouns<Services>,
  { noun, operation }: { noun: Noun<Services>; operation: Operation<Services> },
  caller: OperationCaller,
) {
  const { show, key } = noun
  // The rows of a list of one record, such as the deliveries of an endpoint, are no records.
  const isOfRecord = key !== null && key in operation.path
  const urlOf = (row: object): string | null => {
    const id: unknown = Reflect.get(row, key ?? '') ?? (isOfRecord ? null : Reflect.get(row, 'id'))
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
        html`<a class="button small quiet" href="${formPath(one, given)}">${actionText(one, noun)}</a>`,
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
    top: await doneNotice(console, visit),
    head: {},
    main: card({
      title: 'What you can do',
      body: html`<ul class="stack tight">${links.map(({ one, url }) => html`<li><a href="${url}">${one.summary}</a></li>`)}</ul>`,
    }),
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

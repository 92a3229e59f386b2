/** The audit log of the console, by hand: entries as sentences, and the check of the chain. */

import { actions } from '../../audit/actions.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { errorTable, type Refusal, refuse } from '../../platform/http/errors.ts'
import { visible } from '../../platform/visible.ts'
import {
  actionForm,
  type Column,
  card,
  empty,
  formErrors,
  none,
  notice,
  pageHead,
  pagination,
  selectField,
  shortIdValue,
  submit,
  table,
  textField,
} from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import type { Shown } from '../page.ts'
import { counted, shortId, timeTag } from '../text.ts'
import { type Console, refusalErrors, type Visiting } from './console.ts'
import { auditPath, titled, withQuery, wordsOf } from './nouns.ts'

/** An entry as `audit list` shows it. */
interface Entry {
  seq: number
  at: string
  actor: string
  action: string
  subjects: string
  details: string
}

const pageLength = 50

export function auditPages<Services>(console: Console<Services>): Endpoint[] {
  const noun = console.nouns.get('audit')
  const list = noun?.main ?? null
  const verify = noun?.views.find(({ name }) => name === 'audit verify')
  if (list === null) return []
  const show = async (visit: Visiting, above: Part = false): Promise<Shown> => {
    const { since = '', action = '', after } = visit.query
    const raw = {
      limit: pageLength,
      ...(since !== '' && { since }),
      ...(action !== '' && { action }),
      ...(after !== undefined && { after }),
    }
    const read = await console.perform(visit, list, raw)
    const refusal = 'refusal' in read ? read : null
    const output =
      'output' in read ? (read.output as { entries: Entry[]; next: string | null }) : null
    return {
      title: 'Audit log',
      ...(refusal !== null && { status: errorTable[refusal.refusal].status }),
      main: html`${above}${pageHead({
        title: 'Audit log',
        text: 'Every action of operators, of account members and of the service itself. Each entry holds a digest of the one before.',
        actions:
          verify !== undefined && actionForm(auditPath, 'verify', { label: 'Verify the chain' }),
      })}
${card({
  title: 'Entries',
  isFlush: true,
  body: html`${filterForm({ since, action }, refusal)}${output !== null && entriesBody(output, visit, { since, action })}`,
})}`,
    }
  }
  return console.page({
    name: 'console audit',
    entry: auditPath,
    path: auditPath,
    show: (visit) => show(visit),
    actions: {
      async verify(visit) {
        if (verify === undefined) return refuse('not_found')
        const checked = await console.perform(visit, verify, {})
        return 'refusal' in checked ? checked : show(visit, verdict(checked.output))
      },
    },
  })
}

function verdict(output: object): Html {
  const {
    broken,
    entries = 0,
    head = '',
  } = output as {
    broken?: { seq: number; reason: string }
    entries?: number
    head?: string
  }
  if (broken !== undefined)
    return notice({
      tone: 'negative',
      title: `The log is broken at entry ${broken.seq}: ${broken.reason}.`,
      text: 'The entries before it are as they were written. Nothing is certain from there on.',
      isResult: true,
    })
  return notice({
    tone: 'positive',
    title: `The log is whole: ${counted(entries, 'entry', 'entries')}.`,
    text: html`Keep its head elsewhere, to find out later whether entries were cut off: ${shortIdValue(head)}`,
    isResult: true,
  })
}

function filterForm({ since, action }: { since: string; action: string }, refusal: Refusal | null) {
  const errors = refusal === null ? {} : refusalErrors(['since', 'action'], refusal)
  const choices = [
    { value: '', label: 'Any' },
    ...Object.keys(actions).map((name) => ({ value: name, label: titleOf(name) })),
  ]
  const isFiltered = since + action !== ''
  return html`${formErrors('', 'form' in errors ? { form: errors.form ?? '' } : {})}<form class="filters" method="get" action="${auditPath}" novalidate>${selectField({ name: 'action', label: 'Action', value: action, choices, error: errors.action })}${textField({ name: 'since', label: 'Since', value: since, placeholder: '2026-05-14', error: errors.since })}${submit({ label: 'Apply' })}${isFiltered && html`<a class="button quiet" href="${auditPath}">Clear filters</a>`}</form>`
}

function entriesBody(
  { entries, next }: { entries: readonly Entry[]; next: string | null },
  { query, now }: Visiting,
  chosen: Record<string, string>,
): Html {
  if (entries.length === 0)
    return empty({ icon: 'book', title: 'No entry matches', text: 'Choose fewer filters.' })
  const step = (after: string | null) => {
    const all = Object.entries({ ...chosen, after: after ?? '' }).filter(([, text]) => text !== '')
    return withQuery(auditPath, Object.fromEntries(all))
  }
  return html`${entryTable(entries, now)}${
    (next !== null || query.after !== undefined) &&
    pagination({
      summary: counted(entries.length, 'entry', 'entries'),
      newer: query.after === undefined ? undefined : step(null),
      older: next === null ? undefined : step(next),
      labels: ['First page', 'Next page'],
    })
  }`
}

export function entryTable(entries: readonly Entry[], now: Date): Html {
  const columns: Column<Entry>[] = [
    {
      head: 'Action',
      cell: ({ action, details, actor, at }) =>
        html`<strong title="${meaningOf(action)}">${titleOf(action)}</strong>${detailsOf(details)}<span class="sub narrow-only break">${actor} · ${timeTag(new Date(at), now)}</span>`,
    },
    { head: 'On', priority: 2, cell: ({ subjects }) => subjectsOf(subjects) },
    { head: 'By', priority: 2, cell: ({ actor }) => actorPart(actor) },
    { head: 'Time', priority: 2, isNumber: true, cell: ({ at }) => timeTag(new Date(at), now) },
  ]
  return table({ label: 'Entries of the audit log', rows: entries, columns })
}

function titleOf(action: string): string {
  const [noun = '', verb = ''] = action.split('.')
  return `${titled(noun)}: ${wordsOf(verb)}`
}

/** An entry may have an action that only a newer release knows. */
function meaningOf(action: string): string {
  const known: Readonly<Record<string, { meaning: string }>> = actions
  return known[action]?.meaning ?? ''
}

function detailsOf(details: string): Part {
  const all = Object.entries(JSON.parse(details) as object)
  return (
    all.length > 0 &&
    html`<span class="sub break">${all.map(([name, value]) => `${titled(name)}: ${shortId(visible(String(value)))}`).join(' · ')}</span>`
  )
}

const subjectsShown = 2

function subjectsOf(subjects: string): Part {
  const all = JSON.parse(subjects) as string[]
  if (all.length === 0) return none
  const more = all.length - subjectsShown
  return html`${all.slice(0, subjectsShown).map((one) => html`<div>${shortIdValue(visible(one))}</div>`)}${more > 0 && html`<span class="muted">and ${counted(more, 'more', 'more')}</span>`}`
}

/** An actor such as `operator 0199…`: the kind as a word, and the id with a button to copy it. */
function actorPart(actor: string): Part {
  const [, kind, id] = /^(\w+) ([0-9a-f-]{36})$/.exec(actor) ?? []
  return id === undefined
    ? html`<span class="break">${visible(actor)}</span>`
    : html`${titled(kind ?? '')} ${shortIdValue(id)}`
}

/** The audit log of the console, by hand: entries as sentences, and the check of the chain. */

import { actions } from '../../audit/actions.ts'
import type { Entry } from '../../audit/chain.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { visible } from '../../platform/visible.ts'
import { actionForm, type Column, none, result, shortIdValue, table } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import type { Shown } from '../page.ts'
import { counted, detailText, timeTag } from '../text.ts'
import { type Console, type Visiting } from './console.ts'
import { listShown } from './list-page.ts'
import { auditPath, titled, wordsOf } from './nouns.ts'

export function auditPages<Services>(console: Console<Services>): Endpoint[] {
  const noun = console.nouns.get('audit')
  const verify = noun?.views.find(({ name }) => name === 'audit verify')
  if (noun?.main == null || verify === undefined) return []
  const show = (visit: Visiting, above: Part = false): Promise<Shown> =>
    listShown(console, visit, {
      noun: { ...noun, views: [] },
      operation: noun.main,
      byHand: {
        title: 'Audit log',
        text: 'Every action of operators, of account members and of the service itself. Each entry holds a digest of the one before.',
        actions: actionForm(auditPath, 'verify', { label: 'Verify the chain' }),
        above,
        table: (rows) => entryTable(rows as readonly Entry[], visit.now),
      },
    })
  return console.page({
    entry: auditPath,
    path: auditPath,
    show: (visit) => show(visit),
    actions: {
      async verify(visit) {
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
    return result(
      'negative',
      `The log is broken at entry ${broken.seq}: ${broken.reason}. The entries before it are as they were written. Nothing is certain from there on.`,
    )
  return result(
    'positive',
    `The log is whole: ${counted(entries, 'entry', 'entries')}.`,
    html`Keep its head elsewhere, to find out later whether entries were cut off: ${shortIdValue(head)}`,
  )
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
    html`<span class="sub break">${all.map(([name, value]) => `${titled(name)}: ${visible(detailText(value))}`).join(' · ')}</span>`
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

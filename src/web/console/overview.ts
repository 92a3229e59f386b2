/** The first page of the console, by hand: what needs the operator, and how large the service is. */
import { consolePath } from '../../accounts/sign-in.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { countedMax } from '../../health/api.ts'
import { type Need, type NeedFacts, needsOf } from '../../health/needs.ts'
import type { Survey, Totals } from '../../health/survey.ts'
import {
  badge,
  type Column,
  card,
  empty,
  none,
  type Tile,
  table,
  tiles,
  withCode,
} from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { count, counted, timeTag } from '../text.ts'
import { entryTable } from './audit.ts'
import type { Console, Visiting } from './console.ts'
import { auditPath, recordPath } from './nouns.ts'
import { rowsOf, rowsTable } from './values.ts'

export interface OverviewOptions {
  /** The processes, their jobs and the work that waits, read at most once in ten seconds. */
  state(): Promise<Survey>
  needFacts(): Promise<NeedFacts>
  totals(): Promise<Totals>
}

export function overviewPage<Services>(
  console: Console<Services>,
  { state, needFacts, totals }: OverviewOptions,
): Endpoint[] {
  return console.page({
    path: consolePath,
    async show(visit) {
      const [found, facts, sizes, disputes, entries] = await Promise.all([
        state(),
        needFacts(),
        totals(),
        latest(console, visit, { noun: 'disputes', limit: 5 }),
        latest(console, visit, { noun: 'audit', limit: 8 }),
      ])
      const needs = needsOf(found, facts, visit.now)
      return {
        title: 'Overview',
        head: {
          badge:
            needs.length === 0
              ? badge('positive', 'check', 'All is well')
              : badge('warning', 'alert', counted(needs.length, 'thing to do', 'things to do')),
        },
        main: html`${tiles(tilesOf(sizes))}
<div class="columns half">${needsCard(needs)}${processCard(found, visit.now)}</div>
${disputes !== null && disputesCard(console, disputes, visit.now)}
${entries !== null && card({ title: 'Latest actions', isFlush: true, aside: html`<a class="small" href="${auditPath}">Open the audit log</a>`, body: entryTable(entries as never, visit.now) })}`,
      }
    },
  })
}

/** The first rows of the list of a noun, or null if there is none. */
async function latest<Services>(
  { nouns, perform }: Console<Services>,
  visit: Visiting,
  { noun, limit }: { noun: string; limit: number },
): Promise<readonly object[] | null> {
  const list = nouns.get(noun)?.main
  if (list == null) return null
  const read = await perform(visit, list, { limit })
  return 'output' in read ? rowsOf(read.output) : null
}

function tilesOf({ workers, publicScores, evidence, accounts }: Totals): Tile[] {
  return [
    { label: 'Workers', value: about(workers) },
    { label: 'Public scores', value: about(publicScores) },
    { label: 'Items of evidence', value: about(evidence) },
    { label: 'Accounts', value: about(accounts) },
  ]
}

/** Numbers above the limit of exact counting are estimates. */
function about(value: number): string {
  return value > countedMax ? `≈ ${count(value)}` : count(value)
}

function needsCard(needs: readonly Need[]): Html {
  return card({
    title: 'Needs attention',
    isFlush: needs.length === 0,
    body:
      needs.length === 0
        ? empty({
            icon: 'check',
            title: 'Nothing needs you',
            text: 'Jobs run, and nothing is overdue.',
          })
        : html`<ul class="stack">${needs.map(needLine)}</ul>`,
  })
}

function needLine({ title, text, page }: Need): Html {
  const shown: Part =
    page === undefined ? title : html`<a href="${consolePath}/${page}">${title}</a>`
  return html`<li class="need"><span class="mark" data-tone="warning">${icon('alert')}</span><div><strong>${shown}</strong><p class="small muted break">${withCode(text)}</p></div></li>`
}

function processCard({ live, at }: Survey, now: Date): Html {
  type Process = Survey['live'][number]
  const columns: Column<Process>[] = [
    { head: 'Machine', cell: ({ node }) => html`<strong class="break">${node}</strong>` },
    {
      head: 'Does',
      cell: ({ serves, jobs }) =>
        [serves && 'answers', jobs !== null && 'jobs'].filter(Boolean).join(', ') || none,
    },
    { head: 'Release', priority: 2, cell: ({ release }) => release },
    { head: 'Seen', isNumber: true, cell: ({ seenAt }) => timeTag(seenAt, now) },
  ]
  return card({
    title: 'Processes',
    isFlush: true,
    aside: html`<span class="small muted">as of ${timeTag(at, now)}</span>`,
    body:
      live.length === 0
        ? empty({
            icon: 'info',
            title: 'No process is known',
            text: 'Each one writes its heartbeat every ten seconds.',
          })
        : table({ label: 'Processes', columns, rows: live }),
  })
}

function disputesCard<Services>(
  { nouns }: Console<Services>,
  rows: readonly object[],
  now: Date,
): Html | false {
  const noun = nouns.get('disputes')
  if (noun?.main == null) return false
  const urlOf = (row: object) => recordPath(noun, String(Reflect.get(row, 'id')))
  return card({
    title: 'Disputes due next',
    isFlush: true,
    aside: html`<a class="small" href="${noun.path}">Show all</a>`,
    body:
      rows.length === 0
        ? html`<p class="card-body muted">No dispute is open.</p>`
        : rowsTable(noun.main, { rows, urlOf }, { nouns, now, hides: [] }),
  })
}

/**
 * The state of this service for people. It names no reasons: those are for the operator, who reads
 * `/readyz`.
 */
import type { Clock } from '../../platform/clock.ts'
import type { RateLimits } from '../../platform/http/contract.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { type Html, html } from '../html.ts'
import { type IconName, icon } from '../icons.ts'
import { type PublicView, publicEndpoint, type Site, viewAnswer } from '../public-page.ts'
import { fullTime } from '../text.ts'

export interface Probe {
  isReady: boolean
  /** By name: `ok`, `degraded: REASON`, or the reason why the process is not ready. */
  checks: Record<string, string>
}

/** The background jobs of all processes, and the releases that run. */
export interface ServiceState {
  releases: readonly string[]
  jobs: readonly { name: string; ranAt: Date | null; succeededAt: Date | null; isLate: boolean }[]
}

export interface StatusPageOptions {
  clock: Clock
  probe: () => Promise<Probe>
  /** Read after the probe. Undefined: not known yet. */
  state: () => ServiceState | undefined
}

const limits: RateLimits = { perMinute: 120, perDay: 20_000 }

export function statusPage(site: Site, { clock, probe, state }: StatusPageOptions): Endpoint {
  return publicEndpoint(site, {
    name: 'status page',
    path: '/status',
    limits,
    async answer() {
      const found = await probe()
      return viewAnswer(site, statusView(found, { now: clock(), site, state: state() }))
    },
  })
}

type State = 'works' | 'limited' | 'fails'

interface Look {
  tone: 'positive' | 'warning' | 'negative'
  sign: IconName
  word: string
}

const looks: Record<State, Look> = {
  works: { tone: 'positive', sign: 'check', word: 'Works' },
  limited: { tone: 'warning', sign: 'alert', word: 'Works in part' },
  fails: { tone: 'negative', sign: 'cross', word: 'Does not work' },
}

const summaries: Record<State, { title: string; sentence: string }> = {
  works: { title: 'All systems work', sentence: 'Every part of this service answers.' },
  limited: {
    title: 'This service works',
    sentence: 'Credentials are checked and scores are read. Another part works only in part.',
  },
  fails: {
    title: 'A part of this service does not work',
    sentence:
      'The skill standard and the documentation still answer. Checks of credentials may not.',
  },
}

/** The parts that the checks watch, in the words of their users. */
const parts: Readonly<Record<string, { title: string; text: string }>> = {
  database: { title: 'Registry', text: 'Keeps credentials, scores and their revocation.' },
  schema: { title: 'Schema', text: 'The registry has the form that this release expects.' },
  engine: { title: 'Scoring engine', text: 'Computes scores from evidence.' },
  signing: { title: 'Signing', text: 'Signs new credentials and status lists.' },
  keys: { title: 'API keys', text: 'Lets developers and agents call the service.' },
  payments: { title: 'Payments', text: 'Takes payments for one request, without a key.' },
  jobs: { title: 'Background work', text: 'Computes scores, and sends webhooks and mails.' },
}

function stateOf(answer: string): State {
  if (answer === 'ok') return 'works'
  return answer.startsWith('degraded: ') ? 'limited' : 'fails'
}

function statusView(
  { isReady, checks }: Probe,
  { now, site: { host }, state: whole }: { now: Date; site: Site; state: ServiceState | undefined },
): PublicView {
  const rows = Object.entries(checks).map(([name, answer]) => ({
    name,
    state: stateOf(answer),
  }))
  const isLimited = rows.some(({ state }) => state === 'limited')
  const state: State = !isReady ? 'fails' : isLimited ? 'limited' : 'works'
  const { tone, sign } = looks[isReady ? 'works' : 'fails']
  const { title, sentence } = summaries[state]
  return {
    title,
    description: `The state of the parts of ${host}.`,
    current: '/status',
    main: html`<div class="page-head"><h1>Status of ${host}</h1></div>
<section class="verdict" data-tone="${tone}" data-service="${isReady ? 'works' : 'fails'}" aria-labelledby="status-title">
<div class="verdict-head"><span class="seal">${icon(sign)}</span><div><h2 id="status-title">${title}</h2><p>${sentence}</p></div></div>
<table class="table checks">
<caption class="hidden-visually">The parts of this service and their state</caption>
<thead><tr><th scope="col">Part</th><th scope="col">State</th></tr></thead>
<tbody>${rows.map(rowOf)}</tbody>
</table>
</section>
${whole === undefined ? '' : jobsTable(whole)}
<p class="small muted">Checked at ${fullTime(now)}, with this request.</p>`,
  }
}

function rowOf({ name, state }: { name: string; state: State }): Html {
  const { tone, sign, word } = looks[state]
  const { title, text } = parts[name] ?? { title: name, text: '' }
  return html`<tr><th scope="row">${title}<span class="sub wide-only">${text}</span></th><td><span class="mark ${tone}">${icon(sign)}${word}</span></td></tr>\n`
}

function jobsTable({ jobs, releases }: ServiceState): Html {
  const time = (at: Date | null): Html | string => (at === null ? 'Not yet' : fullTime(at))
  return html`<section aria-labelledby="jobs-title">
<h2 id="jobs-title">Background jobs</h2>
<div class="table-box"><table class="table">
<thead><tr><th scope="col">Job</th><th scope="col">Last run</th><th scope="col">Last success</th></tr></thead>
<tbody>${jobs.map(
    ({ name, ranAt, succeededAt, isLate }) =>
      html`<tr><th scope="row">${name}${isLate ? html` <span class="mark warning">${icon('alert')}Late</span>` : ''}</th><td>${time(ranAt)}</td><td>${time(succeededAt)}</td></tr>\n`,
  )}</tbody>
</table></div>
<p class="small muted">${releases.length === 1 ? 'Release' : 'Releases'} ${releases.join(' and ')}.</p>
</section>`
}

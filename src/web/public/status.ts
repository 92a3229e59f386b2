/**
 * The state of this service for people, and the same for programs. It names no reasons: those are
 * for the operator, who reads `/readyz`.
 */
import type { RateLimits } from '../../edge/http/contract.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import {
  type Day,
  daysOf,
  historyDays,
  type PartName,
  type PartState,
  partNames,
  parts,
  type StatusRecord,
  statesOf,
} from '../../health/parts.ts'
import type { Heartbeat, JobHistory } from '../../health/processes.ts'
import type { Clock } from '../../platform/clock.ts'
import { type Html, html } from '../html.ts'
import { type IconName, icon } from '../icons.ts'
import { type PublicView, publicEndpoint, type Site, viewAnswer } from '../public-page.ts'
import { counted, fullTime, shortDate, timeTag } from '../text.ts'

export interface Probe {
  isReady: boolean
  /** By name: `ok`, `degraded: REASON`, or the reason why the process is not ready. */
  checks: Record<string, string>
}

export interface StatusPageOptions {
  clock: Clock
  probe: () => Promise<Probe>
  /** The processes and their jobs, read by the probe. Undefined: not known yet. */
  survey: () =>
    | {
        live: readonly Pick<Heartbeat, 'jobs'>[]
        jobs: readonly Pick<JobHistory, 'name' | 'isLate'>[]
      }
    | undefined
  history: () => Promise<StatusRecord>
  release: string
  startedAt: Date
}

const limits: RateLimits = { perMinute: 120, perDay: 20_000 }

export function statusPages(site: Site, options: StatusPageOptions): Endpoint[] {
  return [
    publicEndpoint(site, {
      name: 'status page',
      path: '/status',
      limits,
      answer: async () => viewAnswer(site, statusView(await readStatus(options), site)),
    }),
    publicEndpoint(site, {
      name: 'status as JSON',
      path: '/status.json',
      limits,
      answer: async () => ({ status: 200, body: statusBody(await readStatus(options)) }),
    }),
  ]
}

interface PartNow extends Pick<StatusRecord, 'changes'> {
  name: PartName
  state: PartState
  /** Since when the part has not worked, if that is recorded. */
  since: Date | null
}

interface Status extends Pick<StatusPageOptions, 'release' | 'startedAt'> {
  state: PartState
  parts: readonly PartNow[]
  recordedSince: Date | null
  now: Date
}

async function readStatus(options: StatusPageOptions): Promise<Status> {
  const { isReady, checks } = await options.probe()
  const record = await options.history()
  const survey = options.survey()
  const states = statesOf({
    isDatabaseUp: isReady && checks.database === 'ok',
    // Before the first survey nothing is known of the jobs.
    hasJobs: survey === undefined || survey.live.some(({ jobs }) => jobs !== null),
    jobs: survey?.jobs ?? [],
  })
  const all = partNames.flatMap((name) => {
    const state = states[name]
    if (state === undefined) return []
    const changes = record.changes.filter(({ part }) => part === name)
    const last = changes.findLast(({ endedAt }) => endedAt === null)
    return [{ name, state, since: state === 'works' ? null : (last?.beganAt ?? null), changes }]
  })
  const worst = (state: PartState) => all.some((one) => one.state === state)
  return {
    state: worst('fails') ? 'fails' : worst('limited') ? 'limited' : 'works',
    parts: all,
    recordedSince: record.since,
    now: options.clock(),
    release: options.release,
    startedAt: options.startedAt,
  }
}

/** A member of each part: the state now, and the times of the last 90 days in which it differed. */
function statusBody({ state, parts: all, recordedSince, now, release, startedAt }: Status) {
  return {
    state,
    checkedAt: now.toISOString(),
    release,
    startedAt: startedAt.toISOString(),
    recordedSince: recordedSince?.toISOString() ?? null,
    parts: all.map(({ name, state, since, changes }) => ({
      name,
      title: parts[name].title,
      state,
      since: since?.toISOString() ?? null,
      changes: changes.map(({ state, beganAt, endedAt }) => ({
        state,
        beganAt: beganAt.toISOString(),
        endedAt: endedAt?.toISOString() ?? null,
      })),
    })),
  }
}

interface Look {
  tone: 'positive' | 'warning' | 'negative'
  sign: IconName
  word: string
}

const looks: Record<PartState, Look> = {
  works: { tone: 'positive', sign: 'check', word: 'Works' },
  limited: { tone: 'warning', sign: 'alert', word: 'Works in part' },
  fails: { tone: 'negative', sign: 'cross', word: 'Does not work' },
}

const summaries: Record<PartState, { title: string; sentence: string }> = {
  works: { title: 'All systems work', sentence: 'Every part of this service answers.' },
  limited: {
    title: 'A part of this service works only in part',
    sentence: 'The others work. What waits is done later.',
  },
  fails: {
    title: 'A part of this service does not work',
    sentence: 'The skill standard and the documentation still answer.',
  },
}

function statusView(
  { state, parts: all, recordedSince, now, release, startedAt }: Status,
  site: Site,
): PublicView {
  const { host } = site
  const { tone, sign } = looks[state]
  const { title, sentence } = summaries[state]
  return {
    title,
    description: `The state of the parts of ${host}.`,
    current: '/status',
    alternates: [{ path: '/status.json', type: 'application/json' }],
    main: html`<div class="stack tight"><h1>Status of ${host}</h1></div>
<section class="card verdict" data-tone="${tone}" aria-labelledby="status-title">
<div class="verdict-head"><span class="seal">${icon(sign)}</span><div><h2 id="status-title">${title}</h2><p>${sentence}</p></div></div>
</section>
<ul class="parts stack">${all.map((part) => partItem(part, { recordedSince, now }))}</ul>
<p class="small muted">Checked ${timeTag(now, now)}, at ${fullTime(now)}. Release ${release}, running since ${fullTime(startedAt)}.</p>`,
  }
}

function partItem(
  { name, state, since, changes }: PartNow,
  { recordedSince, now }: Pick<Status, 'recordedSince' | 'now'>,
): Html {
  const { tone, sign, word } = looks[state]
  const { title, text } = parts[name]
  const days = daysOf({ since: recordedSince, changes }, now)
  const bad = days.flatMap(({ state, ...day }) =>
    state === 'limited' || state === 'fails' ? [{ ...day, state }] : [],
  )
  const sentence =
    state !== 'works' && since === null && bad.length === 0
      ? 'The present interruption is recorded when it is over.'
      : daysSentence(days, bad.length)
  const width = 100 / historyDays
  const bars = days.map(
    (day, i) =>
      html`<rect data-tone="${day.state === 'unknown' ? 'neutral' : looks[day.state].tone}" x="${(i * width).toFixed(2)}%" width="${(width * 0.7).toFixed(2)}%" height="28"><title>${dayText(day)}</title></rect>`,
  )
  const table =
    bad.length > 0 &&
    html`<details class="fold inline"><summary>Show as a table</summary><div class="table-box"><table class="table"><thead><tr><th scope="col">Day</th><th scope="col">State</th><th scope="col" class="end">Minutes</th></tr></thead><tbody>${bad.toReversed().map((day) => html`<tr><td>${dateOf(day.day)}</td><td>${looks[day.state].word}</td><td class="end">${day.minutes}</td></tr>\n`)}</tbody></table></div></details>`
  return html`<li class="card"><div class="card-body stack"><div class="row apart"><div><h2>${title}</h2><p class="small muted">${text}</p></div><span class="mark" data-tone="${tone}">${icon(sign)}${word}${since !== null && html` since ${timeTag(since, now)}`}</span></div>
<svg class="days" width="100%" height="28" role="img" aria-label="${sentence}">${bars}</svg><p class="row apart small muted"><span>${historyDays} days ago</span><span>Today</span></p><p class="small muted">${sentence}</p>${table}</div></li>`
}

function daysSentence(days: readonly Day[], bad: number): string {
  const known = days.filter(({ state }) => state !== 'unknown')
  const [first] = known
  if (first === undefined) return 'Nothing is recorded yet.'
  const time =
    known.length === days.length ? `in ${days.length} days` : `since ${dateOf(first.day)}`
  return `${bad === 0 ? 'No' : `${counted(bad, 'day')} with an`} interruption ${time}.`
}

function dateOf(day: string): string {
  return shortDate(new Date(`${day}T00:00:00Z`))
}

function dayText({ day, state, minutes }: Day): string {
  if (state === 'unknown') return `${dateOf(day)}: nothing is recorded`
  return state === 'works'
    ? `${dateOf(day)}: no interruption`
    : `${dateOf(day)}: ${state === 'fails' ? 'did not work' : 'worked in part'} for ${counted(minutes, 'minute')}`
}

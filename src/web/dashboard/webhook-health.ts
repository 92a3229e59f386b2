/** How one webhook endpoint did in the last 24 hours. */
import type { EndpointHealth, HourOfDeliveries } from '../../webhooks/api.ts'
import { chartWithTable, legend, type Series, sparkline } from '../chart.ts'
import { type Column, card, empty, none, tiles } from '../components.ts'
import { type Html, html } from '../html.ts'
import { count, counted, dueTag, duration, fullTime, percent } from '../text.ts'

const hourMs = 3_600_000
const hoursShown = 24
const title = 'Deliveries by hour, UTC'
const series: readonly Series[] = [
  { word: 'delivered', tone: 'accent' },
  { word: 'failed', tone: 'negative' },
]

/** The beginning of the first hour. */
export function healthSince(now: Date): Date {
  return new Date(Math.floor(now.getTime() / hourMs) * hourMs - (hoursShown - 1) * hourMs)
}

export function summaryTiles(
  { waiting, nextDueAt }: EndpointHealth,
  hours: readonly HourOfDeliveries[],
  now: Date,
): Html {
  const all = hours.find(({ hour }) => hour === null)
  const [succeeded, failed] = [all?.succeeded ?? 0, all?.failed ?? 0]
  return tiles([
    {
      label: 'Delivered, 24 h',
      value: percent(succeeded, succeeded + failed),
      comparison:
        succeeded + failed === 0
          ? 'Nothing sent'
          : `${count(succeeded)} of ${counted(succeeded + failed, 'attempt')}`,
    },
    {
      label: 'Failed, 24 h',
      value: count(failed),
      comparison:
        succeeded + failed === 0 ? 'Nothing sent' : `Of ${counted(succeeded + failed, 'attempt')}`,
    },
    {
      label: 'Median duration, 24 h',
      value: all?.medianMs == null ? '–' : duration(all.medianMs),
      comparison: all?.p95Ms == null ? 'Nothing sent' : `p95 ${duration(all.p95Ms)}`,
    },
    {
      label: 'Waiting',
      value: count(waiting),
      comparison:
        nextDueAt !== null
          ? html`Next ${dueTag(nextDueAt, now)}`
          : waiting === 0
            ? 'Nothing to send'
            : 'Nothing is sent while paused',
    },
  ])
}

export function chartCard(
  hours: readonly HourOfDeliveries[],
  { since, now }: { since: Date; now: Date },
): Html {
  const byHour = new Map(hours.map((hour) => [hour.hour?.getTime(), hour]))
  const bars = Array.from({ length: hoursShown }, (_, i) => {
    const start = since.getTime() + i * hourMs
    const { succeeded = 0, failed = 0, medianMs = null } = byHour.get(start) ?? {}
    const label = `${new Date(start).toISOString().slice(11, 13)}:00`
    return { label, values: [succeeded, failed], medianMs }
  })
  if (bars.every(({ values: [good = 0, bad = 0] }) => good + bad === 0))
    return card({
      title,
      body: empty({
        icon: 'chart',
        title: 'Nothing was sent in the last 24 hours',
        text: 'Send a test event to see how your server answers.',
      }),
    })
  const sentence = `Attempts in each of the last 24 hours until ${fullTime(now)}`
  const median: Column<(typeof bars)[number]> = {
    head: 'Median',
    isNumber: true,
    cell: ({ medianMs }) => (medianMs === null ? none : duration(medianMs)),
  }
  return card({
    title,
    aside: legend(series),
    body: html`${durationLine(bars.map(({ medianMs }) => medianMs))}
${chartWithTable({ sentence, series, bars }, { label: 'Deliveries by hour', head: 'Hour (UTC)', more: [median] })}`,
  })
}

/** The median duration of each hour, as a line. */
function durationLine(medians: readonly (number | null)[]): Html | false {
  const known = medians.filter((median) => median !== null)
  if (known.length < 3) return false
  const [low, high] = [Math.min(...known), Math.max(...known)]
  const range = `${duration(low)} to ${duration(high)}`
  const last = duration(known.at(-1) ?? 0)
  return html`<div class="stack tight"><div class="row apart small"><span>Median duration</span><span class="muted number">${range}, now <strong>${last}</strong></span></div>${sparkline({ sentence: `Median duration by hour: ${range}, now ${last}. Table below.`, values: medians })}</div>`
}

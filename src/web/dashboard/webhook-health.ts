/** How one webhook endpoint did in the last 24 hours. */
import type { EndpointHealth, HourOfDeliveries } from '../../webhooks/api.ts'
import { barChart, legend, sparkline } from '../chart.ts'
import { card, empty, none, table, tiles } from '../components.ts'
import { type Html, html } from '../html.ts'
import { count, counted, dueTag, duration, fullTime, percent } from '../text.ts'

const hourMs = 3_600_000
const hoursShown = 24

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
  const shown = Array.from({ length: hoursShown }, (_, i) => {
    const start = since.getTime() + i * hourMs
    const found = byHour.get(start)
    return {
      label: `${new Date(start).toISOString().slice(11, 13)}:00`,
      good: found?.succeeded ?? 0,
      bad: found?.failed ?? 0,
      medianMs: found?.medianMs ?? null,
    }
  })
  const total = shown.reduce((sum, { good, bad }) => sum + good + bad, 0)
  const body =
    total === 0
      ? empty({
          icon: 'chart',
          title: 'Nothing was sent in the last 24 hours',
          text: 'Send a test event to see how your server answers.',
        })
      : html`<figure>${barChart({
          sentence: `Attempts in each of the last 24 hours until ${fullTime(now)}. Table below.`,
          bars: shown,
          goodWord: 'delivered',
          badWord: 'failed',
        })}</figure>
${durationLine(shown.map(({ medianMs }) => medianMs))}
<details class="fold inline"><summary>Show as a table</summary>${table<(typeof shown)[number]>({
          label: 'Deliveries by hour',
          isTall: true,
          rows: shown.toReversed(),
          columns: [
            { head: 'Hour (UTC)', cell: ({ label }) => label },
            { head: 'Delivered', isNumber: true, cell: ({ good }) => count(good) },
            { head: 'Failed', isNumber: true, cell: ({ bad }) => count(bad) },
            {
              head: 'Median',
              isNumber: true,
              cell: ({ medianMs }) => (medianMs === null ? none : duration(medianMs)),
            },
          ],
        })}</details>`
  return card({
    title: 'Deliveries by hour, UTC',
    ...(total === 0 ? {} : { aside: legend('Delivered', 'Failed') }),
    body,
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

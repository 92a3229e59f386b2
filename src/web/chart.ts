/**
 * Pure: charts as SVG. The text keeps its size, because there is no viewBox and x is in percent.
 */
import { type Column, type Tone, table } from './components.ts'
import { attributes, type Html, html } from './html.ts'
import { count } from './text.ts'

/** What the bars count, in the order in which the values of a bar stand on each other. */
export interface Series {
  /** Within a sentence, such as `refunded`. */
  word: string
  tone: Tone
}

export interface Bar {
  label: string
  values: readonly number[]
  /** Leads to what the bar counts. */
  url?: string
}

export interface BarChart<Shown extends Bar = Bar> {
  /** Says what is counted, for assistive software. The counts follow. */
  sentence: string
  series: readonly Series[]
  bars: readonly Shown[]
}

const baseY = 110
const topY = 10
const heightMax = baseY - topY
/** A call or a failure is never too small to be seen. */
const heightMin = 2

/** Tops of a scale, times a power of ten. Each has a half that is as easy to read. */
const tops = [1, 2, 3, 4, 6, 8, 10]
/** A bar is drawn no wider than in a chart of so many. */
const barsMin = 12
const namedBarsMax = 7

/** Returns the smallest top of a scale that is at least `value`. */
function roundUp(value: number): number {
  if (value <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return tops.map((step) => step * power).find((step) => step >= value) ?? 10 * power
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0)
}

export function barChart({ sentence, series, bars }: BarChart, more = ''): Html {
  const top = roundUp(Math.max(...bars.map(({ values }) => sum(values))))
  const width = 100 / bars.length
  const barWidth = Math.min(width, 100 / barsMin) * 0.76
  const drawn = bars.map(({ label, values, url }, i) => {
    if (sum(values) === 0) return null
    const x = percentOf((i + 0.5) * width - barWidth / 2)
    let y = baseY
    const parts = values.map((value, place) => {
      const height = value === 0 ? 0 : Math.max(heightMin, (value / top) * heightMax)
      y -= height
      return (
        height > 0 &&
        html`<rect data-tone="${series[place]?.tone}" x="${x}" y="${fixed(y)}" width="${percentOf(barWidth)}" height="${fixed(height)}"/>`
      )
    })
    const words = `${label}: ${countedWords(series, values)}`
    const title = html`<title>${words}</title>`
    return url === undefined
      ? html`<g>${title}${parts}</g>`
      : html`<a href="${url}" aria-label="${words}">${title}${parts}</a>`
  })
  const half = top / 2
  const role = bars.some(({ url }) => url !== undefined) ? 'group' : 'img'
  return html`<svg class="chart" height="132" role="${role}" aria-label="${sentence}: ${countedWords(series, totals(bars))}.${more}">
<line stroke="var(--border)" x1="0" x2="100%" y1="10.5" y2="10.5"/><line stroke="var(--border)" x1="0" x2="100%" y1="60.5" y2="60.5"/>
${drawn}<line class="axis" x1="0" x2="100%" y1="110.5" y2="110.5"/>
<text x="0" y="6">${count(top)}</text>${Number.isInteger(half) && html`<text x="0" y="56">${count(half)}</text>`}
${barLabels(bars)}
</svg>`
}

/** Names a few bars below each of them, and of many bars the first, the middle and the last one. */
function barLabels(bars: readonly Bar[]): Html[] {
  const at = (i: number) => percentOf(((i + 0.5) / bars.length) * 100)
  const label = (i: number, x: string, anchor: string, isRoomy = false) =>
    html`<text${attributes({ class: isRoomy && 'roomy' })} x="${x}" y="127" text-anchor="${anchor}">${bars[i]?.label ?? ''}</text>`
  // A phone has room for every other label.
  if (bars.length <= namedBarsMax) return bars.map((_, i) => label(i, at(i), 'middle', i % 2 === 1))
  const middle = Math.floor(bars.length / 2)
  const last = bars.length - 1
  return [
    label(0, '0.5%', 'start'),
    label(middle, at(middle), 'middle'),
    label(last, '99.5%', 'end'),
  ]
}

/** Draws the chart. Behind a summary, its values are a table with the newest row first. */
export function chartWithTable<Shown extends Bar>(
  chart: BarChart<Shown>,
  { label, head, more = [] }: { label: string; head: string; more?: readonly Column<Shown>[] },
): Html {
  const { series, bars } = chart
  const columns = [
    { head, cell: (bar: Shown) => bar.label },
    ...series.map(({ word }, i) => ({
      head: capital(word),
      isNumber: true,
      cell: ({ values }: Shown) => count(values[i] ?? 0),
    })),
    ...more,
  ]
  return html`<figure>${barChart(chart, ' Table below.')}</figure><details class="fold inline"><summary>Show as a table</summary>${table({ label, columns, rows: bars.toReversed(), isTall: true })}</details>`
}

/** Names the tones of a chart. With `bars` it also says how much each of them sums up to. */
export function legend(
  series: readonly Series[],
  { span, bars }: { span?: string; bars?: readonly Bar[] } = {},
): Html {
  const sums = bars && totals(bars)
  const entries = series.map(
    ({ word, tone }, i) =>
      html`<span><svg viewBox="0 0 10 10" aria-hidden="true"><rect data-tone="${tone}" width="10" height="10" rx="2"/></svg>${capital(word)}${sums && ` ${count(sums[i] ?? 0)}`}</span>`,
  )
  return html`<div class="legend">${span !== undefined && html`<span>${span}</span>`}${entries}</div>`
}

function totals(bars: readonly Bar[]): number[] {
  return (bars[0]?.values ?? []).map((_, i) => sum(bars.map(({ values }) => values[i] ?? 0)))
}

function countedWords(series: readonly Series[], values: readonly number[]): string {
  return series.map(({ word }, i) => `${count(values[i] ?? 0)} ${word}`).join(', ')
}

function capital(word: string): string {
  return word.replace(/^./, (letter) => letter.toUpperCase())
}

export interface Sparkline {
  /** One sentence, for assistive software. */
  sentence: string
  /** In the order of time. Null: there is no value, and the line has a gap. */
  values: readonly (number | null)[]
}

/** Draws a line without text: the latest value and the range stand beside it. */
export function sparkline({ sentence, values }: Sparkline): Html {
  const top = Math.max(1, ...values.map((value) => value ?? 0))
  const at = (value: number, i: number) =>
    `${fixed(((i + 0.5) / values.length) * 100)} ${fixed(31 - (value / top) * 29)}`
  const x = (i: number | undefined) => fixed((((i ?? 0) + 0.5) / values.length) * 100)
  const runs = runsOf(values).map((run) => {
    const points = run.map(({ value, i }) => at(value, i)).join('L')
    // A value alone is a short line, because a line of one point is not drawn.
    const line = run.length === 1 ? `M${points}h0.5` : `M${points}`
    return { line, area: `${line}L${x(run.at(-1)?.i)} 32L${x(run[0]?.i)} 32Z` }
  })
  const path = (name: 'line' | 'area') => runs.map((run) => run[name]).join('')
  return html`<svg class="chart spark" height="32" viewBox="0 0 100 32" preserveAspectRatio="none" role="img" aria-label="${sentence}"><path fill="var(--accent-soft)" d="${path('area')}"/><path class="dash" d="M0 31.5H100"/><path class="line" d="${path('line')}"/></svg>`
}

/** Splits values at their gaps. */
function runsOf(values: readonly (number | null)[]): { value: number; i: number }[][] {
  const runs: { value: number; i: number }[][] = []
  for (const [i, value] of values.entries()) {
    if (value === null) continue
    if (i === 0 || values[i - 1] === null) runs.push([])
    runs.at(-1)?.push({ value, i })
  }
  return runs
}

export interface ScoreChart {
  score: number
  low: number
  high: number
  /** From the lowest to the highest. */
  bands: readonly { label: string; min: number; max: number }[]
}

const scoreMax = 1_000
/** A bound closer to the score than this would collide with its label. */
const clearance = 40
/** Nearer to an end of the scale there is no room beside a bound. */
const margin = 60

/** Draws the score and its range above the bands of the standard. */
export function scoreChart({ score, low, high, bands }: ScoreChart): Html {
  const current = bands.findIndex(({ min, max }) => score >= min && score <= max)
  const cap = (value: number) =>
    html`<line class="range" x1="${at(value)}" x2="${at(value)}" y1="27" y2="37"/>`
  const bound = (value: number, side: 'start' | 'end') => {
    const hasRoom = side === 'end' ? value >= margin : value <= scoreMax - margin
    if (!hasRoom || Math.abs(score - value) < clearance) return null
    const x = percentOf((value / scoreMax) * 100 + (side === 'end' ? -1 : 1))
    return html`<text x="${x}" y="36" text-anchor="${side}">${count(value)}</text>`
  }
  const drawn = bandsAt(bands, 48, (i) => (i === current ? 'band-name band-on' : 'band-name'))
  const label = `Score ${count(score)} on a scale from 0 to 1,000, in the band ${bands[current]?.label ?? 'none'}. The range reaches from ${count(low)} to ${count(high)}.`
  const anchor = score < margin ? 'start' : score > scoreMax - margin ? 'end' : 'middle'
  return html`<svg class="chart" height="104" role="img" aria-label="${label}"><line class="range" x1="${at(low)}" x2="${at(high)}" y1="32" y2="32"/>${cap(low)}${cap(high)}<text class="value-label" x="${at(score)}" y="15" text-anchor="${anchor}">${count(score)}</text>${bound(low, 'end')}${bound(high, 'start')}${drawn}<line class="pin" x1="${at(score)}" x2="${at(score)}" y1="32" y2="66"/><circle class="marker" cx="${at(score)}" cy="32" r="7"/></svg>`
}

/** Draws the bands alone. */
export function bandsChart(bands: ScoreChart['bands']): Html {
  const named = bands.map(({ label, min, max }) => `${label} ${count(min)} to ${count(max)}`)
  const label = `The bands on a scale from 0 to 1,000: ${named.join(', ')}.`
  return html`<svg class="chart whole" height="56" role="img" aria-label="${label}">${bandsAt(bands, 2, () => 'band-name')}</svg>`
}

/** Draws the bands from `top` downwards, with their names and lower bounds below. */
function bandsAt(
  bands: ScoreChart['bands'],
  top: number,
  nameClass: (index: number) => string,
): Html {
  const drawn = bands.map(({ label, min, max }, i) => {
    const end = i === bands.length - 1 ? scoreMax : max + 1
    return html`<rect fill="${`var(--band-${i + 1})`}" x="${at(min)}" y="${top}" width="${at(end - min)}" height="14"/>${i > 0 && html`<line stroke="var(--raised)" stroke-width="2" x1="${at(min)}" x2="${at(min)}" y1="${top}" y2="${top + 14}"/>`}<text class="${nameClass(i)}" x="${at((min + end) / 2)}" y="${top + 34}" text-anchor="middle">${label}</text><text x="${at(min)}" y="${top + 52}" text-anchor="${i === 0 ? 'start' : 'middle'}">${min}</text>`
  })
  return html`${drawn}<text x="100%" y="${top + 52}" text-anchor="end">1,000</text>`
}

function at(value: number): string {
  return percentOf((value / scoreMax) * 100)
}

function percentOf(value: number): string {
  return `${fixed(value)}%`
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100)
}

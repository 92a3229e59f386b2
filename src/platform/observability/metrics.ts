/**
 * Metrics: the hot path adds to plain numbers, a scrape turns them into Prometheus text. Served on
 * a port of its own, which is not for the public.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from 'prom-client'
import { atMostEvery } from '../batching.ts'

/** Seconds. */
const durationBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Counts of one route. Made once; every request adds to it. */
export interface RouteMeter {
  readonly route: string
  /** Indexed by status. */
  readonly statuses: Float64Array
  /** Not cumulative. The last element counts everything beyond `durationBuckets`. */
  readonly durations: Float64Array
  durationSum: number
  shed: number
  rateLimited: number
  invalidJson: number
  ambiguousJson: number
}

export interface Metrics {
  route(name: string): RouteMeter
  /** Read at each scrape. */
  gauge(name: string, help: string, read: () => number): void
  /** Read at each scrape: one value for each value of the label. */
  gauges(facts: MetricFacts, read: () => Readonly<Record<string, number>>): void
  /** Adds one for these values of the labels, in their order. */
  counter(facts: MetricFacts): (...values: string[]) => void
  /**
   * Reads what gauges show before a scrape, and at most once in ten seconds. If it fails, they show
   * what was read before.
   */
  beforeScrape(read: () => Promise<unknown>): void
  /** Takes seconds, and the values of the labels in their order. */
  histogram(facts: MetricFacts): (seconds: number, ...values: string[]) => void
  text: () => Promise<string>
  /** Metrics as JSON, for a parent process that adds up those of several. */
  json: () => Promise<object[]>
  readonly contentType: string
}

export interface MetricFacts {
  name: string
  help: string
  labels?: readonly string[]
  /** Buckets of a histogram in seconds. */
  buckets?: readonly number[]
}

export function observe(meter: RouteMeter, status: number, ms: number): void {
  const seconds = ms / 1_000
  let bucket = 0
  while (bucket < durationBuckets.length && seconds > (durationBuckets[bucket] as number)) bucket++
  ;(meter.statuses[status] as number) += 1
  ;(meter.durations[bucket] as number) += 1
  meter.durationSum += seconds
}

const readEveryMs = 10_000

export function createMetrics(): Metrics {
  const registry = new Registry()
  const meters = new Map<string, RouteMeter>()
  const scraped: (() => Promise<unknown>)[] = []
  collectDefaultMetrics({ register: registry })
  requestCounter(registry, meters)
  durationHistogram(registry, meters)
  for (const [name, help, count] of countedByRoute)
    meterCounter(registry, meters, name, help, count)
  return {
    route(name) {
      const meter = meters.get(name) ?? newMeter(name)
      meters.set(name, meter)
      return meter
    },
    gauge(name, help, read) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers: [registry],
        collect: () => gauge.set(read()),
      })
    },
    gauges({ name, help, labels = [] }, read) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect() {
          gauge.reset()
          for (const [label, value] of Object.entries(read())) gauge.labels(label).set(value)
        },
      })
    },
    counter({ name, help, labels = [] }) {
      const counter = new Counter({ name, help, labelNames: [...labels], registers: [registry] })
      return (...values) => counter.labels(...values).inc()
    },
    histogram({ name, help, labels = [], buckets = durationBuckets }) {
      const histogram = new Histogram({
        name,
        help,
        labelNames: [...labels],
        buckets: [...buckets],
        registers: [registry],
      })
      return (seconds, ...values) => histogram.labels(...values).observe(seconds)
    },
    beforeScrape(read) {
      scraped.push(atMostEvery(readEveryMs, read))
    },
    async text() {
      await Promise.allSettled(scraped.map((read) => read()))
      return registry.metrics()
    },
    async json() {
      await Promise.allSettled(scraped.map((read) => read()))
      return registry.getMetricsAsJSON()
    },
    contentType: registry.contentType,
  }
}

function newMeter(route: string): RouteMeter {
  return {
    route,
    statuses: new Float64Array(600),
    durations: new Float64Array(durationBuckets.length + 1),
    durationSum: 0,
    shed: 0,
    rateLimited: 0,
    invalidJson: 0,
    ambiguousJson: 0,
  }
}

type Meters = Map<string, RouteMeter>

const countedByRoute = [
  ['http_shed_total', 'Requests refused under overload.', (meter: RouteMeter) => meter.shed],
  [
    'http_rate_limited_total',
    'Requests over a rate limit.',
    (meter: RouteMeter) => meter.rateLimited,
  ],
  [
    'http_json_invalid_total',
    'Bodies that are not acceptable JSON.',
    (meter: RouteMeter) => meter.invalidJson,
  ],
  [
    'http_json_ambiguous_total',
    'Bodies with ambiguous JSON.',
    (meter: RouteMeter) => meter.ambiguousJson,
  ],
] as const

function meterCounter(
  registry: Registry,
  meters: Meters,
  name: string,
  help: string,
  count: (meter: RouteMeter) => number,
): void {
  const counter: Counter = new Counter({
    name,
    help,
    labelNames: ['route'],
    registers: [registry],
    collect() {
      counter.reset()
      for (const meter of meters.values())
        if (count(meter) > 0) counter.inc({ route: meter.route }, count(meter))
    },
  })
}

function requestCounter(registry: Registry, meters: Meters): void {
  const counter: Counter = new Counter({
    name: 'http_requests_total',
    help: 'Requests answered.',
    labelNames: ['route', 'status'],
    registers: [registry],
    collect() {
      counter.reset()
      for (const { route, statuses } of meters.values())
        for (const [status, count] of statuses.entries())
          if (count > 0) counter.inc({ route, status: String(status) }, count)
    },
  })
}

/**
 * The histogram of prom-client takes one observation at a time; this one takes counts that already
 * exist.
 */
function durationHistogram(registry: Registry, meters: Meters): void {
  const name = 'http_request_duration_seconds'
  const help = 'Time from the request to the answer being handed to the connection.'
  const values = () =>
    [...meters.values()].flatMap(({ route, durations, durationSum }) => {
      // Hundreds of routes without a call would fill thousands of lines.
      if (durations.every((count) => count === 0)) return []
      let total = 0
      const buckets = [...durations].map((count, i) => {
        total += count
        const labels: Record<string, string | number> = { route, le: durationBuckets[i] ?? '+Inf' }
        return { metricName: `${name}_bucket`, labels, value: total }
      })
      buckets.push(
        { metricName: `${name}_sum`, labels: { route }, value: durationSum },
        { metricName: `${name}_count`, labels: { route }, value: total },
      )
      return buckets
    })
  const metric = {
    name,
    get: () =>
      Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values: values() }),
  }
  registry.registerMetric(metric as unknown as Metric)
}

export interface ProbeAnswer {
  status: number
  body: unknown
  headers?: Record<string, string>
}

export interface Monitored {
  metrics: Pick<Metrics, 'text' | 'contentType'>
  /** Answers in JSON by path. */
  probes: Readonly<Record<string, () => Promise<ProbeAnswer>>>
}

/** Serves GET /metrics and the probes, and nothing else. */
export async function serveMetrics(
  { metrics, probes }: Monitored,
  address: { host: string; port: number },
): Promise<{ port: number; close(): Promise<void> }> {
  async function answer(path: string, response: ServerResponse): Promise<void> {
    if (path === '/metrics') {
      const text = await metrics.text()
      response.writeHead(200, { 'Content-Type': metrics.contentType }).end(text)
      return
    }
    const probe = probes[path]
    if (probe === undefined) {
      response.writeHead(404).end()
      return
    }
    const { status, body, headers } = await probe()
    const type = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
    response.writeHead(status, { ...type, ...headers }).end(JSON.stringify(body))
  }
  const server = createServer((request, response) => {
    const path = request.method === 'GET' ? (request.url ?? '') : ''
    answer(path, response).catch(() => response.writeHead(500).end())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

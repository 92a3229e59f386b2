/**
 * Sends ended spans to a collector: OTLP as JSON over HTTP, through our own egress. The official
 * packages bring nine packages and an HTTP client of their own, which would pass by the one place
 * that opens outgoing connections; the format is this file.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Egress } from '../egress/client.ts'
import type { Span } from './tracing.ts'

export interface TraceExportOptions {
  egress: Egress
  /** For example `http://127.0.0.1:4318/v1/traces`. */
  url: string
  /** Attributes of the process. */
  resource: Record<string, string | number>
  /** Called for each batch that the collector did not take. */
  onFailure(why: string): void
  everyMs?: number
}

export interface TraceExporter {
  ended(span: Span): void
  /** Spans that were dropped, because the buffer was full or the collector did not take them. */
  dropped(): number
  /** Sends what is left, within two seconds. */
  close(): Promise<void>
}

/** Bounds the memory while the collector is away. */
const bufferMax = 4_096
const batchMax = 512
/** A collector that does not answer delays the stop by this time at most. */
const closeMs = 2_000

export function openTraceExport(options: TraceExportOptions): TraceExporter {
  const { egress, url, resource, onFailure, everyMs = 1_000 } = options
  let buffer: Span[] = []
  let dropped = 0
  let sending: Promise<void> | null = null
  const timer = setInterval(() => void flush(), everyMs)
  timer.unref()

  function flush(): Promise<void> {
    sending ??= sendAll().finally(() => {
      sending = null
    })
    return sending
  }

  async function sendAll(): Promise<void> {
    while (buffer.length > 0) {
      const batch = buffer.slice(0, batchMax)
      buffer = buffer.slice(batchMax)
      const answer = await egress.send({
        method: 'POST',
        url,
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(otlpOf(batch, resource)),
      })
      if ('status' in answer && answer.status < 300) continue
      dropped += batch.length
      onFailure('status' in answer ? `the collector answered ${answer.status}` : answer.failure)
    }
  }

  return {
    ended(span) {
      if (buffer.length < bufferMax) buffer.push(span)
      else dropped++
    },
    dropped: () => dropped,
    async close() {
      clearInterval(timer)
      // The second time for spans that ended while the last batch was sent.
      const sent = flush().then(flush)
      await Promise.race([sent, pause(closeMs, undefined, { ref: false })])
      dropped += buffer.length
      buffer = []
    },
  }
}

const kinds = { internal: 1, server: 2, client: 3 } as const
const statusOfError = 2

/** Returns an ExportTraceServiceRequest. */
function otlpOf(spans: readonly Span[], resource: Record<string, string | number>): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'assay' }, spans: spans.map(spanOf) }],
      },
    ],
  }
}

function spanOf({ traceId, spanId, parentId, name, kind, links, error, ...span }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentId === undefined ? {} : { parentSpanId: parentId }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(span.startMs),
    endTimeUnixNano: nanoseconds(span.endMs ?? span.startMs),
    attributes: attributesOf(span.attributes),
    events: span.steps.map((step) => ({ name: step.name, timeUnixNano: nanoseconds(step.atMs) })),
    links,
    status: error === undefined ? {} : { code: statusOfError, message: error },
  }
}

function attributesOf(values: Record<string, string | number>): object[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }))
}

/** Microseconds are exact in a number, and nanoseconds are not. */
function nanoseconds(atMs: number): string {
  return `${Math.round((performance.timeOrigin + atMs) * 1_000)}000`
}

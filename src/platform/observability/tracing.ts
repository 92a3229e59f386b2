/**
 * Traces: a span a request with the steps of its walk, and spans of statement batches, statements,
 * job runs and deliveries (W3C Trace Context). Without `startTracing` every function returns at
 * once and nothing is recorded. The span of the running work follows it through the event loop, so
 * the state is the module's, as that of a log line's clock.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'

export interface SpanContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  /** False: the sender does not trace this work. */
  readonly isSampled?: boolean
}

export type SpanKind = 'internal' | 'server' | 'client'

export interface Span extends SpanContext {
  readonly parentId: string | undefined
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Record<string, string | number>
  /** Other work that a batch was done for. */
  readonly links: readonly SpanContext[]
  /** Milliseconds of `performance.now()`. */
  readonly startMs: number
  endMs: number | undefined
  readonly steps: { name: string; atMs: number }[]
  error: string | undefined
}

interface Tracing {
  /** Share of the requests, job runs and deliveries that are traced, from 0 to 1. */
  sampling: number
  /** Takes each span that has ended. */
  ended(span: Span): void
}

let tracing: Tracing | null = null
const active = new AsyncLocalStorage<Span | undefined>()

/** Starts to trace in this process. Returns the function that stops it. */
export function startTracing(options: Tracing): () => void {
  tracing = options
  return () => {
    tracing = null
  }
}

/** Returns the span of the running work, or undefined if it is not traced. */
export function activeSpan(): Span | undefined {
  return tracing === null ? undefined : active.getStore()
}

export interface SpanOptions {
  kind?: SpanKind
  /** Absent: the span begins a trace, if the sampling takes it. */
  parent?: SpanContext | undefined
  /** A header `traceparent`. Its sender has decided whether the work is traced. */
  traceparent?: string | string[] | null | undefined
  links?: readonly SpanContext[]
  attributes?: Record<string, string | number>
}

/** Returns undefined if the work is not traced. */
export function startSpan(name: string, options: SpanOptions = {}): Span | undefined {
  if (tracing === null) return undefined
  const { kind = 'internal', links = [], attributes = {} } = options
  const parent = options.parent ?? parseTraceparent(options.traceparent)
  const isTraced = parent === null ? Math.random() < tracing.sampling : parent.isSampled !== false
  if (!isTraced) return undefined
  const id = randomBytes(24).toString('hex')
  return {
    traceId: parent?.traceId ?? id.slice(0, 32),
    spanId: id.slice(32),
    parentId: parent?.spanId,
    name,
    kind,
    attributes,
    links,
    startMs: performance.now(),
    endMs: undefined,
    steps: [],
    error: undefined,
  }
}

/** Runs work in a span, or outside of every span. */
export function inSpan<Result>(span: Span | undefined, work: () => Result): Result {
  const isOutside = tracing === null || (span === undefined && active.getStore() === undefined)
  return isOutside ? work() : active.run(span, work)
}

export function addStep(span: Span | undefined, name: string): void {
  span?.steps.push({ name, atMs: performance.now() })
}

/** Ends a span. A second end changes nothing. */
export function endSpan(span: Span | undefined, error?: string): void {
  if (span === undefined || span.endMs !== undefined) return
  span.endMs = performance.now()
  span.error = error
  tracing?.ended(span)
}

/** Runs work in a span that ends with it. */
export async function traced<Result>(
  span: Span | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  if (span === undefined) return inSpan(span, work)
  try {
    return await inSpan(span, work)
  } catch (error) {
    endSpan(span, faultName(error))
    throw error
  } finally {
    endSpan(span)
  }
}

/** A message may quote a value of the caller, so a span names the kind of the error alone. */
function faultName(error: unknown): string {
  if (!(error instanceof Error)) return 'error'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? `${error.name} ${code}` : error.name
}

const traceparentForm =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

/** Reads the header `traceparent`. Returns null if it is malformed or absent. */
function parseTraceparent(text: string | string[] | null | undefined): SpanContext | null {
  const found = typeof text === 'string' ? traceparentForm.exec(text) : null
  if (found === null) return null
  const [, traceId = '', spanId = '', flags = ''] = found
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Returns the header `traceparent` for what the span causes. */
export function traceparentOf({ traceId, spanId }: SpanContext): string {
  return `00-${traceId}-${spanId}-01`
}

/**
 * The one client that opens connections to other servers: webhooks, payments, anything. Nothing else in this project may. It follows no
 * redirect, and every exchange ends within its deadlines and sizes, whatever the other side does.
 */
import type { Dispatcher } from 'undici'
import { dialer, trusting } from './egress-dial.ts'
import { EgressError, type EgressFailure, exchangeFailure } from './egress-failures.ts'
import { ownResolver, type Resolve, systemResolver } from './egress-names.ts'
import { type EgressRules, vetUrl } from './egress-rules.ts'

export interface EgressOptions {
  rules: EgressRules
  /** A CONNECT proxy of the operator: it resolves and vets addresses instead of us. The text of each URL is vetted here all the same. */
  proxyUrl?: string | undefined
  /** PEM certificates to trust beside the usual ones. */
  extraCa?: string | undefined
  deadlines?: Partial<EgressDeadlines>
  /** A resolver of one's own, for tests. */
  resolve?: Resolve
}

/** Milliseconds. */
export interface EgressDeadlines {
  dnsMs: number
  /** TCP and TLS together. */
  connectMs: number
  /** The whole exchange, to the last byte of the answer that is read. */
  totalMs: number
}

const defaultDeadlines: EgressDeadlines = { dnsMs: 2_000, connectMs: 5_000, totalMs: 15_000 }

export interface EgressRequest {
  method: 'GET' | 'POST'
  url: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** How much of the answer's body is read; the rest is cut off, with the connection. 16 KiB unless given. */
  answerBytesMax?: number
  /** Instead of the client's own. */
  totalMs?: number
  /** A time of `performance.now()`. Connected later than that, not a byte of the request is written: `not_begun`, and the connection stays. */
  beginBy?: number
}

export type EgressAnswer =
  | {
      outcome: 'answered'
      /** Redirects too: nothing is followed. */
      status: number
      headers: Record<string, string | string[] | undefined>
      body: Buffer
      /** The body was longer than `answerBytesMax`. */
      isCut: boolean
    }
  | { outcome: 'failed'; failure: EgressFailure; error: Error }

export interface Egress {
  /** Never throws for what the other side does. */
  send(request: EgressRequest): Promise<EgressAnswer>
  /** Waits for no exchange: what is under way fails. */
  close(): Promise<void>
}

const headerBytesMax = 16_384
const answerBytesMaxDefault = 16_384
/** Answers such as 103 Early Hints before the answer. */
const hintsMax = 16
/** Idle connections end soon: a receiver that moves is found again, and its old address is not kept. */
const idleMs = 4_000
const idleMsMax = 30_000

export function openEgress(options: EgressOptions): Egress {
  const deadlines = { ...defaultDeadlines, ...options.deadlines }
  let opened: Promise<Dispatcher> | undefined
  let closed = false
  // Who sends nothing does not load the client: it is the largest of all packages.
  const dispatcher = (): Promise<Dispatcher> => {
    if (closed) throw new EgressError('reset', 'closed')
    opened ??= dispatcherOf(options, deadlines)
    return opened
  }
  return {
    async send(request) {
      const vetted = vetUrl(request.url, options.rules)
      if ('fault' in vetted) return failed(new EgressError('blocked_address', vetted.fault))
      const deadline = new AbortController()
      const expire = (): void => deadline.abort(new EgressError('timeout', 'no answer in time'))
      const timer = setTimeout(expire, request.totalMs ?? deadlines.totalMs)
      try {
        return await exchange(await dispatcher(), { request, url: vetted.url, deadline })
      } catch (error) {
        return failed(error)
      } finally {
        clearTimeout(timer)
      }
    },
    async close() {
      closed = true
      await (await opened)?.destroy()
    },
  }
}

async function dispatcherOf(
  options: EgressOptions,
  deadlines: EgressDeadlines,
): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await import('undici')
  const { rules, proxyUrl, extraCa, resolve } = options
  const shared = {
    // Many receivers share one host: a slow one must not hold the connections of the others. The caller bounds how many are open.
    connections: null,
    allowH2: false,
    maxHeaderSize: headerBytesMax,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMsMax,
    // One deadline for the whole exchange: theirs stop neither a body that drips nor endless 103s.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (proxyUrl !== undefined)
    return new ProxyAgent({
      ...shared,
      uri: proxyUrl,
      proxyTunnel: true,
      connectTimeout: deadlines.connectMs,
      requestTls: { minVersion: 'TLSv1.2', ...trusting(extraCa) },
    })
  const { connectMs, dnsMs } = deadlines
  const usual = rules.urlsOf === 'operator' ? systemResolver : ownResolver({ deadlineMs: dnsMs })
  const connect = dialer({ rules, resolve: resolve ?? usual, connectMs, extraCa })
  return new Agent({ ...shared, connect })
}

interface Exchange {
  request: EgressRequest
  url: URL
  deadline: AbortController
}

async function exchange(
  dispatcher: Dispatcher,
  { request, url, deadline }: Exchange,
): Promise<EgressAnswer> {
  let hints = 0
  const { beginBy } = request
  const gated = beginBy === undefined ? dispatcher : dispatcher.compose(beginningBy(beginBy))
  const answer = await gated.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: request.method,
    headers: request.headers ?? {},
    body: request.body ?? null,
    signal: deadline.signal,
    onInfo: () => {
      if (++hints > hintsMax) deadline.abort(new EgressError('body_error', 'hints without end'))
    },
  })
  const { statusCode: status, headers } = answer
  const read = await readAtMost(answer.body, request.answerBytesMax ?? answerBytesMaxDefault)
  return { outcome: 'answered', status, headers, ...read }
}

/** undici calls `onRequestStart` right before it writes; what is thrown there ends the request and leaves the connection to the next. */
function beginningBy(beginBy: number): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler)
    handler.onRequestStart = (controller, context) => {
      if (performance.now() > beginBy) throw new EgressError('not_begun', 'connected too late')
      start?.(controller, context)
    }
    return dispatch(options, handler)
  }
}

/** Leaving the loop early ends the connection. */
async function readAtMost(
  stream: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<{ body: Buffer; isCut: boolean }> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    length += chunk.length
    if (length > bytesMax) return { body: Buffer.concat(chunks).subarray(0, bytesMax), isCut: true }
  }
  return { body: Buffer.concat(chunks), isCut: false }
}

/** A failure as a value; a defect of ours is thrown on. */
function failed(error: unknown): EgressAnswer {
  const failure = exchangeFailure(error)
  if (failure === undefined || !(error instanceof Error)) throw error
  return { outcome: 'failed', failure, error }
}

/**
 * The one client that opens connections to other servers: webhooks, payments, anything. Nothing else in this project may. It follows no
 * redirect, and every exchange ends within its deadlines and sizes, whatever the other side does.
 */
import type { Dispatcher } from 'undici'
import { RecentMap } from '../recent-map.ts'
import { dialer, trusting } from './dial.ts'
import { type EgressAnswer, exchange } from './exchange.ts'
import { EgressError } from './failures.ts'
import { ownResolver, type Resolve, systemResolver } from './names.ts'
import { type EgressRules, vetUrl } from './rules.ts'

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

export interface Egress {
  /** Never throws for what the other side does. */
  send(request: EgressRequest): Promise<EgressAnswer>
  /** Waits for no exchange: what is under way fails. */
  close(): Promise<void>
}

const headerBytesMax = 16_384
const answerBytesMaxDefault = 16_384
/** URLs whose text is not vetted anew: the rules stay the same. */
const urlsKept = 1_000
/** Idle connections end soon: a receiver that moves is found again, and its old address is not kept. */
const idleMs = 4_000
const idleMsMax = 30_000

export function openEgress(options: EgressOptions): Egress {
  const deadlines = { ...defaultDeadlines, ...options.deadlines }
  let opened: Promise<Dispatcher> | undefined
  let closed = false
  // Who sends nothing does not load the client: it is the largest of all packages.
  const dispatcher = (): Promise<Dispatcher> => (opened ??= dispatcherOf(options, deadlines))
  const vetted = new RecentMap<ReturnType<typeof vetUrl>>(urlsKept)
  function vettedUrl(text: string): ReturnType<typeof vetUrl> {
    const known = vetted.get(text)
    if (known !== undefined) return known
    const found = vetUrl(text, options.rules)
    vetted.set(text, found)
    return found
  }
  return {
    async send({ url: text, totalMs = deadlines.totalMs, ...request }) {
      if (closed) return failed(new EgressError('reset', 'closed'))
      const found = vettedUrl(text)
      if ('fault' in found) return failed(new EgressError('blocked_address', found.fault))
      const { answerBytesMax = answerBytesMaxDefault } = request
      return exchange(await dispatcher(), found.url, { ...request, answerBytesMax, totalMs })
    },
    async close() {
      closed = true
      await (await opened)?.destroy()
    },
  }
}

function failed(error: EgressError): EgressAnswer {
  return { outcome: 'failed', failure: error.failure, error }
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

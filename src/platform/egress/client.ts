/**
 * The only client that opens connections to other servers, for webhooks, payments and everything
 * else. It follows no redirect. Every exchange ends within its deadlines and sizes, even if the
 * other server is hostile.
 */
import type { Dispatcher } from 'undici'
import { deadlineMs } from '../deadlines.ts'
import { dialer, trusting } from './dial.ts'
import { type EgressAnswer, exchange } from './exchange.ts'
import { EgressError } from './failures.ts'
import { ownResolver, type Resolve, systemResolver, withHostsFile } from './names.ts'
import { type EgressRules, vetUrl } from './rules.ts'

export interface EgressOptions {
  rules: EgressRules
  /**
   * A CONNECT proxy of the operator. It resolves and vets addresses instead of us; the text of each
   * URL is still vetted here.
   */
  proxyUrl?: string | undefined
  /** PEM certificates to trust in addition to those of this machine. */
  extraCa?: string | undefined
  deadlines?: Partial<EgressDeadlines>
  /** Replaces the resolver, for tests. */
  resolve?: Resolve
}

/** Milliseconds. */
export interface EgressDeadlines {
  dnsMs: number
  /** TCP and TLS together. */
  connectMs: number
  /** The whole exchange, up to the last byte of the answer that is read. */
  totalMs: number
}

const usualDeadlines = (): EgressDeadlines => ({
  dnsMs: deadlineMs('egressName'),
  connectMs: deadlineMs('egressConnect'),
  totalMs: deadlineMs('egressExchange'),
})

export interface EgressRequest {
  method: 'GET' | 'POST'
  url: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /**
   * Bytes of the answer's body to read (default 16 KiB). A longer answer is cut off, and its
   * connection closed.
   */
  answerBytesMax?: number
  /** Replaces the client's `totalMs`. */
  totalMs?: number
  /**
   * If set, status and headers are enough: the body is read for this time, and a body that is late
   * or breaks off is cut instead of being a failure.
   */
  bodyWithinMs?: number
  /**
   * Time on the clock of `performance.now()`. If the connection is ready later, no byte of the
   * request is written: the failure is `not_begun`, and the connection stays open.
   */
  beginBy?: number
}

export interface Egress {
  /** Never rejects because of the other server: its failures are values. */
  send(request: EgressRequest): Promise<EgressAnswer>
  /** Does not wait: exchanges under way fail. */
  close(): Promise<void>
}

const headerBytesMax = 16_384
const answerBytesMaxDefault = 16_384
/** Short, so that a receiver with a new address is resolved again soon. */
const idleMs = 4_000
const idleMsMax = 30_000

export function openEgress(options: EgressOptions): Egress {
  const deadlines = { ...usualDeadlines(), ...options.deadlines }
  let opened: Promise<Dispatcher> | undefined
  let closed = false
  // Loads undici, the largest of all packages, with the first request, so processes that send
  // nothing do not load it.
  const dispatcher = (): Promise<Dispatcher> => (opened ??= dispatcherOf(options, deadlines))
  return {
    async send({ url: text, totalMs = deadlines.totalMs, ...request }) {
      if (closed) return failed(new EgressError('reset', 'closed'))
      const found = vetUrl(text, options.rules)
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
  return { failure: error.failure, error }
}

async function dispatcherOf(
  options: EgressOptions,
  deadlines: EgressDeadlines,
): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await import('undici')
  const { rules, proxyUrl, extraCa, resolve } = options
  const shared = {
    // No limit for each host: many receivers share one host, and a slow one must not take the
    // connections of the others. The caller bounds the number of open connections.
    connections: null,
    allowH2: false,
    maxHeaderSize: headerBytesMax,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMsMax,
    // One deadline covers the whole exchange. undici's timeouts stop neither a body that drips nor
    // endless 103 answers.
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
  const usual = rules.urlsOf === 'operator' ? systemResolver : strangerResolver(rules, dnsMs)
  const connect = dialer({ rules, resolve: resolve ?? usual, connectMs, extraCa })
  return new Agent({ ...shared, connect })
}

/**
 * Resolves the names of strangers. With an allow-list, hosts of the operator's own networks are
 * named in the hosts file as well.
 */
export function strangerResolver(
  { allow }: EgressRules,
  deadlineMs = usualDeadlines().dnsMs,
): Resolve {
  const resolve = ownResolver({ deadlineMs })
  return allow.length === 0 ? resolve : withHostsFile(resolve, { networks: allow })
}

/**
 * Sends server-sent events. A stream holds no slot of a gate. A reader that does not take its bytes
 * is cut off, and the end of the server ends every stream.
 */
import { type Refusal, refuse } from '../platform/errors.ts'
import type { Log } from '../platform/observability/log.ts'
import { inSpan } from '../platform/observability/tracing.ts'
import type { EventStream, Events, StreamLimit } from './http/endpoint.ts'
import type { RequestContext } from './request-context.ts'

export interface EventStreams {
  /** Returns why one more stream may not begin, or null. It must then begin in the same turn. */
  problem(limits: Events['limits']): Refusal | null
  /** Begins a stream in a response whose head is sent. */
  begin(context: RequestContext, events: Events): void
  /** Ends all streams; a new one ends at once. */
  end(): void
}

/** Streams of one process. */
const streamsMax = 256
/** Seconds after which a refused reader may try again. */
const retryAfter = { process: '5', holder: '15' }
/** Bytes that wait for a reader. */
const unreadBytesMax = 65_536
/** A comment line keeps proxies from closing a silent connection. */
const heartbeatMs = 15_000
/** Milliseconds after which a browser connects again. */
const retryMs = 3_000

export function eventStreams(log: Log): EventStreams {
  const open = new Map<RequestContext['response'], Events['limits']>()
  const ending = new AbortController()
  const isReached = ({ of, id, max }: StreamLimit): boolean => {
    const held = [...open.values()].flat()
    return held.filter((other) => other.of === of && other.id === id).length >= max
  }

  return {
    problem(limits) {
      if (open.size >= streamsMax || ending.signal.aborted)
        return refuse('unavailable', { headers: { 'Retry-After': retryAfter.process } })
      const reached = limits.find(isReached)
      if (reached === undefined) return null
      const message = `This ${reached.of} has ${reached.max} live streams open already. Close one.`
      return refuse('rate_limited', { message, headers: { 'Retry-After': retryAfter.holder } })
    },
    begin({ response, requestId }, { limits, follow }) {
      // A reader that left while its request was checked would keep its place for ever.
      if (response.destroyed) return
      open.set(response, limits)
      const gone = new AbortController()
      const write = (text: string): void => {
        if (!response.writable) return
        response.write(text)
        if (response.writableLength > unreadBytesMax) response.destroy()
      }
      const heartbeat = setInterval(() => write(':\n\n'), heartbeatMs)
      response.once('close', () => {
        clearInterval(heartbeat)
        open.delete(response)
        gone.abort()
      })
      write(`retry: ${retryMs}\n\n`)
      const stream: EventStream = {
        send: ({ id, data }) => write(`id: ${id}\ndata: ${JSON.stringify(data)}\n\n`),
        ended: AbortSignal.any([gone.signal, ending.signal]),
      }
      // One loop serves all streams, and outlives the request that began it.
      void inSpan(undefined, () => follow(stream))
        .catch((error: unknown) => {
          if (!stream.ended.aborted)
            log.warn('a stream broke off', { requestId, why: String(error) })
        })
        .finally(() => response.end())
    },
    end() {
      ending.abort()
      for (const response of open.keys()) response.end()
    },
  }
}

/**
 * Sends server-sent events. A stream holds no slot of a gate. A reader that does not take its bytes
 * is cut off, and the end of the server ends every stream.
 */
import type { EventStream } from '../platform/http/endpoint.ts'
import type { Log } from '../platform/observability/log.ts'
import type { RequestContext } from './request-context.ts'

export interface EventStreams {
  /** Whether one more stream may begin. */
  hasRoom(): boolean
  /** Begins a stream in a response whose head is sent. */
  begin(context: RequestContext, follow: (stream: EventStream) => Promise<void>): void
  /** Ends all streams; a new one ends at once. */
  end(): void
}

/** Streams of one process. Each polls the database about once a second. */
const streamsMax = 256
/** Bytes that wait for a reader. */
const unreadBytesMax = 65_536
/** A comment line keeps proxies from closing a silent connection. */
const heartbeatMs = 15_000
/** Milliseconds after which a browser connects again. */
const retryMs = 3_000

export function eventStreams(log: Log): EventStreams {
  const open = new Set<RequestContext['response']>()
  const ending = new AbortController()

  return {
    hasRoom: () => open.size < streamsMax && !ending.signal.aborted,
    begin({ response, requestId }, follow) {
      open.add(response)
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
      void follow(stream)
        .catch((error: unknown) => {
          if (!stream.ended.aborted)
            log.warn('a stream broke off', { requestId, why: String(error) })
        })
        .finally(() => response.end())
    },
    end() {
      ending.abort()
      for (const response of open) response.end()
    },
  }
}

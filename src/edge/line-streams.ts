/**
 * Sends lines of JSON while the body of their request is still read. A stream holds no slot of a
 * gate. Many clients read nothing before they have sent everything, so a full response never stops
 * the reading: its lines are dropped, and the handler counts them.
 */
import { UnavailableError } from '../platform/errors.ts'
import type { Log } from '../platform/observability/log.ts'
import type { LineStream, Lines } from './http/lines.ts'
import { refusalBody, refusalOf } from './refusals.ts'
import type { RequestContext } from './request-context.ts'

export interface LineStreams {
  /** Begins a stream in a response whose head is sent. */
  begin(context: RequestContext, lines: Lines, end: () => void): void
  /** Asks all streams to end. */
  end(): void
}

/** Bytes that wait for a reader: some ten thousand lines. */
const unreadBytesMax = 1_048_576

export function lineStreams(log: Log): LineStreams {
  const draining = new AbortController()

  return {
    begin({ response, requestId, route, connection }, { follow }, end) {
      const gone = new AbortController()
      if (response.destroyed || response.writableEnded) gone.abort()
      response.once('close', () => gone.abort())
      const write = (line: object): void => {
        if (!gone.signal.aborted) response.write(`${JSON.stringify(line)}\n`)
      }
      const stream: LineStream = {
        ended: AbortSignal.any([gone.signal, draining.signal]),
        send(line) {
          if (response.writableLength > unreadBytesMax) return false
          write(line)
          return true
        },
        failed(error) {
          const fields = { requestId, route: route.path }
          const refusal = refusalOf(error)
          // A body that its caller cut off is no failure of ours.
          if (refusal.refusal === 'internal_error' && !connection.socket.destroyed)
            log.error('a stream of lines failed', error, fields)
          else log.warn('a stream of lines broke off', { ...fields, why: String(error) })
          return refusalBody(refusal)
        },
      }
      void follow(stream).catch(stream.failed).then(write).finally(end)
    },
    end: () => draining.abort(new UnavailableError('the server stops')),
  }
}

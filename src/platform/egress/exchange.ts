/**
 * Performs one HTTP exchange within a deadline and size limits, even if the other server is
 * hostile.
 */
import type { Dispatcher } from 'undici'
import { EgressError, type EgressFailure, exchangeFailure } from './failures.ts'

export interface ExchangeRequest {
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Bytes of the answer's body to read. A longer answer is cut off, and its connection closed. */
  answerBytesMax: number
  /** For the whole exchange, including the wait for a connection. */
  totalMs: number
  /** See `EgressRequest`. */
  bodyWithinMs?: number | undefined
  /** See `EgressRequest`. */
  beginBy?: number | undefined
}

export type EgressAnswer =
  | {
      /** May be a redirect, because none is followed. */
      status: number
      headers: Record<string, string | string[] | undefined>
      body: Buffer
      /** True if the body was longer than `answerBytesMax`, or did not arrive within its time. */
      isCut: boolean
    }
  | { failure: EgressFailure; error: Error }

/** Informational answers (such as 103 Early Hints) accepted before the final answer. */
const hintsMax = 16

/** Never rejects because of the other server: its failures are values. */
export function exchange(
  dispatcher: Dispatcher,
  url: URL,
  request: ExchangeRequest,
): Promise<EgressAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<EgressAnswer>()
  const { answerBytesMax, bodyWithinMs, beginBy = Number.POSITIVE_INFINITY } = request
  let controller: Dispatcher.DispatchController | undefined
  let isOver = false
  let hints = 0
  let head: { status: number; headers: Record<string, string | string[] | undefined> } | undefined
  const chunks: Uint8Array[] = []
  let length = 0

  const deadline = setTimeout(late, request.totalMs)
  let bodyDeadline: NodeJS.Timeout | undefined

  function late(): void {
    const error = new EgressError('timeout', 'no answer in time')
    end(() => fail(error))
    controller?.abort(error)
  }

  function end(settle: () => void): void {
    if (isOver) return
    isOver = true
    clearTimeout(deadline)
    clearTimeout(bodyDeadline)
    settle()
  }

  /**
   * Resolves with a failure of the other server, and rejects with a defect of our own. If the
   * status is enough, an answer whose body fails is an answer.
   */
  function fail(error: Error): void {
    const failure = exchangeFailure(error)
    if (failure === undefined) reject(error)
    else if (head !== undefined && bodyWithinMs !== undefined) answer(true)
    else resolve({ failure, error })
  }

  function answer(isCut: boolean): void {
    if (head === undefined) return
    const read = Buffer.concat(chunks)
    const body = isCut ? read.subarray(0, answerBytesMax) : read
    resolve({ ...head, body, isCut })
  }

  const { origin, pathname, search } = url
  const { method, headers = {}, body = null } = request
  dispatcher.dispatch(
    { origin, path: pathname + search, method, headers, body },
    {
      // Called right before the request is written. An error thrown here ends the exchange and
      // leaves the connection to the next one.
      onRequestStart(started) {
        if (isOver) throw new EgressError('timeout', 'connected after the end')
        if (performance.now() > beginBy) throw new EgressError('not_begun', 'connected too late')
        controller = started
      },
      onResponseStart(_, status, received) {
        if (status >= 200) {
          head = { status, headers: received }
          if (bodyWithinMs !== undefined) bodyDeadline = setTimeout(late, bodyWithinMs)
        } else if (++hints > hintsMax)
          controller?.abort(new EgressError('body_error', 'hints without end'))
      },
      onResponseData(_, chunk) {
        if (isOver) return
        chunks.push(chunk)
        length += chunk.length
        if (length <= answerBytesMax) return
        end(() => answer(true))
        controller?.abort(new EgressError('body_error', 'the rest is not read'))
      },
      onResponseEnd() {
        end(() => answer(false))
      },
      onResponseError(_, error) {
        end(() => fail(error))
      },
    },
  )
  return promise
}

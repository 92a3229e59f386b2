/**
 * Hands a body to its handler while it arrives. The handler decides the pace: bytes that it does not
 * take wait at their sender. So the deadline of a whole request does not apply, only a least rate for
 * the time in which the handler waits for bytes.
 */
import type { IncomingMessage } from 'node:http'
import { RefusedError, refuse } from '../platform/errors.ts'

/** Milliseconds for which a sender may be silent. */
const silenceMsMax = 30_000
/** Bytes a second that a sender needs on average beyond that. */
const rateMin = 1_024

/** Throws `RefusedError` if the body is too large or too slow, and the signal's reason. */
export async function* streamedBody(
  request: IncomingMessage,
  { bytesMax, signal }: { bytesMax: number; signal: AbortSignal },
  now = () => performance.now(),
): AsyncGenerator<Uint8Array> {
  // Leaving the loop must not close the connection: its caller gets an answer.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>
  let bytes = 0
  let leftMs = silenceMsMax
  try {
    for (;;) {
      const startedAt = now()
      const next = await withinMs(leftMs, signal, chunks.next())
      if (next.done === true) return
      bytes += next.value.length
      if (bytes > bytesMax) throw new RefusedError(bodyTooLarge(bytesMax))
      const earnedMs = (next.value.length * 1_000) / rateMin
      leftMs = Math.min(silenceMsMax, leftMs - (now() - startedAt) + earnedMs)
      if (leftMs <= 0) throw tooSlow()
      yield next.value
    }
  } finally {
    // Until the iterator has ended, `resume` has no effect, and the rest of the body is not dropped.
    void chunks.return?.().then(() => request.resume())
  }
}

export function bodyTooLarge(bytesMax: number) {
  return refuse('payload_too_large', { message: `The body is over ${bytesMax} bytes.` })
}

const tooSlow = () => new RefusedError(refuse('request_timeout'))

async function withinMs<Result>(
  ms: number,
  signal: AbortSignal,
  work: Promise<Result>,
): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(signal.reason as Error)
  const late = setTimeout(() => reject(tooSlow()), ms)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', stop)
  }
}

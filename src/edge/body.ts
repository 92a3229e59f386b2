/**
 * Reads a body into memory. The limit is checked as bytes arrive, because a check at the end does
 * not limit memory.
 */
import type { IncomingMessage } from 'node:http'
import type { Refusal } from '../platform/errors.ts'
import type { HeldBody, OpenBodies } from './open-bodies.ts'

export type Body =
  | { kind: 'bytes'; bytes: Buffer }
  | { kind: 'too_large' }
  /** The caller closed the connection, or the HTTP parser rejected the rest of the request. */
  | { kind: 'lost' }
  /** The body was too slow, or its memory was needed. */
  | { kind: 'cut'; answer: Refusal }

export interface BodyReading {
  readonly body: Promise<Body>
  isSettled(): boolean
  /** Starts to read. A second call has no effect. */
  start(): void
  /** Drops the bytes that were read and those still to come. */
  release(): void
}

export interface BodyRoom {
  bytesMax: number
  bodies: OpenBodies
  /** The client network of the caller. The body is counted against its share of memory. */
  network: string
}

export function readBody(
  request: IncomingMessage,
  { bytesMax, bodies, network }: BodyRoom,
): BodyReading {
  const { promise, resolve } = Promise.withResolvers<Body>()
  let state: 'unread' | 'reading' | 'settled' = 'unread'
  let held: HeldBody | undefined
  let chunks: Buffer[] = []
  let length = 0

  function settle(body: Body): void {
    if (state === 'settled') return
    state = 'settled'
    chunks = []
    request.off('data', onData).off('end', onEnd).off('close', onLost).off('error', onLost)
    // Without a listener the rest is discarded and takes no memory.
    request.resume()
    if (body.kind === 'bytes') held?.finish()
    else held?.release()
    resolve(body)
  }
  function onData(chunk: Buffer): void {
    length += chunk.length
    if (length > bytesMax) {
      settle({ kind: 'too_large' })
      return
    }
    chunks.push(chunk)
    held?.grow(chunk.length)
  }
  function onEnd(): void {
    const [first] = chunks
    const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
    settle({ kind: 'bytes', bytes })
  }
  const onLost = (): void => settle({ kind: 'lost' })

  return {
    body: promise,
    isSettled: () => state === 'settled',
    start() {
      if (state !== 'unread') return
      state = 'reading'
      if (!hasBody(request)) settle({ kind: 'bytes', bytes: Buffer.alloc(0) })
      else if (Number(request.headers['content-length'] ?? 0) > bytesMax)
        settle({ kind: 'too_large' })
      else if (request.destroyed) onLost()
      else {
        held = bodies.open(network, (answer) => settle({ kind: 'cut', answer }))
        if (state === 'reading')
          request.on('data', onData).on('end', onEnd).on('close', onLost).on('error', onLost)
      }
    },
    release() {
      settle({ kind: 'lost' })
      held?.release()
    },
  }
}

/** Returns whether a request announces a body of any length. */
export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request
  return (
    headers['transfer-encoding'] !== undefined ||
    (headers['content-length'] !== undefined && headers['content-length'] !== '0')
  )
}

/** Reads a body into memory, counting as it arrives: a limit that is checked afterwards is not one. */
import type { IncomingMessage } from 'node:http'
import type { Refusal } from '../platform/http/errors.ts'
import type { HeldBody, OpenBodies } from './open-bodies.ts'

export type Body =
  | { kind: 'bytes'; bytes: Buffer }
  | { kind: 'too_large' }
  /** The caller has gone, or its connection was refused on the wire. */
  | { kind: 'lost' }
  /** It came too slowly, or there was no room for it. */
  | { kind: 'cut'; answer: Refusal }

export interface BodyReading {
  readonly body: Promise<Body>
  isSettled(): boolean
  /** Begins to read. A second call has no effect. */
  start(): void
  /** Drops what was read, and whatever is still to come. */
  release(): void
}

export interface BodyRoom {
  bytesMax: number
  bodies: OpenBodies
  /** Of the caller: whose share of the memory the body takes. */
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
    // The rest flows on without a listener, so that it takes no memory.
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

/** Whether a request announces a body, of whatever length. */
export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request
  return (
    headers['transfer-encoding'] !== undefined ||
    (headers['content-length'] !== undefined && headers['content-length'] !== '0')
  )
}

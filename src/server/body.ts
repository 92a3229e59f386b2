/** Reads a body into memory, counting as it arrives: a limit that is checked afterwards is not one. */
import type { IncomingMessage } from 'node:http'

export type Body =
  | { kind: 'bytes'; bytes: Buffer }
  | { kind: 'too_large' }
  /** The caller has gone, or its connection was refused on the wire. */
  | { kind: 'lost' }

/** `onStart` is called when the length announced is acceptable and before anything is read (100 Continue). */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  onStart: () => void,
): Promise<Body> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax)
    return Promise.resolve({ kind: 'too_large' })
  onStart()
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const settle = (body: Body): void => {
      request.off('data', onData).off('end', onEnd).off('close', onLost).off('error', onLost)
      resolve(body)
    }
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      if (length > bytesMax) settle({ kind: 'too_large' })
      else chunks.push(chunk)
    }
    const onEnd = (): void => {
      const [first] = chunks
      const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
      settle({ kind: 'bytes', bytes })
    }
    const onLost = (): void => settle({ kind: 'lost' })
    if (request.destroyed) onLost()
    else request.on('data', onData).on('end', onEnd).on('close', onLost).on('error', onLost)
  })
}

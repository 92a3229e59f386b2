/**
 * Sends one request over real HTTP with exactly the given headers. Returns the answer unchanged:
 * nothing is decoded and no redirect is followed.
 */
import { type IncomingHttpHeaders, request } from 'node:http'
import { testWaitMs } from '../fault/in-time.ts'

export interface Question {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
}

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/**
 * Sends the request to `base`, the address of the service, for example `http://127.0.0.1:41234`.
 */
export function ask(base: string, question: Question): Promise<Reply> {
  const { method = 'GET', path, headers = {}, body } = question
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    const sent = request(
      base,
      { method, path, headers: { ...length, ...headers }, agent: false },
      (reply) => {
        const chunks: Buffer[] = []
        reply.on('data', (chunk: Buffer) => chunks.push(chunk))
        reply.on('error', reject)
        reply.on('end', () =>
          resolve({
            status: reply.statusCode ?? 0,
            headers: reply.headers,
            body: Buffer.concat(chunks),
          }),
        )
      },
    )
    sent.on('error', reject)
    const end = () =>
      sent.destroy(new Error(`no answer within ${testWaitMs} ms: ${method} ${path}`))
    sent.setTimeout(testWaitMs, end)
    sent.end(body)
  })
}

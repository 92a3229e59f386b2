/**
 * The limit: node:http that reads the body of a request and answers fixed bytes, given in the first
 * message.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FixedAnswer {
  status: number
  /** Flat list: name, value, name, value, … */
  headers: string[]
  /** Base64. */
  body: string
}

process.once('message', (answer: FixedAnswer) => {
  const { status, headers } = answer
  const body = Buffer.from(answer.body, 'base64')
  const server = createServer((request, response) => {
    const write = (): void => {
      response.writeHead(status, headers)
      response.end(body)
    }
    if (request.method === 'GET') write()
    else request.on('data', () => undefined).on('end', write)
  })
  server.listen(0, '127.0.0.1', () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  )
})
process.once('disconnect', () => process.exit(0))

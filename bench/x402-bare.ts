/**
 * The minimum of a paid route: two calls to the facilitator and fixed bytes. It takes its task from
 * the first message.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'

export interface BareOrder {
  facilitator: string
  body: string
}

process.once('message', ({ facilitator, body }: BareOrder) => {
  const dispatcher = new Agent()
  const server = createServer((asked, response) => void answer(asked, response))
  async function answer({ headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.from(String(headers['payment-signature']), 'base64').toString()
    const paymentPayload: { accepted: unknown } = JSON.parse(text)
    const paymentRequirements = paymentPayload.accepted
    const question = JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements })
    for (const path of ['/verify', '/settle']) {
      const response = await request(`${facilitator}${path}`, {
        dispatcher,
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: question,
      })
      const { isValid, success } = (await response.body.json()) as Record<string, unknown>
      if (isValid !== true && success !== true) response.statusCode = 402
    }
    response.setHeader('Content-Type', 'application/json').end(body)
  }
  server.listen(0, '127.0.0.1', () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  )
})
process.once('disconnect', () => process.exit(0))

/**
 * The receiver of `webhooks.ts` in its own process. /hook answers at once, /cold closes its
 * connections, /slow takes five seconds, /drip never ends. It reports the arrivals at /hook on
 * request.
 */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ServerCertificate } from '../src/demo/certificates.ts'

export interface Arrival {
  path: string
  /** Event id. */
  id: string
  /** Milliseconds since 1970, with fractions. */
  at: number
}

export interface ReceiverReport {
  /** Arrivals since the last report. */
  arrivals: Arrival[]
  /** Microseconds since the start. */
  processorUs: number
}

const slowMs = 5_000
let arrivals: Arrival[] = []

process.once('disconnect', () => process.exit(0))
process.once('message', (certificate: ServerCertificate) => {
  const server = createServer(certificate, (request, response) => {
    const { url: path = '', headers } = request
    request.resume().on('end', () => {
      if (path === '/slow') setTimeout(() => response.end(), slowMs)
      else if (path === '/drip') {
        const dripping = setInterval(() => response.write('x'), 200)
        response.on('close', () => clearInterval(dripping))
      } else if (path.startsWith('/cold')) response.writeHead(200, { Connection: 'close' }).end()
      else {
        const at = performance.timeOrigin + performance.now()
        arrivals.push({ path, id: String(headers['service-webhook-id'] ?? ''), at })
        response.end()
      }
    })
  })
  server.listen(0, '127.0.0.1', () => {
    process.send?.((server.address() as AddressInfo).port)
    process.on('message', () => {
      const { user, system } = process.cpuUsage()
      process.send?.({ arrivals, processorUs: user + system } satisfies ReceiverReport)
      arrivals = []
    })
  })
})

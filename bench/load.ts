/**
 * A load generator in its own process: raw sockets, prepared requests, keep-alive. It costs a few
 * microseconds a request, so the figures are the server's. It takes its task from the first message
 * and reports in one message.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

export interface LoadOrder {
  port: number
  connections: number
  seconds: number
  /** A file of requests, each preceded by its length in 4 bytes; sent in turn, over and over. */
  requestsFile: string
  /** Number of requests sent before; it continues from there. Default 0. */
  sentBefore?: number
  /** Expected status of every answer; others are counted. */
  expectedStatus: number
}

export interface LoadReport {
  answers: number
  unexpected: number
  /** The first unexpected answer. */
  firstUnexpected: string
  seconds: number
  /** Processor seconds of the generator itself. */
  cpuSeconds: number
  p50Ms: number
  p99Ms: number
}

function readRequests(file: string): Buffer[] {
  const bytes = readFileSync(file)
  const requests: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at)
    requests.push(bytes.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return requests
}

const contentLength = Buffer.from('content-length: ')
const endOfHead = Buffer.from('\r\n\r\n')

/** Bytes of the first whole answer in `bytes`, or 0. Every server here sends Content-Length. */
function answerLength(bytes: Buffer): number {
  const head = bytes.indexOf(endOfHead)
  if (head < 0) return 0
  const text = bytes.toString('latin1', 0, head).toLowerCase()
  const at = text.indexOf(contentLength.toString('latin1'))
  const length = at < 0 ? 0 : Number.parseInt(text.slice(at + contentLength.length), 10)
  return bytes.length >= head + 4 + length ? head + 4 + length : 0
}

async function run(order: LoadOrder): Promise<LoadReport> {
  const requests = readRequests(order.requestsFile)
  const expected = `HTTP/1.1 ${order.expectedStatus} `
  const latencies: number[] = []
  let next = (order.sentBefore ?? 0) % requests.length
  let answers = 0
  let unexpected = 0
  let firstUnexpected = ''
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const endAt = startedAt + order.seconds * 1_000

  const connection = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true })
      let received: Buffer = Buffer.alloc(0)
      let wanted = 0
      let sentAt = 0
      const send = (): void => {
        sentAt = performance.now()
        wanted = 0
        socket.write(requests[next] as Buffer)
        next = (next + 1) % requests.length
      }
      const take = (): void => {
        const now = performance.now()
        answers++
        latencies.push(now - sentAt)
        if (received.toString('latin1', 0, expected.length) !== expected) {
          unexpected++
          firstUnexpected ||= received.toString('utf8', 0, 400)
        }
        received = received.subarray(wanted)
        if (now < endAt) send()
        else socket.end(() => resolve())
      }
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('data', (chunk) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
        if (wanted === 0) wanted = answerLength(received)
        if (wanted > 0 && received.length >= wanted) take()
      })
    })

  await Promise.all(Array.from({ length: order.connections }, connection))
  const { user, system } = process.cpuUsage(cpuBefore)
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return {
    answers,
    unexpected,
    firstUnexpected,
    seconds: (performance.now() - startedAt) / 1_000,
    cpuSeconds: (user + system) / 1e6,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}

if (process.send !== undefined) {
  process.once('message', (order: LoadOrder) => {
    void run(order).then((report) => process.send?.(report, () => process.disconnect()))
  })
}

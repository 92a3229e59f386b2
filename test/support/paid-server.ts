/** A server that sells one kind of thing, `/things/{id}`, to whoever pays on the spot. Its database may be shared with others. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openX402, type X402, type X402Settings } from '../../src/payments/x402-open.ts'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import type { Db } from '../../src/platform/db.ts'
import type { Answer } from '../../src/platform/endpoint.ts'
import { errorTable, refuse, UnavailableError } from '../../src/platform/errors.ts'
import type { TestChain } from './chain/anvil.ts'

export const publicUrl = 'https://scores.example.org'
export const payTo = '0x00000000000000000000000000000000000000aa'

export interface PaidServer extends X402 {
  base: string
  /** How often the work itself was done. */
  reads: number
  /** What was told of trouble. */
  troubles: string[]
  stop(): Promise<void>
}

export interface PaidServerOptions {
  db: Db
  chain: TestChain
  settings?: Partial<X402Settings>
  clock?: Clock
  /** `/things/404` is not there; any other thing is, unless this says otherwise. */
  read?(id: string): Promise<Answer>
}

/** The caller's: `after(stop)`. */
export async function startPaidServer(options: PaidServerOptions): Promise<PaidServer> {
  const { db, chain, clock = systemClock } = options
  const folder = mkdtempSync(join(tmpdir(), 'assay-test-'))
  const relayerKeyFile = join(folder, 'relayer.key')
  writeFileSync(relayerKeyFile, chain.relayerKey, { mode: 0o600 })
  const troubles: string[] = []
  const settings: X402Settings = {
    network: 'base-sepolia',
    payTo,
    amounts: { score_lookup: '10000', candidate_lookup: '10000', candidate_search: '20000' },
    maxTimeoutSeconds: 300,
    headerVersion: 1,
    secrets: [randomBytes(32).toString('hex')],
    facilitator: { kind: 'local', rpcUrl: chain.url, relayerKeyFile },
    ...options.settings,
  }
  const onTrouble = (what: string, fields: Record<string, string>) =>
    void troubles.push(`${what} ${JSON.stringify(fields)}`)
  const x402 = await openX402({ settings, publicUrl, db, clock, onTrouble })
  const paid: PaidServer = { ...x402, base: '', reads: 0, troubles, stop }
  const read = options.read ?? thing

  const server = createServer((request, response) => {
    const id = request.url?.split('/')[2] ?? ''
    const answering = x402.port.answer({
      meter: 'score_lookup',
      pathTemplate: '/things/{id}',
      description: 'A thing',
      path: { id },
      query: {},
      headers: request.headers,
      idempotencyKey: String(request.headers['idempotency-key'] ?? '') || null,
      read: () => {
        paid.reads++
        return read(id)
      },
      limit: () => Promise.resolve(null),
    })
    void write(response, answering)
  })
  async function stop(): Promise<void> {
    server.closeAllConnections()
    server.close()
    await x402.close()
    rmSync(folder, { recursive: true })
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  paid.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return paid
}

async function write(response: ServerResponse, answering: Promise<Answer>): Promise<void> {
  const { status, headers, body } = rendered(await answering.catch(refusalOf))
  response.writeHead(status, headers).end(JSON.stringify(body))
}

function thing(id: string): Promise<Answer> {
  return Promise.resolve(id === '404' ? refuse('not_found') : { status: 200, body: { id } })
}

function refusalOf(error: unknown): Answer {
  if (error instanceof UnavailableError) return refuse('unavailable')
  throw error
}

function rendered(answer: Answer) {
  if ('document' in answer) throw new Error('a paid read gives no document')
  const { headers = {} } = answer
  if ('status' in answer) return { status: answer.status, headers, body: answer.body }
  const { status, message } = errorTable[answer.refusal]
  return { status, headers, body: { error: answer.refusal, message } }
}

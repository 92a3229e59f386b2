/** A server that sells `/things/{id}` for x402 payments. Several servers can share a database. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from 'typebox'
import {
  openX402,
  type X402,
  type X402Settings,
} from '../../../src/billing/x402/settlement/open.ts'
import { type Answer, endpoint } from '../../../src/edge/http/endpoint.ts'
import { type Clock, systemClock } from '../../../src/platform/clock.ts'
import type { Db } from '../../../src/platform/db/db.ts'
import { refuse } from '../../../src/platform/errors.ts'
import { createMetrics } from '../../../src/platform/observability/metrics.ts'
import type { TestChain } from './chain/anvil.ts'
import { publicUrl, startEdge } from './edge.ts'

export const payTo = '0x00000000000000000000000000000000000000aa'

export interface PaidServer extends X402 {
  base: string
  /** Number of times the handler ran. */
  reads: number
  /** Reports of problems, in order. */
  troubles: string[]
  /** Returns the number of open connections. */
  connections(): Promise<number>
  /** Returns the payment metrics as Prometheus text. */
  counted(): Promise<string>
  /** Returns every line of the log. */
  logged(): string
  stop(): Promise<void>
}

export interface PaidServerOptions {
  db: Db
  chain: Pick<TestChain, 'relayerKey' | 'url'>
  settings?: Partial<X402Settings>
  clock?: Clock
  /** Limit a minute, for each payer and each address. */
  perMinute?: number
  /** Replaces the handler. By default `/things/404` does not exist and every other thing does. */
  read?(id: string): Promise<Answer>
}

/** Starts the server. Stop it with `after(() => server.stop())`. */
export async function startPaidServer(options: PaidServerOptions): Promise<PaidServer> {
  const { db, chain, clock = systemClock, perMinute = 10_000 } = options
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
  const metrics = createMetrics()
  const x402 = await openX402({ settings, publicUrl, db, clock, metrics, onTrouble })
  const paid: PaidServer = {
    ...x402,
    base: '',
    reads: 0,
    troubles,
    logged: () => '',
    counted: () => metrics.text(),
    connections,
    stop,
  }
  const read = options.read ?? thing

  const thingRead = endpoint({
    operationId: 'thing',
    method: 'GET',
    path: '/things/{id}',
    area: 'Things',
    summary: 'A thing',
    policy: {
      kind: 'paid',
      scope: 'scores:read',
      meter: 'score_lookup',
      limits: { perMinute, perDay: 100_000 },
    },
    priority: 'write',
    pathParameters: Type.Object({
      id: Type.String({
        pattern: '^@?[0-9]+$',
        oneSpelling: (id: string) => id.replace('@', ''),
      }),
    }),
    responses: {},
    answer: ({ path }) => {
      paid.reads++
      return read(path.id)
    },
  })
  const edge = await startEdge({
    endpoints: [thingRead],
    payments: x402.port,
    publicUrl,
  })
  async function connections(): Promise<number> {
    return Number(/^http_connections (\d+)/m.exec(await edge.metrics.text())?.[1])
  }
  async function stop(): Promise<void> {
    await edge.stop()
    await x402.close()
    rmSync(folder, { recursive: true })
  }
  paid.base = `http://127.0.0.1:${edge.port}`
  paid.logged = edge.logged
  return paid
}

function thing(id: string): Promise<Answer> {
  return Promise.resolve(id === '404' ? refuse('not_found') : { status: 200, body: { id } })
}

/**
 * One of several nodes on the same database: sample routes of each policy with the real keys,
 * credits and limits.
 */
import { Type } from 'typebox'
import { readConfig } from '../../../src/config/config.ts'
import { type Endpoint, endpoint } from '../../../src/edge/http/endpoint.ts'
import { inProcessRateLimiter } from '../../../src/edge/rate-limit/process-limiter.ts'
import { databaseRateLimiter } from '../../../src/edge/rate-limit/shared-limiter.ts'
import { createServer } from '../../../src/edge/server.ts'
import { openAdmission } from '../../../src/main/admission.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { openDb } from '../../../src/platform/db/db.ts'
import { refuse, UnavailableError } from '../../../src/platform/errors.ts'
import { openLog } from '../../../src/platform/observability/log.ts'
import { createMetrics } from '../../../src/platform/observability/metrics.ts'

export interface Node {
  base: string
  /** Completes pending refunds and records the last use of keys and sessions. */
  settle(): Promise<void>
  stop(): Promise<void>
}

const limits = { perMinute: 10_000, perDay: 100_000 }

const common = { area: 'sample', summary: 'Sample', responses: {}, priority: 'public' } as const

/** Sample endpoints. The id in `/things/{id}` selects the answer of the handler. */
export const things: Endpoint[] = [
  endpoint({
    ...common,
    operationId: 'getThing',
    method: 'GET',
    path: '/things/{id}',
    policy: { kind: 'paid', scope: 'scores:read', meter: 'score_lookup', limits },
    pathParameters: Type.Object({
      id: Type.String({
        pattern: '^@?[a-z0-9-]{1,40}$',
        oneSpelling: (id: string) => id.replace('@', ''),
      }),
    }),
    answer({ path: { id }, caller, idempotencyKey }) {
      if (id === 'absent') return refuse('not_found')
      if (id === 'away') throw new UnavailableError('away')
      if (id === 'broken') throw new Error('broken')
      if (id === 'unwritable') return { status: 200, body: 1n }
      return { status: 200, body: { id, caller: caller.kind, idempotencyKey } }
    },
  }),
  endpoint({
    ...common,
    operationId: 'makeThing',
    method: 'POST',
    path: '/things',
    policy: { kind: 'keyed', scope: 'webhooks:write', limits },
    idempotencyKey: 'required',
    body: {
      mediaTypes: ['application/json'],
      schema: Type.Object({}),
      bytesMax: 1_024,
      ambiguousReachesHandler: false,
      examples: {},
    },
    answer: ({ caller, idempotencyKey }) => ({ status: 201, body: { caller, idempotencyKey } }),
  }),
  endpoint({
    ...common,
    operationId: 'deleteThing',
    method: 'DELETE',
    path: '/things/{id}',
    policy: { kind: 'keyed', scope: 'agent-decisions:write', limits },
    pathParameters: Type.Object({ id: Type.String() }),
    answer: ({ path }) => ({ status: 200, body: path }),
  }),
]

/**
 * Starts a node. `env` holds settings that differ from the defaults. Stop it with `after(() =>
 * node.stop())`.
 */
export async function startNode(
  url: string,
  {
    env = {},
    endpoints = things,
  }: { env?: Record<string, string>; endpoints?: readonly Endpoint[] } = {},
): Promise<Node> {
  const publicUrl = 'https://scores.example.org'
  const config = readConfig({ PUBLIC_URL: publicUrl, ...env })
  const db = openDb({ url, connectionsMax: 4, applicationName: 'node', onError: () => {} })
  const log = openLog({ level: 'silent' })
  const { admission, close } = openAdmission({
    config,
    db,
    log,
    clock: systemClock,
    payments: undefined,
  })
  const server = createServer({
    endpoints,
    limiter: databaseRateLimiter({ db, fallback: inProcessRateLimiter({ nodes: 1 }) }),
    publicUrl,
    ...admission,
    trustedProxies: ['127.0.0.1'],
    readiness: () => Promise.resolve({ database: 'ok' }),
    log,
    metrics: createMetrics(),
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  return {
    base: `http://127.0.0.1:${port}`,
    settle: close,
    async stop() {
      await server.drain(0)
      await close()
      await db.close()
    },
  }
}

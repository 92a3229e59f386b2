/** The candidate routes with two keys that are always valid: `live` and `test`. */
import { readConfig } from '../../../src/config/config.ts'
import { openSandbox } from '../../../src/demo/sandbox/open.ts'
import type { PresentedKey } from '../../../src/edge/http/callers.ts'
import { endpointsOf } from '../../../src/edge/http/endpoint.ts'
import type { ServerOptions } from '../../../src/edge/server.ts'
import type { Queryable } from '../../../src/platform/db/db.ts'
import { readsOfPrimary } from '../../../src/platform/db/replicas.ts'
import { loadReleasedVocabulary } from '../../../src/standard/releases.ts'
import { candidateContract } from '../../../src/workers/candidates/contract.ts'
import { candidateHandlers } from '../../../src/workers/candidates/handlers.ts'
import { candidateReads, type ReadsOptions } from '../../../src/workers/candidates/reads.ts'
import { names } from '../build/candidates.ts'
import { origin } from '../build/credentials.ts'
import { now } from '../build/workers.ts'
import type { Reply } from './ask.ts'
import { startEdge, type TestEdge } from './edge.ts'

const keyOf = (environment: 'live' | 'test'): PresentedKey => ({
  caller: { kind: 'key', keyId: crypto.randomUUID(), accountId: crypto.randomUUID(), environment },
  scopes: ['candidates:read', 'scores:read'],
  credits: { balance: 1, suspended: false },
})
const keys: Record<string, PresentedKey> = {
  'Bearer live': keyOf('live'),
  'Bearer test': keyOf('test'),
}
const { reads: sandbox } = openSandbox({
  publicUrl: origin.url,
  records: loadReleasedVocabulary().records,
  clock: () => now,
})
const rates = { perMinute: 60_000, perDay: 1_000_000 }
const limits = { ...readConfig({}), keyLimits: rates, agentReportLimits: rates }

/** Starts the routes. Stop them with `after(() => edge.stop())`. */
export function startCandidates(
  { db, ...options }: { db: Queryable } & Partial<ReadsOptions>,
  server: Partial<ServerOptions> = {},
): Promise<TestEdge> {
  const live = candidateReads({
    names,
    origin,
    formerOrigins: [],
    signers: { of: () => Promise.resolve(undefined) },
    clock: () => now,
    reads: readsOfPrimary(db),
    ...options,
  })
  return startEdge({
    endpoints: endpointsOf(candidateContract, candidateHandlers({ live, sandbox }), limits),
    authenticate: (authorization) => Promise.resolve(keys[authorization] ?? null),
    ...server,
  })
}

/**
 * Returns everything that a caller can compare: the answer without its date, request id and
 * rate-limit header.
 */
export function seen({ status, headers, body }: Reply): unknown {
  const { date: _, 'x-request-id': __, ratelimit: ___, ...rest } = headers
  return { status, headers: rest, body: body.toString() }
}

/**
 * Paid reads behind the real edge in two other forms. `free of a database`: keys, limits, rows and
 * balances in memory, which is the most that the edge can do. `one by one`: every look-up, read and
 * debit is a statement of its own, as in a first implementation. The first message says which.
 */
import { keyDigest } from '../src/accounts/access/api-key.ts'
import { presentedKey } from '../src/accounts/access/authenticate.ts'
import { findValidKeys } from '../src/accounts/access/store.ts'
import { debitBatch } from '../src/billing/credits/debit.ts'
import { readConfig } from '../src/config/config.ts'
import { originOf } from '../src/credentials/payload.ts'
import type { Metering } from '../src/edge/http/admission.ts'
import type { PresentedKey } from '../src/edge/http/callers.ts'
import { endpointsOf } from '../src/edge/http/endpoint.ts'
import { inProcessRateLimiter } from '../src/edge/rate-limit/process-limiter.ts'
import { databaseRateLimiter } from '../src/edge/rate-limit/shared-limiter.ts'
import { createServer, type ServerOptions } from '../src/edge/server.ts'
import { type Db, openDb } from '../src/platform/db/db.ts'
import { readsOfPrimary } from '../src/platform/db/replicas.ts'
import { refuse } from '../src/platform/errors.ts'
import { openLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/platform/observability/metrics.ts'
import { candidateContract } from '../src/workers/candidates/contract.ts'
import { candidateHandlers } from '../src/workers/candidates/handlers.ts'
import { foundCandidate, publicScore } from '../src/workers/candidates/public-read.ts'
import {
  type CandidateReads,
  findBySnapshot,
  findByUsername,
} from '../src/workers/candidates/reads.ts'
import { candidateSearch } from '../src/workers/candidates/search.ts'
import { skillNames } from '../src/workers/candidates/skill-names.ts'

export interface CreditsServerOrder {
  kind: 'free of a database' | 'one by one'
  url: string
  publicUrl: string
  /** Username that is read. */
  username: string
  scoreId: string
}

type Parts = Pick<ServerOptions, 'authenticate' | 'metering' | 'limiter'> & { live: CandidateReads }

const limits = { perMinute: 60_000, perDay: 100_000_000 }

process.once('message', (order: CreditsServerOrder) => void serve(order))
process.once('disconnect', () => process.exit(0))

async function serve(order: CreditsServerOrder): Promise<void> {
  const { kind, url, publicUrl } = order
  const db = openDb({
    url,
    connectionsMax: 10,
    connectionWaitMs: 30_000,
    applicationName: kind,
    onError: () => {},
  })
  const { live, ...parts } =
    kind === 'one by one' ? oneByOne(db, order) : await withoutDatabase(db, order)
  const endpoints = endpointsOf(candidateContract, candidateHandlers({ live, sandbox: live }), {
    ...readConfig({}),
    keyLimits: limits,
    agentReportLimits: limits,
  })
  const server = createServer({
    endpoints,
    publicUrl,
    ...parts,
    authenticateSession: () => Promise.resolve(null),
    failedKeyLimits: limits,
    notFoundLimits: limits,
    trustedProxies: [],
    readiness: () => Promise.resolve({}),
    // Writes one line a request, as the service does, and discards it.
    log: openLog({ level: 'info', to: { write: () => undefined } }),
    metrics: createMetrics(),
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  process.send?.({ port })
}

function oneByOne(db: Db, { url, publicUrl }: CreditsServerOrder): Parts {
  const limiterDb = openDb({
    url,
    connectionsMax: 2,
    applicationName: 'limits',
    synchronousCommit: 'off',
    onError: () => {},
  })
  const fallback = inProcessRateLimiter({ nodes: 1 })
  const metering: Metering = {
    shortfall: () => null,
    async charge({ caller, meter, operationId: operation, requestId: reference }) {
      const { accountId, keyId } = caller
      const debit = { accountId, keyId, amount: 1, reference, meter, operation }
      const [debited] = await debitBatch(db, [debit])
      return debited?.kind === 'charged'
        ? { charged: 1, remaining: debited.remaining }
        : refuse('insufficient_credits')
    },
    refund: () => undefined,
  }
  return {
    // A limiter for each call: nothing is batched.
    limiter: {
      take: (caller, policy) =>
        databaseRateLimiter({ db: limiterDb, fallback }).take(caller, policy),
      isFull: () => false,
    },
    metering,
    async authenticate(authorization) {
      const digest = keyDigest(authorization.slice('Bearer '.length))
      const [key] = await findValidKeys(db, [digest.toString('hex')], new Date())
      return key === undefined ? null : presentedKey(key)
    },
    live: singleReads(db, publicUrl),
  }
}

function singleReads(db: Db, publicUrl: string): CandidateReads {
  const origin = originOf(publicUrl)
  return {
    search: (q, page) => candidateSearch(readsOfPrimary(db), skillNames([]))(q, page),
    async candidate(username) {
      const [row] = await findByUsername(db, [username], new Date())
      return row === undefined ? null : foundCandidate(row, origin)
    },
    async score(id) {
      const [row] = await findBySnapshot(db, [id], new Date())
      return row === undefined ? null : publicScore(row, origin)
    },
    credential: () => Promise.resolve({ missing: 'score' }),
  }
}

/** The answers come from the database, read once. */
async function withoutDatabase(
  db: Db,
  { publicUrl, username, scoreId }: CreditsServerOrder,
): Promise<Parts> {
  const reads = singleReads(db, publicUrl)
  const [detail, score] = [await reads.candidate(username), await reads.score(scoreId)]
  const found = await reads.search(username.slice(0, 3), { limit: 18 })
  await db.close()
  const id = '0'.repeat(8)
  const caller = { kind: 'key', keyId: id, accountId: id, environment: 'live' } as const
  const key: PresentedKey = {
    caller,
    scopes: ['candidates:read', 'scores:read'],
    credits: { balance: 1, suspended: false },
  }
  const verdict = {
    allowed: true,
    retryAfterSeconds: 0,
    minute: { limit: 60_000, remaining: 1, resetSeconds: 60 },
    day: { limit: 100_000_000, remaining: 1, resetSeconds: 60 },
  }
  return {
    limiter: { take: () => Promise.resolve(verdict), isFull: () => false },
    metering: {
      shortfall: () => null,
      charge: () => Promise.resolve({ charged: 1, remaining: 1 }),
      refund: () => undefined,
    },
    authenticate: () => Promise.resolve(key),
    live: {
      search: () => Promise.resolve(found),
      candidate: () => Promise.resolve(detail),
      score: () => Promise.resolve(score),
      credential: () => Promise.resolve({ missing: 'score' }),
    },
  }
}

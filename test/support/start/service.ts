/**
 * The real service on its own port and database: every module, and every job on demand instead of
 * on a timer.
 */
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { callWriter } from '../../../src/accounts/request-log/writer.ts'
import { readConfig } from '../../../src/config/config.ts'
import {
  type IssuedCredential,
  issueCredentials,
  tendLists,
} from '../../../src/credentials/issue.ts'
import { originOf, type Score } from '../../../src/credentials/payload.ts'
import { publishDueLists } from '../../../src/credentials/publish-lists.ts'
import { type Signer, signerOfPem } from '../../../src/credentials/signing-key.ts'
import { readReleaseFacts } from '../../../src/discovery/release-facts.ts'
import { inProcessRateLimiter } from '../../../src/edge/rate-limit/process-limiter.ts'
import { databaseRateLimiter } from '../../../src/edge/rate-limit/shared-limiter.ts'
import { createServer } from '../../../src/edge/server.ts'
import { createService, type Service } from '../../../src/main/http-app.ts'
import { openEngine } from '../../../src/main/scoring.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { readsOfPrimary } from '../../../src/platform/db/replicas.ts'
import { type Log, openLog } from '../../../src/platform/observability/log.ts'
import { createMetrics } from '../../../src/platform/observability/metrics.ts'
import { statusPages } from '../../../src/web/public/status.ts'
import { siteOf } from '../../../src/web/public-page.ts'
import { contextAt } from '../build/actions.ts'
import { createSigningKey } from '../build/signing-keys.ts'
import { testRing } from '../build/webhooks.ts'
import { type TestDatabase, testDatabase } from './database.ts'

export interface TestService extends Service {
  /** Address of the service. */
  base: string
  publicUrl: string
  database: TestDatabase
  /** Signing keys whose private half the service can read, by kid. */
  signers: Map<string, Signer>
  stop(): Promise<void>
}

/**
 * Starts the service. It trusts X-Forwarded-For from 127.0.0.1, so that a test can act as many
 * callers. With `beside`, the service is another node of the same deployment. Stop it with
 * `after(stop)`; the first node must stop last.
 */
export async function startService(
  publicUrl: string,
  beside?: TestService,
  {
    env = {},
    log = openLog({ level: 'silent' }),
  }: { env?: Record<string, string>; log?: Log } = {},
): Promise<TestService> {
  const database = beside?.database ?? (await testDatabase())
  const { db } = database
  const config = readConfig({ PUBLIC_URL: publicUrl, ...env })
  const release = readReleaseFacts(join(import.meta.dirname, '../../..'))
  const signers = new Map<string, Signer>()
  const service = createService({
    config,
    db,
    callsDb: db,
    reads: readsOfPrimary(db),
    log,
    clock: systemClock,
    release,
    secrets: testRing,
    engine: await openEngine(log),
    metrics: createMetrics(),
    signers: { of: async (kid) => signers.get(kid) },
  })
  await service.registryCache.refresh()
  const calls = callWriter({
    db,
    onOutage: (error) => log.warn('calls are missing', { why: String(error) }),
    everyMs: 50,
  })
  const status = statusPages(siteOf(publicUrl, null), {
    clock: systemClock,
    probe: async () => ({ isReady: true, checks: { database: 'ok', payments: 'degraded: none' } }),
    survey: () => ({
      live: [{ jobs: {} }],
      jobs: ['send mails', 'deliver webhooks', 'recompute scores'].map((name) => ({
        name,
        isLate: false,
      })),
    }),
    history: async () => ({
      since: new Date(Date.now() - 86_400_000),
      changes: [
        {
          part: 'webhooks',
          state: 'fails',
          beganAt: new Date(Date.now() - 86_400_000),
          endedAt: new Date(Date.now() - 86_000_000),
        },
      ],
    }),
    release: '1.0.0',
    startedAt: new Date(),
  })
  const server = createServer({
    endpoints: [...service.endpoints, ...service.pages, ...status, ...service.operatorEndpoints],
    operatorNetworks: config.operatorAllowFrom,
    notFoundPage: service.notFoundPage,
    limiter: databaseRateLimiter({ db, fallback: inProcessRateLimiter({ nodes: 1 }) }),
    publicUrl,
    ...service.admission,
    trustedProxies: ['127.0.0.1'],
    readiness: () => Promise.resolve({ database: 'ok' }),
    log,
    calls,
    metrics: createMetrics(),
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const stop = async (): Promise<void> => {
    await server.drain(0)
    await calls.close()
    if (beside === undefined) await database.drop()
  }
  return { ...service, base: `http://127.0.0.1:${port}`, publicUrl, database, signers, stop }
}

export interface TestIssuer {
  signer: Signer
  issue(score: Score): Promise<IssuedCredential>
  /** Signs the lists that are due and refreshes the registry cache of the service. */
  publish(): Promise<void>
}

/**
 * Issues for the address of the service with `signer`, the active key of another node. Without it,
 * creates and registers a signing key.
 */
export async function startIssuing(
  service: TestService,
  signer: Signer = newSigner(),
): Promise<TestIssuer> {
  const { db } = service.database
  await createSigningKey(contextAt(db, systemClock()), signer.kid)
  service.signers.set(signer.kid, signer)
  const origin = originOf(service.publicUrl)
  const issuer = { origin, signer, validityDays: 365, supersedeRevokes: false }
  const publish = async (): Promise<void> => {
    await publishDueLists(db, issuer, systemClock())
    await service.registryCache.refresh()
  }
  await tendLists(db, issuer, systemClock())
  await publish()
  return {
    signer,
    publish,
    issue: (score) =>
      db.transaction(async (tx) => {
        const [issued] = await issueCredentials(tx, issuer, [{ ...score, issuedAt: systemClock() }])
        if (issued === undefined) throw new Error('nothing was issued')
        return issued
      }),
  }
}

function newSigner(): Signer {
  const { privateKey } = generateKeyPairSync('ed25519')
  const signer = signerOfPem(String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  if (signer === null) throw new Error('a fresh Ed25519 key is no signing key')
  return signer
}

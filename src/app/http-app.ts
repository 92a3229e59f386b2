/** The composition root of whatever serves: it brings the rooms that answer together, opens nothing by itself and listens to nothing. */
import { accountEndpoints } from '../accounts/endpoints.ts'
import { accountDecisionEndpoints } from '../agent-decisions/account-routes.ts'
import { agentDecisionEndpoints } from '../agent-decisions/endpoints.ts'
import { candidateContract } from '../candidates/contract.ts'
import { candidateHandlers } from '../candidates/handlers.ts'
import { candidateReads } from '../candidates/reads.ts'
import { skillNames } from '../candidates/skill-names.ts'
import type { Config } from '../config/config.ts'
import { discoveryContract } from '../discovery/contract.ts'
import type { StandardFacts } from '../discovery/engine.ts'
import { discoveryHandlers } from '../discovery/handlers.ts'
import type { ReleaseFacts } from '../discovery/release-manifest.ts'
import type { Clock } from '../platform/clock.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db } from '../platform/db/db.ts'
import type { OperatorLimits } from '../platform/http/contract.ts'
import { type Endpoint, endpointsOf, type RefusalPage } from '../platform/http/endpoint.ts'
import type { Job } from '../platform/job-runner.ts'
import type { Log } from '../platform/observability/log.ts'
import { sandboxContract } from '../sandbox/contract.ts'
import { sandboxHandlers } from '../sandbox/handlers.ts'
import { openSandbox } from '../sandbox/open.ts'
import { scoreCredentialContract } from '../score-credentials/contract.ts'
import { scoreCredentialHandlers } from '../score-credentials/handlers.ts'
import { originOf } from '../score-credentials/payload.ts'
import {
  openRegistryCache,
  type RegistryCache,
  registryCacheRefreshMs,
} from '../score-credentials/registry-cache.ts'
import type { Signers } from '../score-credentials/signers.ts'
import { skillCatalogOf, type Vocabulary } from '../skill-standard/catalog.ts'
import { skillStandardContract } from '../skill-standard/contract.ts'
import { skillStandardHandlers } from '../skill-standard/handlers.ts'
import { loadReleasedVocabulary } from '../skill-standard/vocabulary.ts'
import { assetEndpoints } from '../web/assets.ts'
import { dashboardPages } from '../web/dashboard/pages.ts'
import { notFoundPage } from '../web/refusal-page.ts'
import { signInEndpoints } from '../web/sign-in.ts'
import {
  type AccountWebhooksOptions,
  accountWebhookEndpoints,
} from '../webhooks/endpoints/account-routes.ts'
import { webhookEndpoints } from '../webhooks/endpoints/routes.ts'
import { webhookDeclarations } from '../webhooks/events/declarations.ts'
import type { X402 } from '../x402/settlement/open.ts'
import { type Admission, type Admitting, admitting } from './admission.ts'
import { servingPaymentJobs } from './payments.ts'
import { type EngineHere, type EngineWatch, watchEngine } from './scoring-engine.ts'
import { signingHere } from './signing.ts'

export interface ServiceParts {
  config: Config
  db: Db
  log: Log
  clock: Clock
  release: ReleaseFacts
  /** Seals the secrets of webhooks. Null: nobody can create an endpoint. */
  secrets: Keyring | null
  engine: EngineHere
  /** The private keys of this machine. */
  signers: Signers
  /** Absent: nobody can pay on the spot. */
  x402?: X402 | null
}

export interface Service extends Pick<Admitting, 'keysState'> {
  endpoints: readonly Endpoint[]
  /** Pages for browsers, which are not in the contract. */
  pages: readonly Endpoint[]
  /** Shown to browsers on paths that match nothing. */
  notFoundPage: RefusalPage
  registryCache: RegistryCache
  admission: Admission
  engineState: EngineWatch['state']
  /** What every serving process does beside answering. */
  servingJobs: Job[]
  /** Writes down what is still in memory. */
  close(): Promise<void>
}

/** What answers requests. */
export function createService(parts: ServiceParts): Service {
  const { config, db, log, clock, release, engine, signers, secrets, x402 } = parts
  const { publicUrl, formerPublicUrls } = config
  const origin = originOf(publicUrl)
  const formerOrigins = formerPublicUrls.map(originOf)
  const registryCache = openRegistryCache(db, [publicUrl, ...formerPublicUrls])
  const signing = signingHere({ config, registryCache, signers })
  const vocabulary = loadReleasedVocabulary()
  const names = skillNames(vocabulary.records)
  const sandbox = openSandbox({ publicUrl, names, clock })
  const watch = watchEngine(engine, db, log)
  const webhooks: AccountWebhooksOptions = {
    db,
    clock,
    ring: secrets,
    rules: config.webhooks.rules,
    activeMax: config.webhookEndpointsMax,
    onSecretShown: (endpointId) =>
      log.info('a repeated creation showed its secret again', { endpointId }),
  }
  const limits: OperatorLimits = {
    key: config.keyLimits,
    'agent reports': { ...config.keyLimits, perDay: config.agentReportsPerDay },
  }
  const endpoints: Endpoint[] = [
    ...endpointsOf(
      skillStandardContract,
      skillStandardHandlers({ publicUrl, formerPublicUrls, vocabulary }),
      limits,
    ),
    ...endpointsOf(
      scoreCredentialContract,
      scoreCredentialHandlers({
        db,
        registryCache,
        publicUrl,
        formerPublicUrls,
        clock,
        keyLimits: config.keyLimits,
        engines: keptEngines(release),
        onUnregistered: (kid) =>
          log.error(
            'a right signature on a credential that was never issued: is a key stolen?',
            null,
            { kid },
          ),
      }),
      limits,
    ),
    ...endpointsOf(
      candidateContract,
      candidateHandlers({
        live: candidateReads({ db, names, origin, formerOrigins, signers, clock }),
        sandbox: sandbox.reads,
      }),
      limits,
    ),
    ...endpointsOf(sandboxContract, sandboxHandlers({ sandbox, clock }), limits),
    ...webhookEndpoints({ ...webhooks, limits: config.keyLimits }),
    ...accountWebhookEndpoints(webhooks),
    ...accountEndpoints({ db, clock, rules: config.sessions }),
    ...agentDecisionEndpoints({
      db,
      clock,
      stateUnlessSet: config.agentReportingDefault,
      limits: { ...config.keyLimits, perDay: config.agentReportsPerDay },
    }),
    ...accountDecisionEndpoints({
      db,
      clock,
      publicUrl,
      stateUnlessSet: config.agentReportingDefault,
    }),
  ]
  endpoints.push(
    ...endpointsOf(
      discoveryContract,
      discoveryHandlers({
        publicUrl,
        operations: () => endpoints,
        webhooks: webhookDeclarations,
        release,
        engine: watch.facts,
        standard: standardFacts(vocabulary, publicUrl),
        signing: signing.facts,
        signer: signing.envelopeSigner,
      }),
      limits,
    ),
  )
  const { admissionJobs, ...admitted } = admitting({
    config,
    db,
    log,
    clock,
    payments: x402?.port,
  })
  const registryCacheJob = {
    name: 'registry-cache',
    everyMs: registryCacheRefreshMs,
    run: () => registryCache.refresh(),
  }
  const servingJobs = [registryCacheJob, watch.job, ...admissionJobs, ...servingPaymentJobs(x402)]
  const pages = [
    ...assetEndpoints(),
    ...dashboardPages({ db, clock, publicUrl, sessionRules: config.sessions, webhooks }),
    ...signInEndpoints({
      db,
      clock,
      publicUrl,
      rules: config.sessions,
      sendsMail: config.mail !== null,
    }),
  ]
  return {
    endpoints,
    pages,
    notFoundPage: notFoundPage(new URL(publicUrl).host),
    registryCache,
    ...admitted,
    engineState: watch.state,
    servingJobs,
  }
}

function keptEngines({ files }: ReleaseFacts): Set<string> {
  const bundles = files.filter(({ role }) => role === 'bundle')
  return new Set(bundles.map(({ sha256 }) => sha256))
}

function standardFacts(vocabulary: Vocabulary, publicUrl: string): StandardFacts {
  const { version, catalog_hash, count, license } = skillCatalogOf(vocabulary, publicUrl)
  return { version, catalogHash: catalog_hash, skillCount: count, license }
}

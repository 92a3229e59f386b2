/**
 * Composes everything that answers requests. It opens nothing by itself and listens to nothing.
 */

import { skillNames } from '../candidates/skill-names.ts'
import { type Endpoint, endpointsOf, type RefusalPage } from '../platform/http/endpoint.ts'
import type { Job } from '../platform/job-runner.ts'
import { openSandbox, type Sandbox } from '../sandbox/open.ts'
import {
  openRegistryCache,
  type RegistryCache,
  registryCacheRefreshMs,
} from '../score-credentials/registry-cache.ts'
import { loadReleasedVocabulary } from '../skill-standard/vocabulary.ts'
import { assetEndpoints } from '../web/assets.ts'
import { dashboardPages } from '../web/dashboard/pages.ts'
import { startRefusalPage } from '../web/refusal-page.ts'
import { signInEndpoints } from '../web/sign-in.ts'
import type { X402 } from '../x402/settlement/open.ts'
import { type Admission, type Admitting, admitting } from './admission.ts'
import { contract } from './contract.ts'
import { type HandlerParts, serviceHandlers } from './handlers.ts'
import { servingPaymentJobs } from './payments.ts'
import { peppersMade } from './peppers.ts'
import { type EngineHere, type EngineWatch, watchEngine } from './scoring-engine.ts'
import { signingHere } from './signing.ts'

export interface ServiceParts
  extends Omit<
    HandlerParts,
    'vocabulary' | 'sandbox' | 'registryCache' | 'signing' | 'engineFacts'
  > {
  engine: EngineHere
  /** Absent: x402 payments are not accepted. */
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

/** Builds everything that answers requests. */
export function createService(parts: ServiceParts): Service {
  const { config, db, log, clock, engine, signers, x402 } = parts
  const { publicUrl, formerPublicUrls } = config
  const registryCache = openRegistryCache(db, [publicUrl, ...formerPublicUrls])
  const signing = signingHere({ config, registryCache, signers })
  const watch = watchEngine(engine, db, log)
  const vocabulary = loadReleasedVocabulary()
  const sandbox = openSandbox({ publicUrl, names: skillNames(vocabulary.records), clock })
  const handlers = serviceHandlers({
    ...parts,
    vocabulary,
    sandbox,
    registryCache,
    signing,
    engineFacts: watch.facts,
  })
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
  return {
    endpoints: endpointsOf(contract, handlers, config),
    pages: servicePages(parts, sandbox),
    notFoundPage: startRefusalPage(new URL(publicUrl).host),
    registryCache,
    ...admitted,
    engineState: watch.state,
    servingJobs: [registryCacheJob, watch.job, ...admissionJobs, ...servingPaymentJobs(x402)],
  }
}

function servicePages({ config, db, clock, secrets }: ServiceParts, sandbox: Sandbox): Endpoint[] {
  const { publicUrl, sessions, mail, signUp, webhookEndpointsMax, webhooks } = config
  const creation = { ring: secrets, rules: webhooks.rules, activeMax: webhookEndpointsMax }
  const context = { db, clock, publicUrl }
  return [
    ...assetEndpoints(),
    ...dashboardPages({
      ...context,
      sessionRules: sessions,
      webhooks: creation,
      peppers: () => peppersMade(config),
      sendsMail: mail !== null,
      sandbox,
      reportingState: config.agentReportingDefault,
    }),
    ...signInEndpoints({
      ...context,
      rules: sessions,
      sendsMail: mail !== null,
      isSignUpOpen: signUp.isOpen,
    }),
  ]
}

/** Composes the HTTP application. Opens no connection and no port. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findValidSessionIds } from '../accounts/api.ts'
import { sessionTimes } from '../accounts/sessions.ts'
import {
  openRegistryCache,
  type RegistryCache,
  registryCacheRefreshMs,
} from '../credentials/registry-cache.ts'
import { completionFile, credentialFile, readText } from '../demo/files.ts'
import { openSandbox, type Sandbox } from '../demo/sandbox/open.ts'
import { type Endpoint, endpointsOf, type RefusalPage } from '../edge/http/endpoint.ts'
import type { Job } from '../platform/job-runner.ts'
import { loadNotes } from '../standard/notes.ts'
import { loadReleasedVocabulary, openReleases } from '../standard/releases.ts'
import { assetEndpoints } from '../web/assets.ts'
import { dashboardPages } from '../web/dashboard/pages.ts'
import type { OpenApi } from '../web/docs/api.ts'
import { errorPage } from '../web/docs/errors.ts'
import { type DocsLibrary, readDocsLibrary } from '../web/docs/library.ts'
import { docsEndpoints } from '../web/docs/pages.ts'
import { dashboardEntries } from '../web/layout.ts'
import { publicPages } from '../web/public/pages.ts'
import { standardPaths } from '../web/public/standard.ts'
import { siteOf } from '../web/public-page.ts'
import { publicRefusalPage } from '../web/refusal-page.ts'
import { signInEndpoints } from '../web/sign-in.ts'
import { withSearchIndex } from '../workers/candidates/search-indexer.ts'
import { skillNames } from '../workers/candidates/skill-names.ts'
import { type Admission, openAdmission } from './admission.ts'
import type { ServiceOptions } from './context.ts'
import { contract } from './contract.ts'
import {
  type HandlerOptions,
  openApiOf,
  openCandidates,
  openServiceVerifier,
  serviceHandlers,
} from './handlers.ts'
import { openServices, type Services } from './operation-services.ts'
import { type OperatorSite, operatorApi, operatorConsole, operatorSite } from './operator-api.ts'
import { servingPaymentJobs } from './payments.ts'
import { type EngineWatch, watchEngine } from './scoring.ts'
import { openSignInProvider, type SignInProviderClient } from './sign-in-provider.ts'
import { openSigning, type Signing } from './signing.ts'

const root = join(import.meta.dirname, '../..')

export interface Service extends Pick<Signing, 'issuer' | 'whyUnsigned'> {
  endpoints: readonly Endpoint[]
  /** Pages for browsers, which are not in the contract. */
  pages: readonly Endpoint[]
  /** The operator API and the console. */
  operatorEndpoints: readonly Endpoint[]
  /** What a listener of the operator serves beside them. */
  operatorSite: OperatorSite
  /** The page for browsers on unknown paths. */
  notFoundPage: RefusalPage
  registryCache: RegistryCache
  admission: Admission
  operatorSessions: Admission['authenticateSession']
  engineState: EngineWatch['state']
  /** Jobs of every serving process. */
  servingJobs: Job[]
  /** Writes the records still in memory to the database, and closes outgoing connections. */
  close(): Promise<void>
}

export function createService(options: ServiceOptions): Service {
  const { config, db, log, clock, engine, signers, x402 } = options
  const { publicUrl, formerPublicUrls } = config
  const registryCache = openRegistryCache(db, [publicUrl, ...formerPublicUrls])
  const signing = openSigning({ config, registryCache, signers })
  const watch = watchEngine(engine, db, log)
  const vocabulary = loadReleasedVocabulary()
  const standard = { vocabulary, releases: openReleases(), notes: loadNotes() }
  const sandbox = openSandbox({ publicUrl, records: vocabulary.records, clock })
  const provider = openSignInProvider(config, log)
  const operatorProvider =
    config.operator === null
      ? null
      : openSignInProvider({ ...config, publicUrl: config.operatorUrl }, log)
  const docs = { site: siteOf(publicUrl, config.operatorName), library: readDocsLibrary(root) }
  const verifier = openServiceVerifier({ ...options, registryCache })
  const candidates = openCandidates(options, vocabulary)
  const services = openServices(config, options)
  const handlers = serviceHandlers({
    ...options,
    services,
    ...standard,
    sandbox,
    registryCache,
    verifier,
    candidates,
    signing,
    engineFacts: watch.facts,
    errorPage: (error) => errorPage(docs, error),
  })
  const { admissionJobs, ...admitted } = openAdmission({
    config,
    db,
    log,
    clock,
    payments: x402?.port,
  })
  const notFoundPage = publicRefusalPage(new URL(publicUrl).host)
  const performer = {
    db: withSearchIndex(db, () => skillNames(vocabulary.records)),
    clock,
    services,
  }
  const site = operatorSite(config, {
    db,
    clock,
    rules: config.sessions,
    sendsMail: config.mail !== null,
    isSignUpOpen: config.signUp.isOpen,
    provider: operatorProvider,
  })
  const registryCacheJob = {
    name: 'registry-cache',
    everyMs: registryCacheRefreshMs,
    run: () => registryCache.refresh(),
  }
  return {
    endpoints: endpointsOf(contract, handlers, config).map((declared) =>
      // Errors have pages for browsers, and so has an unknown one (decision D52).
      declared.operationId === 'getErrorDescription'
        ? { ...declared, refusalPage: publicRefusalPage(docs.site.host) }
        : declared,
    ),
    pages: servicePages(options, {
      ...standard,
      sandbox,
      library: docs.library,
      registryCache,
      verifier,
      candidates,
      provider,
      services,
    }),
    operatorEndpoints: [
      ...operatorApi(config, performer),
      ...operatorConsole(config, {
        performer,
        notFoundPage: config.operator === null ? notFoundPage : site.notFoundPage,
      }),
    ],
    operatorSite: site,
    notFoundPage,
    registryCache,
    issuer: signing.issuer,
    whyUnsigned: signing.whyUnsigned,
    ...admitted,
    async close() {
      await Promise.all([admitted.close(), provider?.close(), operatorProvider?.close()])
    },
    engineState: watch.state,
    servingJobs: [registryCacheJob, watch.job, ...admissionJobs, ...servingPaymentJobs(x402)],
  }
}

/** Returns a reader of the demo's credentials. Null: this deployment has no demo. */
function demoDocuments(dataDir: string): ((name: string) => Promise<string | null>) | null {
  if (!existsSync(completionFile(dataDir))) return null
  return (name) => readText(credentialFile(dataDir, name))
}

/** Any candidate of the sandbox with a score. */
function sandboxValuesOf({ scoreIds }: Sandbox): { username: string; scoreId: string } {
  const [[username, scoreId] = ['', '']] = scoreIds
  return { username, scoreId }
}

interface PageOptions
  extends Pick<
    HandlerOptions,
    'sandbox' | 'verifier' | 'candidates' | 'vocabulary' | 'releases' | 'notes'
  > {
  library: DocsLibrary
  registryCache: RegistryCache
  provider: SignInProviderClient | null
  services: Services
}

function servicePages(
  { config, db, callsDb, clock }: ServiceOptions,
  { sandbox, library, provider, services, ...standard }: PageOptions,
): Endpoint[] {
  const { publicUrl, formerPublicUrls, sessions, mail, signUp, webhooks } = config
  const context = { db, clock, publicUrl }
  return [
    ...assetEndpoints(),
    ...docsEndpoints({
      publicUrl,
      library,
      // The generator writes what the pages read.
      openApi: () => openApiOf(config) as unknown as OpenApi,
      clock,
      operatorName: config.operatorName,
      securityContact: config.securityContact,
      otherPaths: standardPaths(standard.vocabulary),
      dashboardPages: dashboardEntries,
      sandboxValues: sandboxValuesOf(sandbox),
    }),
    ...publicPages({
      publicUrl,
      formerPublicUrls,
      clock,
      ...standard,
      sandbox,
      operatorName: config.operatorName,
      areProfilesIndexed: config.areProfilesIndexed,
      demoDocument: demoDocuments(config.dataDir),
    }),
    ...dashboardPages({
      ...context,
      services,
      retryWaitsSeconds: webhooks.retryWaitsSeconds,
      sandbox,
      verify: standard.verifier.verify,
      prices: config.metering ? config.prices : null,
      callsDb,
      requestLogDays: config.requestLogDays,
      routes: new Map(Object.entries(contract)),
      validSessions: (asked) => findValidSessionIds(db, asked, sessionTimes(sessions, clock())),
    }),
    ...signInEndpoints({
      ...context,
      rules: sessions,
      sendsMail: mail !== null,
      isSignUpOpen: signUp.isOpen,
      provider,
    }),
  ]
}

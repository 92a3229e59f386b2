/** The handlers of every endpoint in the contract. */
import { sessionCookieName } from '../accounts/cookies.ts'
import { creditsHandlers } from '../billing/credits/handlers.ts'
import type { Config } from '../config/config.ts'
import { scoreCredentialHandlers } from '../credentials/handlers.ts'
import { originOf } from '../credentials/payload.ts'
import type { RegistryCache } from '../credentials/registry-cache.ts'
import { openVerifier, type Verifier } from '../credentials/verifier.ts'
import { sandboxHandlers } from '../demo/sandbox/handlers.ts'
import type { Sandbox } from '../demo/sandbox/open.ts'
import type { StandardFacts } from '../discovery/engine.ts'
import type { EngineFacts } from '../discovery/engine-facts.ts'
import { discoveryHandlers } from '../discovery/handlers.ts'
import { openApiDocument } from '../discovery/openapi.ts'
import type { ReleaseFacts } from '../discovery/release-manifest.ts'
import { operationsOf } from '../edge/http/contract.ts'
import type { PublicDocument } from '../edge/http/document.ts'
import type { Handlers } from '../edge/http/endpoint.ts'
import type { ErrorName } from '../platform/errors.ts'
import { agentDecisionHandlers } from '../reports/handlers.ts'
import { skillCatalogOf, type Vocabulary } from '../standard/catalog.ts'
import { skillStandardHandlers } from '../standard/handlers.ts'
import type { VocabularyNotes } from '../standard/notes.ts'
import type { PublishedReleases } from '../standard/releases.ts'
import { webhookHandlers } from '../webhooks/endpoints/handlers.ts'
import { webhookDeclarations } from '../webhooks/events/contract.ts'
import { candidateHandlers } from '../workers/candidates/handlers.ts'
import { type CandidateReads, candidateReads } from '../workers/candidates/reads.ts'
import { skillNames } from '../workers/candidates/skill-names.ts'
import type { ServiceOptions } from './context.ts'
import { contract } from './contract.ts'
import type { Services } from './operation-services.ts'
import type { Signing } from './signing.ts'

export interface HandlerOptions extends ServiceOptions {
  vocabulary: Vocabulary
  releases: PublishedReleases
  notes: VocabularyNotes
  sandbox: Sandbox
  registryCache: RegistryCache
  verifier: Verifier
  /** The reads of real candidates. */
  candidates: CandidateReads
  signing: Signing
  services: Services
  /** Returns the state of the scoring engine now. */
  engineFacts: () => EngineFacts
  /** Returns the page about an error, for browsers. */
  errorPage: (error: ErrorName) => PublicDocument
}

export function serviceHandlers(options: HandlerOptions): Handlers<typeof contract> {
  const { config, db, clock, release, registryCache, signing } = options
  const { publicUrl, formerPublicUrls } = config
  const { vocabulary, sandbox, candidates: live, services } = options
  const performer = { db, clock, services }
  return {
    ...skillStandardHandlers({
      publicUrl,
      formerPublicUrls,
      vocabulary,
      releases: options.releases,
      notes: options.notes,
    }),
    ...scoreCredentialHandlers({
      verifier: options.verifier,
      registryCache,
      publicUrl,
      formerPublicUrls,
      clock,
      keyLimits: config.keyLimits,
    }),
    ...candidateHandlers({ live, sandbox: sandbox.reads }),
    ...sandboxHandlers({ sandbox, clock }),
    ...webhookHandlers(performer),
    ...creditsHandlers({ db, publicUrl }),
    ...agentDecisionHandlers({ performer, publicUrl }),
    ...discoveryHandlers({
      publicUrl,
      sessionCookie: sessionCookieName(publicUrl),
      operations: operationsOf(contract, config),
      webhooks: webhookDeclarations,
      release,
      engine: options.engineFacts,
      standard: standardFacts(vocabulary, publicUrl),
      signing: signing.facts,
      errorPage: options.errorPage,
    }),
  }
}

/** Returns the contract of this deployment as an OpenAPI document. */
export function openApiOf(config: Config) {
  const { publicUrl } = config
  const operations = operationsOf(contract, config)
  return openApiDocument(operations, {
    publicUrl,
    webhooks: webhookDeclarations,
    sessionCookie: sessionCookieName(publicUrl),
  })
}

export function openServiceVerifier({
  log,
  release,
  metrics,
  ...options
}: Pick<
  HandlerOptions,
  'reads' | 'clock' | 'log' | 'release' | 'metrics' | 'registryCache'
>): Verifier {
  const count = metrics.counter({
    name: 'credentials_never_issued_total',
    help: 'Verified credentials with a right signature that were never issued.',
  })
  return openVerifier({
    ...options,
    engines: releasedEngines(release),
    onUnregistered(kid) {
      count()
      const message = 'a right signature on a credential that was never issued: is a key stolen?'
      log.error(message, null, { kid })
    },
  })
}

/** Returns the reads of real candidates. */
export function openCandidates(
  options: Pick<ServiceOptions, 'config' | 'reads' | 'clock' | 'signers'>,
  vocabulary: Vocabulary,
): CandidateReads {
  const { config } = options
  return candidateReads({
    ...options,
    names: skillNames(vocabulary.records),
    origin: originOf(config.publicUrl),
    formerOrigins: config.formerPublicUrls.map(originOf),
  })
}

/** Returns the SHA-256 of every engine of this release. */
function releasedEngines({ files }: ReleaseFacts): Set<string> {
  const bundles = files.filter(({ role }) => role === 'bundle')
  return new Set(bundles.map(({ sha256 }) => sha256))
}

function standardFacts(vocabulary: Vocabulary, publicUrl: string): StandardFacts {
  const { version, catalog_hash, count, license } = skillCatalogOf(vocabulary, publicUrl)
  return { version, catalogHash: catalog_hash, skillCount: count, license }
}

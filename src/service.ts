/** The composition root: the only file that names every room. It opens nothing by itself and listens to nothing. */
import { join } from 'node:path'
import { type Admission, admitting, creditJobs } from './admitting.ts'
import { agentDecisionEndpoints } from './agent-decisions/endpoints.ts'
import { sweepReports } from './agent-decisions/retention.ts'
import { candidateEndpoints } from './candidates/endpoints.ts'
import { searchIndexer } from './candidates/keep-index.ts'
import { candidateReads } from './candidates/reads.ts'
import { skillNames } from './candidates/skill-names.ts'
import type { Config } from './config.ts'
import { discoveryEndpoints } from './discovery/endpoints.ts'
import type { StandardFacts } from './discovery/engine.ts'
import type { ReleaseFacts } from './discovery/release-facts.ts'
import type { EngineHere } from './engine-here.ts'
import type { Clock } from './platform/clock.ts'
import type { Db } from './platform/db.ts'
import type { Endpoint } from './platform/endpoint.ts'
import type { Keyring } from './platform/keyring.ts'
import type { Log } from './platform/log.ts'
import { sweepRateWindows } from './platform/rate-limit-store.ts'
import { sandboxReads } from './sandbox/reads.ts'
import { scoreCredentialEndpoints } from './score-credentials/endpoints.ts'
import { type Mirror, mirrorRefreshMs, openMirror } from './score-credentials/mirror.ts'
import { originOf } from './score-credentials/payload.ts'
import type { Signers } from './score-credentials/signers.ts'
import { scoreJobs } from './score-jobs.ts'
import { issueRuleOf, scoringRulesOf } from './scores/scoring.ts'
import { scoringVocabulary } from './scores/scoring-vocabulary.ts'
import { signingHere, statusListJobs } from './signing.ts'
import { skillCatalogOf, type Vocabulary } from './skill-standard/catalog.ts'
import { skillStandardEndpoints } from './skill-standard/endpoints.ts'
import { loadVocabulary } from './skill-standard/vocabulary.ts'
import { webhookDeclarations } from './webhooks/declarations.ts'
import { webhookEndpoints } from './webhooks/endpoints.ts'
import type { Job } from './worker.ts'
import type { X402 } from './x402/open.ts'

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

export interface Service {
  endpoints: readonly Endpoint[]
  mirror: Mirror
  admission: Admission
  /** What every serving process does beside answering. */
  servingJobs: Job[]
  /** Writes down what is still in memory. */
  close(): Promise<void>
}

/** What answers requests. */
export function createService(parts: ServiceParts): Service {
  const { config, db, log, clock, release, engine, signers, secrets, x402 } = parts
  const { publicUrl } = config
  const origin = originOf(publicUrl)
  const formerOrigins = config.formerPublicUrls.map(originOf)
  const mirror = openMirror(db, [publicUrl, ...config.formerPublicUrls])
  const signing = signingHere({ config, mirror, signers })
  const vocabulary = released()
  const names = skillNames(vocabulary.records)
  const endpoints: Endpoint[] = [
    ...skillStandardEndpoints({ publicUrl, vocabulary }),
    ...scoreCredentialEndpoints({
      db,
      mirror,
      publicUrl,
      clock,
      keyLimits: config.keyLimits,
      engines: keptEngines(release),
      onUnregistered: (kid) =>
        log.error(
          'a right signature on a credential that was never issued: is a key stolen?',
          null,
          {
            kid,
          },
        ),
    }),
    ...candidateEndpoints({
      live: candidateReads({ db, names, origin, formerOrigins, signers, clock }),
      sandbox: sandboxReads(names),
      origin,
      limits: config.keyLimits,
    }),
    ...webhookEndpoints({
      db,
      clock,
      ring: secrets,
      rules: config.webhooks.rules,
      activeMax: config.webhookEndpointsMax,
      limits: config.keyLimits,
      onSecretShown: (endpointId) =>
        log.info('a repeated creation showed its secret again', { endpointId }),
    }),
    ...agentDecisionEndpoints({
      db,
      clock,
      stateUnlessSet: config.agentReportingDefault,
      limits: { ...config.keyLimits, perDay: config.agentReportsPerDay },
    }),
  ]
  endpoints.push(
    ...discoveryEndpoints({
      publicUrl,
      endpoints: () => endpoints,
      webhooks: webhookDeclarations,
      release,
      engine: engine.facts,
      standard: standardFacts(vocabulary, publicUrl),
      signing: signing.facts,
      signer: signing.envelopeSigner,
    }),
  )
  const { admissionJobs, ...admitted } = admitting({ config, db, clock, payments: x402?.port })
  const mirrorJob = { name: 'mirror', everyMs: mirrorRefreshMs, run: () => mirror.refresh() }
  const paymentsJob = {
    name: 'examine payments',
    everyMs: 30_000,
    run: async () => x402?.examine(),
  }
  const servingJobs = [mirrorJob, ...admissionJobs, ...(x402 == null ? [] : [paymentsJob])]
  return { endpoints, mirror, ...admitted, servingJobs }
}

function keptEngines({ files }: ReleaseFacts): Set<string> {
  const bundles = files.filter(({ role }) => role === 'bundle')
  return new Set(bundles.map(({ sha256 }) => sha256))
}

function standardFacts(vocabulary: Vocabulary, publicUrl: string): StandardFacts {
  const { version, catalog_hash, count, license } = skillCatalogOf(vocabulary, publicUrl)
  return { version, catalogHash: catalog_hash, skillCount: count, license }
}

/** What a worker does in the background. */
export function workerJobs(
  { config, db, log, clock, x402, signers, engine: { engine } }: ServiceParts,
  { mirror }: Service,
): Job[] {
  const vocabulary = released()
  const rules =
    engine && scoringRulesOf(engine, scoringVocabulary(vocabulary.records), issueRuleOf(config))
  const { issuer } = signingHere({ config, mirror, signers })
  return [
    ...statusListJobs(db, clock, issuer),
    { name: 'sweep rate limits', everyMs: 3_600_000, run: () => sweepRateWindows(db) },
    {
      name: 'index people',
      everyMs: 1_000,
      run: searchIndexer(db, skillNames(vocabulary.records)),
    },
    ...scoreJobs({ db, clock, log, rules, issuer }),
    ...creditJobs({ db, log, clock }),
    {
      name: 'sweep agent decision reports',
      everyMs: 3_600_000,
      run: () => sweepReports(db, { days: config.agentReportsDays, now: clock() }),
    },
    ...(x402 == null ? [] : paymentJobs(x402)),
  ]
}

function paymentJobs(x402: X402): Job[] {
  return [
    { name: 'reconcile payments', everyMs: 10_000, run: () => x402.reconcile() },
    { name: 'sweep payments', everyMs: 3_600_000, run: () => x402.sweep() },
    { name: 'survey payments', everyMs: 15_000, run: () => x402.survey() },
  ]
}

function released(): Vocabulary {
  return loadVocabulary(join(import.meta.dirname, '../vocabulary'))
}

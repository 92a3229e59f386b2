/** Composes the health of a process: its heartbeat, its readiness, and the survey of the service. */
import type { Config } from '../config/config.ts'
import type { RegistryCache } from '../credentials/registry-cache.ts'
import type { SchemaWatch } from '../database/schema-level.ts'
import { probe, type Readiness } from '../edge/health.ts'
import { heartbeatSweep, openHeartbeat, type ProcessHeartbeat } from '../health/heartbeat.ts'
import type { Facts } from '../health/parts.ts'
import { jobsFault, type SharedCheck } from '../health/processes.ts'
import { openStatusHistory, type StatusHistory, statusRecorder } from '../health/status-record.ts'
import { openSurvey, publishSurvey, type SurveyReader } from '../health/survey.ts'
import { openDb, sqlState } from '../platform/db/db.ts'
import { withDeadline } from '../platform/deadlines.ts'
import type { Job, JobRecords } from '../platform/job-runner.ts'
import { countDeliveries } from '../webhooks/api.ts'
import { deliveryGauges } from '../webhooks/delivery/delivery-metrics.ts'
import type { AppContext } from './context.ts'
import type { Service } from './http-app.ts'
import { paymentsState } from './payments.ts'

export interface HealthOptions {
  context: AppContext
  service: Service
  url: string
  closing: AsyncDisposableStack
  serves: boolean
  /** The records of this process's background jobs. Null if it runs none. */
  records: JobRecords | null
}

export interface Health {
  readiness(): Promise<Partial<Record<SharedCheck, Readiness[string]>>>
  survey: SurveyReader
  history: StatusHistory
  /** Jobs of every process. */
  jobs: Job[]
}

/** Opens the health and writes the first heartbeat. */
export async function openHealth(
  config: Config,
  { context, service, url, closing, serves, records }: HealthOptions,
): Promise<Health> {
  const { db, log, clock, schema, release, secrets, watchPool } = context
  const ownDb = openDb({
    url,
    pooling: config.databasePooling,
    connectionsMax: 1,
    applicationName: 'assay heartbeat',
    ...watchPool('heartbeat'),
  })
  closing.defer(() => ownDb.close())
  const heartbeat = openHeartbeat({
    db: ownDb,
    clock,
    release: release.version,
    abilities: async () => ({
      serves,
      signs: (await service.issuer()) !== undefined,
      opensSecrets: secrets !== null,
      jobs: records && Object.fromEntries(records),
    }),
  })
  await heartbeat.beat()
  closing.defer(() =>
    heartbeat.end().catch((error: unknown) => {
      log.warn('the end of this process was not recorded', { why: String(error) })
    }),
  )
  const survey = openSurvey(db, clock)
  return {
    survey,
    history: openStatusHistory(db, clock),
    jobs: [
      heartbeat.job,
      ...(records === null
        ? []
        : [heartbeatSweep(db, clock), ...statusRecorder({ db, clock }, () => jobFacts(survey))]),
    ],
    async readiness() {
      const [database, schemaFault, jobs] = await Promise.all([
        databaseState(heartbeat),
        schemaState(schema),
        jobsState(survey),
      ])
      return {
        database,
        schema: schemaFault,
        engine: service.engineState(),
        signing: signingState(service.registryCache),
        ...(context.x402 == null ? {} : { payments: paymentsState(context.x402) }),
        jobs,
      }
    },
  }
}

async function jobFacts(survey: SurveyReader): Promise<Omit<Facts, 'isDatabaseUp'>> {
  const { live, jobs } = await survey.read()
  return { hasJobs: live.some((one) => one.jobs !== null), jobs }
}

/** Publishes the figures about the whole service, in the one process of a node that is scraped. */
export function publishHealth(
  { survey, readiness }: Pick<Health, 'survey' | 'readiness'>,
  { db, clock, x402, metrics }: AppContext,
): void {
  publishSurvey(metrics, survey, clock)
  let failing: Record<string, number> = {}
  metrics.gauges(
    { name: 'check_failing', help: '1 if a check of /readyz is not ok.', labels: ['check'] },
    () => failing,
  )
  metrics.beforeScrape(async () => {
    const { checks } = await probe(readiness)
    const states = Object.entries(checks)
    failing = Object.fromEntries(states.map(([name, state]) => [name, state === 'ok' ? 0 : 1]))
  })
  const counted = deliveryGauges(metrics)
  metrics.beforeScrape(async () => {
    const now = clock()
    counted(await countDeliveries(db, now), now)
  })
  if (x402 != null) metrics.beforeScrape(() => x402.survey())
}

/** Proves that the database takes a write, at most once a second whatever the number of probes. */
async function databaseState(heartbeat: ProcessHeartbeat): Promise<string> {
  try {
    return await withDeadline(
      heartbeat.beat().then(() => 'ok'),
      'databaseAnswer',
      () => 'no answer',
    )
  } catch (error) {
    const state = sqlState(error instanceof Error ? (error.cause ?? error) : error)
    if (state === '57P03') return 'PostgreSQL is starting or stopping (SQLSTATE 57P03)'
    return state === undefined ? 'no answer' : `takes no write (SQLSTATE ${state})`
  }
}

/** Checks the schema on each probe, so that a node with an outdated release never appears ready. */
async function schemaState(schema: SchemaWatch): Promise<string> {
  // The readiness check `database` reports a database that does not answer.
  await withDeadline(schema.check(), 'databaseAnswer').catch(() => {})
  return schema.outdated() ?? 'ok'
}

/**
 * Without an active key, status lists and new credentials are refused. Verification, reads and
 * skills still answer, so the process stays ready.
 */
function signingState({ activeKey }: Pick<RegistryCache, 'activeKey'>): Readiness[string] {
  return activeKey() === undefined ? { degraded: 'no signing key is active' } : 'ok'
}

/** Background work that is not done degrades every process: its callers see old facts. */
async function jobsState(survey: SurveyReader): Promise<string | { degraded: string }> {
  // The readiness check `database` reports a database that does not answer.
  const found = await withDeadline(survey.read(), 'databaseAnswer').catch(() => survey.last())
  if (found === undefined) return { degraded: 'not known' }
  const fault = jobsFault(found)
  return fault === null ? 'ok' : { degraded: fault }
}

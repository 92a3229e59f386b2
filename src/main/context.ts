/** Opens everything that a serving process or a jobs process needs, and checks the database. */
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { X402 } from '../billing/x402/settlement/open.ts'
import type { Config } from '../config/config.ts'
import type { Signers } from '../credentials/signers.ts'
import { findForeignTables } from '../database/api-role.ts'
import { compareSchema, knownLevel } from '../database/migrate.ts'
import { migrationsDirectory } from '../database/open.ts'
import { type SchemaWatch, watchedDb, watchSchema } from '../database/schema-level.ts'
import { readReleaseFacts } from '../discovery/release-facts.ts'
import type { ReleaseFacts } from '../discovery/release-manifest.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import { type Db, openDb, sql } from '../platform/db/db.ts'
import { openReplicas, type PublicReads, readsOfPrimary } from '../platform/db/replicas.ts'
import type { Job } from '../platform/job-runner.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import { startTracing } from '../platform/observability/tracing.ts'
import { type DatabaseWatch, watchDatabase } from './database-watch.ts'
import { missingPayee, openPayments } from './payments.ts'
import { type OpenedEngine, openEngine } from './scoring.ts'
import { openSecretsKeyring } from './secrets-keyring.ts'

const root = join(import.meta.dirname, '../..')

export interface ServiceOptions {
  config: Config
  db: Db
  /** The database of the request log: `db`, if the operator named no other. */
  callsDb: Db
  reads: PublicReads
  log: Log
  clock: Clock
  release: ReleaseFacts
  /** Encrypts the signing secrets of webhooks. If null, no endpoint can be created. */
  secrets: Keyring | null
  /** The private keys of this machine. */
  signers: Signers
  engine: OpenedEngine
  metrics: Metrics
  /** Absent: x402 payments are not accepted. */
  x402?: X402 | null
}

interface ContextOptions {
  url: string
  log: Log
  closing: AsyncDisposableStack
  signers: Signers
  metrics: Metrics
}

export interface AppContext extends ServiceOptions {
  schema: SchemaWatch
  /** Returns the options of a further pool. */
  watchPool: DatabaseWatch
  /** Lets this process read the replicas, if there are any. */
  replicaJobs: Job[]
}

export async function openContext(
  config: Config,
  { url, log, closing, signers, metrics }: ContextOptions,
): Promise<AppContext> {
  const release = readReleaseFacts(root)
  await openTraces(config, { log, metrics, closing, release: release.version })
  const watchPool = watchDatabase(log, metrics)
  const openPool = (poolUrl: string, pool: string): Db => {
    const connectionsMax = config.databaseConnectionsMax
    const { databasePooling: pooling } = config
    const options = { url: poolUrl, pooling, connectionsMax, applicationName: 'assay' }
    const made = openDb({ ...options, ...watchPool(pool) })
    closing.defer(() => made.close())
    return made
  }
  const opened = openPool(url, 'main')
  const schema = watchSchema(opened, knownLevel(migrationsDirectory))
  const db = watchedDb(opened, schema)
  const { requestLogDatabaseUrl: callsUrl } = config
  const callsDb = callsUrl === undefined ? db : openPool(callsUrl, 'read calls')
  const { reads, replicaJobs } = openReads(config, { db, url, metrics, closing, watchPool, schema })
  const x402 = await openPayments(config, { db, log, closing, metrics })
  const payeeWarning = missingPayee(config)
  if (payeeWarning !== null) log.info(payeeWarning)
  const secrets = await openSecretsKeyring(config)
  if (secrets === null) log.warn('no webhook endpoint can be created: set SECRETS_KEYRING')
  const engine = await openEngine(log)
  return {
    config,
    db,
    callsDb,
    reads,
    log,
    clock: systemClock,
    release,
    engine,
    signers,
    secrets,
    x402,
    metrics,
    schema,
    watchPool,
    replicaJobs,
  }
}

interface ReadsOptions extends Pick<ContextOptions, 'url' | 'metrics' | 'closing'> {
  db: Db
  schema: SchemaWatch
  watchPool: DatabaseWatch
}

function openReads(
  { databaseReadUrls: urls, databasePooling: pooling, databaseConnectionsMax }: Config,
  { db, url, metrics, closing, watchPool, schema }: ReadsOptions,
): Pick<AppContext, 'reads' | 'replicaJobs'> {
  if (urls.length === 0) return { reads: readsOfPrimary(db), replicaJobs: [] }
  const beatsDb = openDb({
    url,
    pooling,
    connectionsMax: 1,
    applicationName: 'assay beats',
    ...watchPool('beats'),
  })
  closing.defer(() => beatsDb.close())
  const replicas = openReplicas({
    primary: db,
    beatsDb,
    urls,
    connectionsMax: databaseConnectionsMax,
    open(name, options) {
      // The job of the leases says why a replica is not read.
      const replica = openDb({ ...options, ...watchPool(name), onOutage: undefined })
      return watchedDb(replica, schema)
    },
    count: metrics.counter({
      name: 'database_reads_total',
      help: 'Public reads, by the database that answered.',
      labels: ['place'],
    }),
  })
  closing.defer(() => replicas.close())
  metrics.gauges(
    {
      name: 'database_replica_readable',
      help: '1 while this process reads the replica, 0 while the primary reads for it.',
      labels: ['replica'],
    },
    replicas.leases,
  )
  return { reads: replicas.reads, replicaJobs: [replicas.job] }
}

/** Returns the job that finds a newer schema if no readiness probe or statement finds it first. */
export function schemaJob({ schema }: Pick<AppContext, 'schema'>): Job {
  return { name: 'schema level', everyMs: 5_000, run: () => schema.check() }
}

const clockSkewMsMax = 30_000

/**
 * Throws an error with a message for the operator if the database lacks a migration, needs a newer
 * release, denies the rights that this process needs, or has a clock that differs from this
 * machine's.
 */
export async function refuseUnfitDatabase(
  { db, callsDb, log }: Pick<ServiceOptions, 'db' | 'callsDb' | 'log'>,
  { runsJobs }: { runsJobs: boolean },
): Promise<void> {
  await refuseUnfit(db, 'DATABASE_URL', { log, runsJobs })
  if (callsDb !== db) await refuseUnfit(callsDb, 'REQUEST_LOG_DATABASE_URL', { log, runsJobs })
}

async function refuseUnfit(
  db: Db,
  setting: string,
  { log, runsJobs }: { log: Log; runsJobs: boolean },
): Promise<void> {
  const { pending, newer, outdated } = await compareSchema(db, migrationsDirectory)
  if (outdated !== null) throw new Error(`Install a newer release: ${outdated}.`)
  if (newer.length > 0)
    log.warn('the database has migrations of a newer release', { setting, newer: newer.join(', ') })
  if (pending.length > 0)
    throw new Error(
      `The database of ${setting} lacks ${pending.join(', ')}. Run \`assay migrate\` first.`,
    )
  if (runsJobs) await refuseForeignRole(db, setting)
  const [row] = await db.rows<{ now: Date }>(sql`select clock_timestamp() as now`)
  const skewMs = Math.abs((row?.now.getTime() ?? 0) - systemClock().getTime())
  if (skewMs > clockSkewMsMax)
    throw new Error(
      `The clocks of this machine and of the database of ${setting} differ by ${Math.round(skewMs / 1_000)} s.`,
    )
}

/** Background jobs create and drop partitions, which only an owner of the tables may do. */
async function refuseForeignRole(db: Db, setting: string): Promise<void> {
  const tables = await findForeignTables(db)
  if (tables.length > 0)
    throw new Error(
      `The role of ${setting} does not own ${tables.slice(0, 3).join(', ')} and so cannot run background jobs. Use the role that ran \`assay migrate\`, or start \`assay serve --no-jobs\`.`,
    )
}

interface TracesOptions {
  log: Log
  metrics: Metrics
  release: string
  closing: AsyncDisposableStack
}

const loggedEveryMs = 60_000

/** Without TRACES_URL nothing of tracing is loaded. */
async function openTraces(
  { traces }: Pick<Config, 'traces'>,
  { log, metrics, release, closing }: TracesOptions,
): Promise<void> {
  if (traces === null) return
  const [{ openEgress }, { operatorRules }, { openTraceExport }] = await Promise.all([
    import('../platform/egress/client.ts'),
    import('../platform/egress/rules.ts'),
    import('../platform/observability/trace-export.ts'),
  ])
  const egress = openEgress({ rules: operatorRules })
  closing.defer(() => egress.close())
  let loggedAt = Number.NEGATIVE_INFINITY
  const exporter = openTraceExport({
    egress,
    url: traces.url,
    resource: {
      'service.name': 'assay',
      'service.version': release,
      'service.instance.id': `${hostname()}:${process.pid}`,
    },
    onFailure(why) {
      if (performance.now() - loggedAt < loggedEveryMs) return
      loggedAt = performance.now()
      log.warn('traces are dropped', { why })
    },
  })
  closing.defer(() => exporter.close())
  metrics.gauge('trace_spans_dropped', 'Spans since the start that were dropped.', exporter.dropped)
  closing.defer(startTracing({ sampling: traces.sampling, ended: exporter.ended }))
}

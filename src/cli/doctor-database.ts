/**
 * The checks of `assay doctor` on the database: version, migrations, clock, keys, lists, webhooks
 * and API keys.
 */
import { countActiveKeys } from '../accounts/api.ts'
import type { Config } from '../config/config.ts'
import { findKeys, findPublications } from '../credentials/api.ts'
import { originOf } from '../credentials/payload.ts'
import type { Signer } from '../credentials/signing-key.ts'
import { compareSchema } from '../database/migrate.ts'
import { migrationsDirectory } from '../database/open.ts'
import { failingUrl } from '../demo/receiver.ts'
import type { SharedCheck } from '../health/processes.ts'
import { missingPayee, openPayments } from '../main/payments.ts'
import { readSecretsKeyring } from '../main/secrets-keyring.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { counted } from '../platform/counted.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import { type Db, type Queryable, sql } from '../platform/db/db.ts'
import { openLog } from '../platform/observability/log.ts'
import { createMetrics } from '../platform/observability/metrics.ts'
import { countPublicScores } from '../scoring/api.ts'
import { keptEngines, releasedEngine } from '../scoring/scores/engine.ts'
import { recalledEngines } from '../scoring/scores/recall-engine.ts'
import {
  countDeliveries,
  findFailingNow,
  findOldestUndispatched,
  findSealedSamples,
  type SealedRow,
} from '../webhooks/api.ts'
import { openSecret } from '../webhooks/delivery/secret.ts'
import { checkCalibration } from './doctor-calibration.ts'
import { about, type Finding } from './doctor-finding.ts'
import { checkProcesses } from './doctor-processes.ts'
import { checkDatabaseServer } from './doctor-server.ts'

export interface DatabaseCheckOptions {
  /** The signers of the key files of this machine. */
  signers: ReadonlyMap<string, Signer>
  /** The data directory is that of a demo, in which some things fail on purpose. */
  isDemo: boolean
}

/** Returns one finding for each check. A failed check leaves out the checks that depend on it. */
export async function checkDatabase(
  db: Db,
  config: Config,
  { signers, isDemo }: DatabaseCheckOptions,
): Promise<Finding[]> {
  const supported = await checkVersion(db)
  if (supported.level === 'fail') return [supported]
  const findings = [supported, ...(await checkDatabaseServer(db, config)), await checkClock(db)]
  const migrations = await checkMigrations(db)
  findings.push(migrations)
  if (migrations.level === 'ok')
    findings.push(
      await checkSigningKey(db, signers),
      await checkStatusLists(db, config),
      await checkPublicScores(db),
      ...(await checkEngine(db)),
      ...(await checkCalibration(db, config)),
      ...(await checkProcesses(db)),
      await checkWebhooks(db, isDemo),
      await checkApiKeys(db),
      ...(await checkSecrets(db, config, isDemo)),
    )
  return findings
}

async function checkVersion(db: Queryable): Promise<Finding> {
  const { ok, fail } = about('database')
  const [row] = await db.rows<{ number: number; name: string }>(
    sql`select current_setting('server_version_num')::int as "number",
      current_setting('server_version') as "name"`,
  )
  const major = Math.floor((row?.number ?? 0) / 10_000)
  return major >= 15 && major <= 18
    ? ok(`PostgreSQL ${row?.name}`)
    : fail(`PostgreSQL ${row?.name} is not supported: 15 to 18 are.`)
}

/**
 * This machine's clock dates credentials, and other machines compare those dates with their own
 * clocks.
 */
async function checkClock(db: Queryable): Promise<Finding> {
  const { ok, warn, fail } = about('clock')
  const before = systemClock().getTime()
  const [row] = await db.rows<{ now: Date }>(sql`select clock_timestamp() as now`)
  const there = row?.now.getTime() ?? 0
  // The database read its clock between the two readings of this machine's clock.
  const after = systemClock().getTime()
  const apartMs = there < before ? before - there : Math.max(0, there - after)
  const message = `${(apartMs / 1_000).toFixed(1)} s from the database's`
  if (apartMs > 30_000) return fail(`${message}: synchronise both with NTP.`)
  return apartMs > 2_000 ? warn(`${message}: synchronise both with NTP.`) : ok(message)
}

/** Checks the database of REQUEST_LOG_DATABASE_URL. Throws if it does not answer. */
export async function checkRequestLogDatabase(db: Queryable): Promise<Finding> {
  const supported = await checkVersion(db)
  return supported.level === 'fail' ? supported : checkMigrations(db, 'request log')
}

export async function checkReplica(db: Queryable, check: string): Promise<Finding> {
  const { ok, warn } = about(check)
  const [row] = await db.rows<{ isReplica: boolean }>(
    sql`select pg_is_in_recovery() as "isReplica" from (select count(*) from reader_beats) as beats`,
  )
  if (row?.isReplica !== true)
    return warn('it is no standby: name streaming replicas alone in DATABASE_READ_URLS.')
  return ok('a standby that answers')
}

async function checkMigrations(
  db: Queryable,
  check: SharedCheck | 'request log' = 'schema',
): Promise<Finding> {
  const { ok, fail } = about(check)
  try {
    const { pending, newer, outdated } = await compareSchema(db, migrationsDirectory)
    if (outdated !== null) return fail(`${outdated}: install a newer release.`)
    if (pending.length > 0) return fail(`${pending.join(', ')} pending: \`assay migrate\`.`)
    return newer.length > 0
      ? ok(`all are applied, and ${newer.join(', ')} of a newer release`)
      : ok('all are applied')
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

async function checkSigningKey(
  db: Queryable,
  signers: ReadonlyMap<string, Signer>,
): Promise<Finding> {
  const { ok, warn, fail } = about('signing' satisfies SharedCheck)
  const keys = await findKeys(db)
  const active = keys.find((key) => key.state === 'active')
  if (active === undefined) {
    const hasPending = keys.some((key) => key.state === 'pending')
    const none = `none is active: nothing is issued, and status lists answer 503. Run \`assay keys ${hasPending ? 'rotate' : 'create'}\`.`
    // Without any key the set-up is not finished. With a key, credentials need their status lists.
    return keys.length === 0 ? warn(none) : fail(none)
  }
  const unknown = [...signers.keys()].filter((kid) => !keys.some((key) => key.kid === kid))
  if (unknown.length > 0)
    return warn(
      `the database lacks ${unknown.join(', ')}, whose file is here: the database is older than the key, or another one, and what the key signed is invalid. Restore the database that belongs to the key files, or remove the file.`,
    )
  return signers.has(active.kid)
    ? ok(`${active.kid} is active and its file is here`)
    : warn(`the file of ${active.kid} is not here: this machine verifies, it cannot issue.`)
}

/** A public score without a valid credential is read with `scoreVc: null`. */
async function checkPublicScores(db: Queryable): Promise<Finding> {
  const { ok, fail } = about('credentials')
  const { scores, withoutCredential } = await countPublicScores(db, systemClock())
  return withoutCredential === 0
    ? ok(`${counted(scores, 'public score')}, each with a valid credential`)
    : fail(
        `${withoutCredential} of ${counted(scores, 'public score')} have no valid credential: run \`assay jobs\` where the file of the active key is.`,
      )
}

/** Returns no finding unless the engine of this release was recalled. */
async function checkEngine(db: Queryable): Promise<Finding[]> {
  const { fail } = about('engine')
  const recalled = await recalledEngines(db)
  const runs = keptEngines().filter(({ version }) => version === releasedEngine.version)
  return runs.some(({ binarySha256 }) => recalled.has(binarySha256))
    ? [fail('it was recalled, so no score is computed: install a release with another.')]
    : []
}

/**
 * Lists are signed every six hours and are valid for a day. Their issuer must be that of this
 * configuration: a command and a server with different addresses are two issuers on one database,
 * and neither accepts the credentials of the other.
 */
async function checkStatusLists(db: Queryable, config: Config): Promise<Finding> {
  const { ok, warn, fail } = about('status lists')
  const found = await findPublications(db, { listIds: [], publications: [] })
  const published = found.flatMap(({ fresh }) => fresh ?? [])
  const [issuer, ...former] = [config.publicUrl, ...config.formerPublicUrls].map(
    (url) => originOf(url).issuer,
  )
  const issuers = new Set(published.map(({ payload }) => String(JSON.parse(payload).issuer)))
  const other = [...issuers].find((name) => name !== issuer && !former.includes(name))
  if (other !== undefined)
    return warn(
      `their issuer is ${other}, but PUBLIC_URL makes the issuer ${issuer}. Set the same PUBLIC_URL for the server and every command. After a move, set FORMER_PUBLIC_URLS.`,
    )
  const ends = published.map(({ validUntil }) => new Date(validUntil))
  const first = ends.sort((a, b) => a.getTime() - b.getTime())[0]
  if (first === undefined) return ok('none yet')
  const hoursLeft = (first.getTime() - systemClock().getTime()) / 3_600_000
  const message = `${ends.length}, the first ends ${wireTime(first)}`
  const todo = 'start `assay serve` or `assay jobs` where the active key is.'
  if (hoursLeft <= 0) return fail(`${message}: verifiers refuse it; ${todo}`)
  return hoursLeft < 12 ? warn(`${message}: no process renews them; ${todo}`) : ok(message)
}

async function checkApiKeys(db: Queryable): Promise<Finding> {
  const { ok } = about('api keys')
  const active = await countActiveKeys(db, null, systemClock())
  return ok(active === 0 ? 'none yet' : `${active} active`)
}

/** A jobs process fans an event out within a second. */
const undispatchedMsMax = 60_000

/** Whether a jobs process sends webhooks and receivers accept them. */
async function checkWebhooks(db: Queryable, isDemo: boolean): Promise<Finding> {
  const { ok, warn } = about('webhooks')
  const now = systemClock()
  const undispatchedSince = await findOldestUndispatched(db)
  if (undispatchedSince !== null && now.getTime() - undispatchedSince.getTime() > undispatchedMsMax)
    return warn(
      `events wait since ${wireTime(undispatchedSince)}: start \`assay serve\` or \`assay jobs\`, with SECRETS_KEYRING.`,
    )
  const { active, failing } = await countDeliveries(db, now)
  const found = await findFailingNow(db, { owner: 'any', limit: 2 })
  const longest = found.find(({ url }) => !(isDemo && url === failingUrl))
  if (longest === undefined && found.length > 0)
    return ok(`active endpoints: ${active}; one fails on purpose, to show it in the demo`)
  if (longest === undefined) return ok(`active endpoints: ${active}, none fails`)
  return warn(
    `${failing} of ${counted(active, 'endpoint')} ${failing === 1 ? 'fails' : 'fail'}, the first since ${wireTime(longest.failingSince)}: \`assay webhooks failing\`.`,
  )
}

async function checkSecrets(db: Db, config: Config, isDemo: boolean): Promise<Finding[]> {
  return [
    await runCheck('secrets', () => checkWebhookSecrets(db, config)),
    await runCheck('payments', () => checkPayments(db, config, isDemo)),
  ]
}

type CheckResult = string | { warning: string }

async function runCheck(check: string, look: () => Promise<CheckResult>): Promise<Finding> {
  const { ok, warn, fail } = about(check)
  try {
    const result = await look()
    return typeof result === 'string' ? ok(result) : warn(result.warning)
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

/** Opens one secret for each encryption key, because it stands for all secrets under that key. */
async function checkWebhookSecrets(db: Queryable, config: Config): Promise<CheckResult> {
  const ring = (await readSecretsKeyring(config)) ?? new Map()
  const samples = await findSealedSamples(db)
  for (const sample of samples) requireSameKey(sample, ring)
  return samples.length === 0 ? 'no webhook has one yet' : 'those of webhooks can be opened'
}

function requireSameKey({ endpointId, version, ...sealed }: SealedRow, ring: Keyring): void {
  try {
    openSecret(sealed, { endpointId, version }, ring)
  } catch {
    const state = ring.has(sealed.kid) ? 'has another key of that name' : 'lacks it'
    throw new Error(
      `webhooks are not sent: their secrets were sealed with the key ${sealed.kid}, and this machine ${state}. Restore SECRETS_KEYRING, or the file webhook-secrets.keys in the data directory.`,
    )
  }
}

/** Throws if the service would not start. */
async function checkPayments(db: Db, config: Config, isDemo: boolean): Promise<CheckResult> {
  await using closing = new AsyncDisposableStack()
  const parts = { db, closing, log: openLog({ level: 'silent' }), metrics: createMetrics() }
  const x402 = await openPayments(config, parts)
  const payeeWarning = missingPayee(config)
  if (isDemo && payeeWarning !== null)
    return 'the demo challenges callers without a key, and takes no payment'
  if (payeeWarning !== null) return { warning: `${payeeWarning}.` }
  if (x402 === null) return 'none: METERING is off'
  await x402.examine()
  const fitness = x402.fitness()
  return fitness === 'ok'
    ? `x402 payments can be taken on ${config.x402?.network}`
    : { warning: `${fitness}: x402 payments cannot be taken. Check the settings X402_*.` }
}

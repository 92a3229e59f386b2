/** What `assay doctor` asks the database: its version, migrations, clock, keys, lists and webhooks. */
import type { Config } from '../config/config.ts'
import { compareSchema } from '../database/migrate.ts'
import { migrationsDirectory } from '../database/open.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { type Db, type Queryable, sql } from '../platform/db/db.ts'
import { findKeys } from '../score-credentials/key-store.ts'
import { findPublications } from '../score-credentials/list-store.ts'
import { originOf } from '../score-credentials/payload.ts'
import type { Signer } from '../score-credentials/signing-key.ts'
import { keptEngines, releasedEngine } from '../scores/engine.ts'
import { recalledEngines } from '../scores/recall-engine.ts'
import { secretFindings } from './doctor-secrets.ts'
import { serverFindings } from './doctor-server.ts'
import { webhookFinding } from './doctor-webhooks.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/** Each line of the answer is a check that could be made; the first that fails ends it where the others depend on it. */
export async function databaseFindings(
  db: Db,
  config: Config,
  signers: ReadonlyMap<string, Signer>,
): Promise<Finding[]> {
  const supported = await version(db)
  if (supported.level === 'fail') return [supported]
  const findings = [supported, ...(await serverFindings(db, config)), await clock(db)]
  const migrations = await migrated(db)
  findings.push(migrations)
  if (migrations.level === 'ok')
    findings.push(
      await keys(db, signers),
      await lists(db, config),
      ...(await recall(db)),
      await webhookFinding(db),
      ...(await secretFindings(db, config)),
    )
  return findings
}

async function version(db: Queryable): Promise<Finding> {
  const [row] = await db.rows<{ number: number; name: string }>(
    sql`select current_setting('server_version_num')::int as "number",
      current_setting('server_version') as "name"`,
  )
  const major = Math.floor((row?.number ?? 0) / 10_000)
  return major >= 15 && major <= 18
    ? ok('database', `PostgreSQL ${row?.name}`)
    : fail('database', `PostgreSQL ${row?.name} is not supported: 15 to 18 are.`)
}

/** Credentials are dated by this machine's clock and read by others'. */
async function clock(db: Queryable): Promise<Finding> {
  const before = systemClock().getTime()
  const [row] = await db.rows<{ now: Date }>(sql`select clock_timestamp() as now`)
  const there = row?.now.getTime() ?? 0
  // The database looked at its clock somewhere between our two looks at ours.
  const after = systemClock().getTime()
  const apartMs = there < before ? before - there : Math.max(0, there - after)
  const told = `${(apartMs / 1_000).toFixed(1)} s from the database's`
  if (apartMs > 30_000) return fail('clock', `${told}: synchronise both with NTP.`)
  return apartMs > 2_000 ? warn('clock', `${told}: synchronise both with NTP.`) : ok('clock', told)
}

async function migrated(db: Queryable): Promise<Finding> {
  const check = 'migrations'
  try {
    const { pending, newer, outdated } = await compareSchema(db, migrationsDirectory)
    if (outdated !== null) return fail(check, `${outdated}: install a newer release.`)
    if (pending.length > 0) return fail(check, `${pending.join(', ')} pending: \`assay migrate\`.`)
    return newer.length > 0
      ? ok(check, `all are applied, and ${newer.join(', ')} of a newer release`)
      : ok(check, 'all are applied')
  } catch (error) {
    return fail(check, error instanceof Error ? error.message : String(error))
  }
}

async function keys(db: Queryable, signers: ReadonlyMap<string, Signer>): Promise<Finding> {
  const check = 'signing key'
  const active = (await findKeys(db)).find((key) => key.state === 'active')
  if (active === undefined)
    return warn(check, 'none is active, so nothing can be issued: `assay keys create`.')
  return signers.has(active.kid)
    ? ok(check, `${active.kid} is active and its file is here`)
    : warn(check, `the file of ${active.kid} is not here: this machine verifies, it cannot issue.`)
}

/** Nothing to tell where the engine of this release was not recalled. */
async function recall(db: Queryable): Promise<Finding[]> {
  const recalled = await recalledEngines(db)
  const runs = keptEngines().filter(({ version }) => version === releasedEngine.version)
  return runs.some(({ binarySha256 }) => recalled.has(binarySha256))
    ? [fail('engine', 'it was recalled, so no score is computed: install a release with another.')]
    : []
}

/**
 * Lists are signed anew every six hours and hold for a day. They tell who issued last: a command and a server that were given different
 * addresses are two issuers on one database, and neither takes the other's credentials for valid.
 */
async function lists(db: Queryable, config: Config): Promise<Finding> {
  const check = 'status lists'
  const found = await findPublications(db, { listIds: [], publications: [] })
  const published = found.flatMap(({ fresh }) => fresh ?? [])
  const [issuer, ...former] = [config.publicUrl, ...config.formerPublicUrls].map(
    (url) => originOf(url).issuer,
  )
  const issuers = new Set(published.map(({ payload }) => String(JSON.parse(payload).issuer)))
  const other = [...issuers].find((name) => name !== issuer && !former.includes(name))
  if (other !== undefined)
    return warn(
      check,
      `they are of ${other}, and PUBLIC_URL makes this ${issuer}: set it to the same for the server and every command (after a move FORMER_PUBLIC_URLS).`,
    )
  const ends = published.map(({ validUntil }) => new Date(validUntil))
  const first = ends.sort((a, b) => a.getTime() - b.getTime())[0]
  if (first === undefined) return ok(check, 'none yet')
  const hoursLeft = (first.getTime() - systemClock().getTime()) / 3_600_000
  const told = `${ends.length}, the first ends ${wireTime(first)}`
  const todo = 'start `assay serve` or `assay jobs` where the active key is.'
  if (hoursLeft <= 0) return fail(check, `${told}: verifiers refuse it; ${todo}`)
  return hoursLeft < 12 ? warn(check, `${told}: nobody renews them; ${todo}`) : ok(check, told)
}

/** `assay migrate`: applies the migrations of this release, or lists the pending ones. */
import type { Command } from 'commander'
import { grantApiRole } from '../../database/api-role.ts'
import { compareSchema } from '../../database/migrate.ts'
import { databaseUrls, migrateDatabase, migrationsDirectory } from '../../database/open.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Pooling } from '../../platform/db/session-settings.ts'
import { act, finish } from '../command.ts'
import { openCommandDb, settings, withServer } from '../context.ts'
import { done, failure, type Outcome, usageError } from '../output.ts'

export function declareCommand(declared: Command): void {
  finish(declared, 'assay migrate --api-role assay_api')
    .option('--status', 'change nothing; list pending migrations, and end with 1 if there are any')
    .option('--api-role <name>', 'grant this database role the rights of a server, and no others')
    .action(act(migrate))
}

interface MigrateFlags {
  status?: boolean
  apiRole?: string
}

async function migrate({ status = false, apiRole }: MigrateFlags): Promise<Outcome> {
  if (status && apiRole !== undefined)
    throw usageError('--status changes nothing: leave --api-role out.')
  const config = settings()
  if (apiRole !== undefined && config.databaseUrl === undefined)
    throw usageError('--api-role needs DATABASE_URL: the embedded database has one user.')
  return withServer(config, ({ url }) => {
    const servers = databaseUrls(config, url).map((one) => ({
      url: one,
      pooling: config.databasePooling,
      label: one === url ? '' : 'request log: ',
    }))
    return status ? showStatus(servers) : apply(servers, apiRole)
  })
}

interface Server {
  url: string
  pooling: Pooling
  /** Begins each line about this database. Empty for the main one. */
  label: string
}

async function apply(servers: readonly Server[], apiRole: string | undefined): Promise<Outcome> {
  const applied: string[] = []
  const lines: string[] = []
  for (const server of servers) {
    const names = await migrateDatabase(server.url, server.pooling)
    applied.push(...names.map((name) => server.label + name))
    lines.push(...names.map((name) => `${server.label}applied ${name}`))
    const { newer } = await withDb(server, (db) => compareSchema(db, migrationsDirectory))
    if (names.length === 0) lines.push(`${server.label}The database is up to date.`)
    if (newer.length > 0)
      lines.push(
        `${server.label}The database has migrations of a newer release: ${newer.join(', ')}.`,
      )
    // The role would keep the rights of this release alone, and nodes of the newer one need theirs.
    if (newer.length > 0 && apiRole !== undefined)
      throw failure(
        `Nothing was granted: the database has migrations of a newer release. Run \`assay migrate --api-role ${apiRole}\` with that release.`,
      )
    if (apiRole === undefined) continue
    await grant(server, apiRole)
    lines.push(`${server.label}${apiRole} has the rights of a server.`)
  }
  return done({ ok: true, applied, ...(apiRole !== undefined && { apiRole }) }, lines)
}

async function grant(server: Server, role: string): Promise<void> {
  const answer = await withDb(server, (db) => grantApiRole(db, role))
  if (answer.kind === 'no such role')
    throw failure(
      `${server.label}There is no role ${role}. Create it first, as an administrator of the database: create role ${role} login password '…'`,
    )
  if (answer.kind === 'too mighty')
    throw failure(
      `${server.label}Nothing was granted: ${role} has other rights on ${answer.tables.join(', ')}. Use a role that is no superuser, owns no table, and is not a member of such a role.`,
    )
}

/** Ends with 1 if a migration is pending or this release may not use the database. */
async function showStatus(servers: readonly Server[]): Promise<Outcome> {
  const all = { pending: [] as string[], newer: [] as string[], outdated: null as string | null }
  const lines: string[] = []
  for (const server of servers) {
    const { label } = server
    const { pending, newer, outdated } = await withDb(server, (db) =>
      compareSchema(db, migrationsDirectory),
    )
    lines.push(
      ...pending.map((name) => `${label}pending ${name}`),
      ...newer.map((name) => `${label}of a newer release: ${name}`),
    )
    if (outdated !== null) lines.push(`${label}Install a newer release: ${outdated}.`)
    else if (pending.length === 0) lines.push(`${label}The database is up to date.`)
    all.pending.push(...pending.map((name) => label + name))
    all.newer.push(...newer.map((name) => label + name))
    all.outdated ??= outdated
  }
  const ok = all.pending.length === 0 && all.outdated === null
  return done({ ok, ...all }, lines, ok ? 0 : 1)
}

async function withDb<Result>(server: Server, work: (db: Db) => Promise<Result>): Promise<Result> {
  await using closing = new AsyncDisposableStack()
  const db = openCommandDb(server)
  closing.defer(() => db.close())
  return await work(db)
}

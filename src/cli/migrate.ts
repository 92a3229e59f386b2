/** `assay migrate`: brings the database to the shape of this release, or tells what is missing. */

import type { Config } from '../config/config.ts'
import { grantApiRole } from '../database/api-role.ts'
import { compareSchema } from '../database/migrate.ts'
import { migrateDatabase, migrationsDirectory } from '../database/open.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pooling } from '../platform/db/session-settings.ts'
import { done, type Outcome } from './output.ts'
import { CommandError, UsageError } from './run.ts'
import { openCommandDb, withServer } from './with-database.ts'

export interface MigrateFlags {
  status?: boolean
  apiRole?: string
}

export function migrateCommand(config: Config, flags: MigrateFlags): Promise<Outcome> {
  const { status: asked = false, apiRole } = flags
  if (asked && apiRole !== undefined)
    throw new UsageError('--status changes nothing: leave --api-role out.')
  if (apiRole !== undefined && config.databaseUrl === undefined)
    throw new UsageError('--api-role needs DATABASE_URL: the embedded database has one user.')
  const { databasePooling: pooling } = config
  return withServer(config, ({ url }) =>
    asked ? status({ url, pooling }) : apply({ url, pooling }, apiRole),
  )
}

interface Server {
  url: string
  pooling: Pooling
}

async function apply(server: Server, apiRole: string | undefined): Promise<Outcome> {
  const applied = await migrateDatabase(server.url, server.pooling)
  const lines = applied.map((name) => `applied ${name}`)
  if (lines.length === 0) lines.push('The database is up to date.')
  const { newer } = await withDb(server, (db) => compareSchema(db, migrationsDirectory))
  if (newer.length > 0) lines.push(`It has migrations of a newer release: ${newer.join(', ')}.`)
  // The rights of this release are all that the role would keep: nodes of the newer one could lose theirs.
  if (newer.length > 0 && apiRole !== undefined)
    throw new CommandError(
      `Nothing was granted: the database has migrations of a newer release. Run \`assay migrate --api-role ${apiRole}\` with that release.`,
    )
  if (apiRole === undefined) return done({ ok: true, applied }, lines)
  await grant(server, apiRole)
  return done({ ok: true, applied, apiRole }, [...lines, `${apiRole} may do what a server needs.`])
}

async function grant(server: Server, role: string): Promise<void> {
  const answer = await withDb(server, (db) => grantApiRole(db, role))
  if (answer.outcome === 'no such role')
    throw new CommandError(
      `There is no role ${role}. Make it first, as its database's administrator: create role ${role} login password '…'`,
    )
  if (answer.outcome === 'too mighty')
    throw new CommandError(
      `Nothing was granted: ${role} can reach ${answer.tables.join(', ')} all the same. It must be no superuser, own no table, and be a member of no role that may.`,
    )
}

/** 1 if something is pending or this release may not use the database, so that a script can ask. */
async function status(server: Server): Promise<Outcome> {
  const { pending, newer, outdated } = await withDb(server, (db) =>
    compareSchema(db, migrationsDirectory),
  )
  const isFit = pending.length === 0 && outdated === null
  const lines = [
    ...pending.map((name) => `pending ${name}`),
    ...newer.map((name) => `of a newer release: ${name}`),
  ]
  if (outdated !== null) lines.push(`Install a newer release: ${outdated}.`)
  else if (isFit) lines.push('The database is up to date.')
  return done({ ok: isFit, pending, newer, outdated }, lines, isFit ? 0 : 1)
}

async function withDb<Result>(server: Server, work: (db: Db) => Promise<Result>): Promise<Result> {
  await using closing = new AsyncDisposableStack()
  const db = openCommandDb(server)
  closing.defer(() => db.close())
  return await work(db)
}

/** `assay migrate`: brings the database to the shape of this release, or tells what is missing. */
import type { Config } from '../config.ts'
import { systemClock } from '../platform/clock.ts'
import { migrate, pendingMigrations } from '../platform/migrate.ts'
import { done, type Outcome } from './output.ts'
import { migrationsDirectory, openCommandDb, withServer } from './with-database.ts'

export function migrateCommand(config: Config, flags: { status?: boolean }): Promise<Outcome> {
  return withServer(config, ({ url }) => (flags.status ? status(url) : apply(url)))
}

async function apply(url: string): Promise<Outcome> {
  const applied = await migrate(url, migrationsDirectory, systemClock())
  const lines = applied.map((name) => `applied ${name}`)
  return done({ ok: true, applied }, lines.length > 0 ? lines : ['The database is up to date.'])
}

/** 1 when something is pending, so that a script can ask. */
async function status(url: string): Promise<Outcome> {
  await using closing = new AsyncDisposableStack()
  const db = openCommandDb(url)
  closing.defer(() => db.close())
  const pending = await pendingMigrations(db, migrationsDirectory)
  const lines = pending.map((name) => `pending ${name}`)
  return done(
    { ok: pending.length === 0, pending },
    lines.length > 0 ? lines : ['The database is up to date.'],
    pending.length === 0 ? 0 : 1,
  )
}

/** Opens the database of a process, the operator's or the embedded one, and migrates it. */
import { join } from 'node:path'
import { recordMigrations } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Pooling } from '../platform/db/session-settings.ts'
import type { Job } from '../platform/job-runner.ts'
import { startEmbeddedPostgres } from './embedded/embedded-postgres.ts'
import { migrateRecorded } from './migrate.ts'

export interface Database {
  url: string
  embedded: boolean
  /** Starts the embedded server again if it is gone. */
  revive(): Promise<void>
  /** Leaves the embedded server. The last process to leave stops it. */
  stop(): Promise<void>
}

export async function openDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: (line: string) => void,
): Promise<Database> {
  const { databaseUrl: url, dataDir } = config
  const nothing = () => Promise.resolve()
  if (url !== undefined) return { url, embedded: false, revive: nothing, stop: nothing }
  const start = () => startEmbeddedPostgres({ dataDir, durable: true, log })
  const server = await start()
  return {
    url: server.url,
    embedded: true,
    async revive() {
      // `start` adds a second use of this process; ending it stops nothing, because the first use
      // remains.
      await (await start()).stop()
    },
    stop: () => server.stop(),
  }
}

/** Returns the main database, and that of the request log if it has one of its own. */
export function databaseUrls(
  { requestLogDatabaseUrl: calls }: Pick<Config, 'requestLogDatabaseUrl'>,
  url: string,
): string[] {
  return calls === undefined ? [url] : [url, calls]
}

export const migrationsDirectory = join(import.meta.dirname, '../../migrations')

/**
 * Applies the missing migrations, records them in the audit log, and returns their names. Throws
 * like `migrate`.
 */
export function migrateDatabase(url: string, pooling: Pooling): Promise<string[]> {
  const now = systemClock()
  const record = (tx: Tx, names: readonly string[]) => recordMigrations(tx, names, now)
  return migrateRecorded(url, { directory: migrationsDirectory, record, pooling }, now)
}

/**
 * Returns the job that restarts a killed embedded server within one or two seconds. `silentMs`
 * returns for how long the database has not answered.
 */
export function reviveJobs(database: Database, silentMs: () => number): Job[] {
  if (!database.embedded) return []
  const run = async (): Promise<void> => {
    if (silentMs() > 1_000) await database.revive()
  }
  return [{ name: 'embedded database', everyMs: 500, run }]
}

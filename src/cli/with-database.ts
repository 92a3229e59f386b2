/** The database for the time of one command: the operator's, or the embedded one, which a running server shares with us. */
import { withSearchIndex } from '../candidates/search-indexer.ts'
import type { Config } from '../config/config.ts'
import { compareSchema, knownLevel } from '../database/migrate.ts'
import { migrateDatabase, migrationsDirectory, openDatabase } from '../database/open.ts'
import { watchedDb, watchSchema } from '../database/schema-level.ts'
import { type Db, openDb } from '../platform/db/db.ts'
import type { Pooling } from '../platform/db/session-settings.ts'
import { deadlineMs } from '../platform/deadlines.ts'
import { note } from './output.ts'
import { releasedSkillNames } from './released-vocabulary.ts'
import { CommandError, Interrupted } from './run.ts'

interface HowToWork {
  /** True: the work watches the signal itself and ends in good order. False: it is left alone, its transaction rolls back or commits. */
  watchesSignal: boolean
  /** Transactions at a time; 2 unless given. */
  connectionsMax?: number
}

/**
 * Runs `work` on a migrated database. Ctrl-C and SIGTERM end it, and whatever was started for it. Throws `CommandError` where an
 * operator's database lacks migrations; the embedded one is migrated.
 */
export async function withDatabase<Result>(
  config: Config,
  work: (db: Db, signal: AbortSignal) => Promise<Result>,
  { watchesSignal, connectionsMax }: HowToWork = { watchesSignal: false },
): Promise<Result> {
  return withServer(config, async ({ url, embedded }, signal) => {
    if (embedded) await migrateDatabase(url, config.databasePooling)
    await using closing = new AsyncDisposableStack()
    const opened = openCommandDb({ url, pooling: config.databasePooling, connectionsMax })
    closing.defer(() => opened.close())
    const { pending, outdated } = await compareSchema(opened, migrationsDirectory)
    if (outdated !== null) throw new CommandError(`Install a newer release: ${outdated}.`)
    const db = watchedDb(opened, watchSchema(opened, knownLevel(migrationsDirectory)))
    if (pending.length > 0)
      throw new CommandError(`The database lacks ${pending.join(', ')}: run \`assay migrate\`.`)
    const result = work(db, signal)
    return await (watchesSignal ? result : Promise.race([result, untilInterrupted(signal)]))
  })
}

/** Without looking at what is in it. */
export async function withServer<Result>(
  config: Config,
  work: (server: { url: string; embedded: boolean }, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const database = await openDatabase(config, note)
  try {
    if (stopping.signal.aborted) throw new Interrupted('interrupted')
    return await work(database, stopping.signal)
  } finally {
    await database.stop()
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

/** Bulk statements may take longer than a request would wait. Whom a command changes is in the search index when it commits. */
export function openCommandDb({
  url,
  pooling,
  connectionsMax = 2,
}: {
  url: string
  pooling: Pooling
  connectionsMax?: number | undefined
}): Db {
  const db = openDb({
    url,
    pooling,
    connectionsMax,
    applicationName: 'assay command line',
    statementTimeoutMs: deadlineMs('commandStatement'),
    onError: (error) => note(`a database connection was lost: ${error.message}`),
  })
  return withSearchIndex(db, releasedSkillNames)
}

function untilInterrupted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Interrupted('interrupted')), { once: true })
  })
}
